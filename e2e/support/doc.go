// Command support writes docs/support.md: every requirement of the protocol on a host, and the
// tests that cite it. Run it in the root of the repository: go run ./e2e/support
//
// With the argument ran it reads the output of go test -json and prints it as go test does. It
// fails if a test failed, or if none of the tests that the page lists for a requirement ran and
// passed.
package main

import (
	"fmt"
	"io"
	"os"
)

// page is the path of the table in the repository.
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

// checkRun evaluates a run of all tests. Without the protocol's fixtures or browsers, some tests
// are skipped: requirements without a test are then only printed.
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
