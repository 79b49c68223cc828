package files

import (
	"context"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// widening is a computer that counts calls of IsWide.
type widening struct {
	machine.Files
	wide  bool
	asked int
}

func (w *widening) IsWide(context.Context, []string) bool {
	w.asked++
	return w.wide
}

// Repeated rendering of a page calls the computer once a minute for the same directories. A guest's
// read always calls it.
func TestPagesAskOnceWhetherDirectoriesAreWide(t *testing.T) {
	const session ahp.URI = "ahp-session:/one"
	files, now := &widening{}, time.Unix(1_700_000_000, 0)
	c := core.New(core.Config{Hub: hub.New(hub.Config{}), Now: func() time.Time { return now }})
	p := New(c, Config{Files: files})
	work, home := []ahp.URI{"file:///work"}, []ahp.URI{"file:///work", "file:///home/ana"}
	expect := func(dirs []ahp.URI, want bool, asked int) {
		t.Helper()
		for range 100 {
			if got := p.IsWide(dirs); got != want {
				t.Fatalf("%s are wide: %v, want %v", dirs, got, want)
			}
		}
		if files.asked != asked {
			t.Errorf("the computer was asked %d times, want %d", files.asked, asked)
		}
	}
	expect(work, false, 1)
	files.wide = true
	expect(home, true, 2) // other directories
	expect(work, false, 2)
	now = now.Add(wideFor)
	expect(work, true, 3) // a link has changed

	c.Catalogue.Put(session, &core.Entry{Summary: ahp.SessionSummary{Resource: session, WorkingDirectories: home}})
	guest := core.Caller{Principal: access.Principal{ID: "guest:ben", Role: access.RoleViewer, Session: session}}
	files.wide = true
	for range 3 {
		if err := p.checkGuestFile(t.Context(), guest, "/home/ana/notes.txt"); err == nil {
			t.Error("a guest reads a file of the home directory")
		}
	}
	if files.asked != 6 {
		t.Errorf("three reads of a guest asked the computer %d times", files.asked-3)
	}
}
