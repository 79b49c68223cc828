//go:build linux

package box

import (
	"fmt"
	"os"
	"testing"
)

// TestMain lets the test's own program be what runs in boxes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		var err error
		switch os.Args[1] {
		case HoldCommand:
			err = Hold(os.Args[2:])
		case canaryCommand:
			runCanary()
		default:
			os.Exit(m.Run())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "ahphub:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
