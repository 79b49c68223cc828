package review

import (
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Open pages show that directories are only polled, and stop when they are watched again.
func TestLateChangesAreSaid(t *testing.T) {
	late := drawingOf(nil)
	late.page.Late = "Changes show up to 10 seconds late."
	for _, to := range [][2]*drawing{{drawingOf(nil), late}, {late, drawingOf(nil)}} {
		if got := ops(difference(to[0], to[1])); got != "r tree|r changes-state" {
			t.Errorf("sent is %q", got)
		}
	}
}

// A page is not redrawn because files are being read again: the result follows.
func TestReadingAgainIsNotDrawn(t *testing.T) {
	for status, want := range map[ahp.ChangesetStatus]bool{ahp.ChangesetStatusRecomputing: false,
		ahp.ChangesetStatusReady: true, ahp.ChangesetStatusError: true} {
		if got := drawn(&hub.Envelope{Action: &ahp.ChangesetStatusChangedAction{Status: status}}); got != want {
			t.Errorf("%s is drawn: %v", status, got)
		}
	}
}
