// Command support writes docs/support.md: every requirement of the protocol on a host, and the tests that cite it. Run
// it from the top of the repository: go run ./e2e/support
//
// With the argument ran it reads the output of go test -json, prints it as go test does, and fails when a test did, or
// when of the tests that the page names for a requirement none ran and passed.
package main

import (
	"fmt"
	"io"
	"os"
)

// page is where the table stands, seen from the top of the repository.
const page = "docs/support.md"

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "ran":
		err = checkRun(os.Stdin, os.Stdout)
	default:
		var text string
		if text, err = build("."); err == nil {
			err = os.WriteFile(page, []byte(text), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "support:", err)
		os.Exit(1)
	}
}

// checkRun follows a run of all tests. Without the protocol's fixtures or without browsers some tests are skipped: what
// lacks a test then is printed, and is no failure.
func checkRun(in io.Reader, out io.Writer) error {
	ran, ok, err := follow(in, out)
	if err == nil && !ok {
		err = fmt.Errorf("tests failed")
	}
	if err != nil {
		return err
	}
	list, err := parse(listed)
	if err != nil {
		return err
	}
	found, err := cites(".")
	if err != nil {
		return err
	}
	missing := unmet(list, found, ran)
	for _, m := range missing {
		fmt.Fprintln(out, "No test of this requirement ran and passed:", m)
	}
	if len(missing) > 0 && os.Getenv("AHPHUB_REQUIRE_SPEC") == "1" && os.Getenv("BROWSER") != "skip" {
		return fmt.Errorf("%s names tests that did not run", page)
	}
	return nil
}
