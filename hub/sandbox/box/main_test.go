//go:build linux

package box

import (
	"os"
	"testing"
)

// TestMain lets the test's own program be what runs in boxes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == canaryCommand {
		runCanary()
		os.Exit(0)
	}
	os.Exit(m.Run())
}
