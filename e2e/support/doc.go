// Command support writes docs/support.md: every requirement of the protocol on a host, and the tests that cite it. Run it
// from the top of the repository: go run ./e2e/support
package main

import (
	"fmt"
	"os"
)

// page is where the table stands, seen from the top of the repository.
const page = "docs/support.md"

func main() {
	text, err := build(".")
	if err == nil {
		err = os.WriteFile(page, []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "support:", err)
		os.Exit(1)
	}
}
