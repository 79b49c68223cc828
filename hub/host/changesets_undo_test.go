package host

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

// undoAsked is a computer that counts the calls of CanTakeBack.
type undoAsked struct {
	machine.Machine
	asked atomic.Int64
}

func (u *undoAsked) Changes() machine.Changes { return undoAskedOf{u.Machine.Changes(), u} }

type undoAskedOf struct {
	machine.Changes
	u *undoAsked
}

func (o undoAskedOf) CanTakeBack(ctx context.Context, ws machine.Workspace, r machine.Rewrite) bool {
	o.u.asked.Add(1)
	return o.Changes.CanTakeBack(ctx, ws, r)
}

// The undo of a discard is checked again after writes to its files, but not after writes to others.
func TestUndoIsCheckedAfterWritesToItsFiles(t *testing.T) {
	data := t.TempDir()
	m := &undoAsked{Machine: localtest.New(t, data)}
	c := newChangingWith(t, Config{DataDir: data, Machine: m})
	c.write("a.txt", "one\n2\n")
	uri := c.follow("uncommitted", "")
	c.watched()
	c.does("Discarded a.txt", uri, "discard", c.file("a.txt"))
	write := func(n int) {
		c.write(fmt.Sprintf("other-%d.txt", n), "other\n")
		c.until("the file is shown", func() bool { return len(c.changes(uri).Files) == n })
		c.until("no look is under way", c.idle)
	}
	write(1) // the system has reported the discard's own writes by now
	if !strings.Contains(c.offered(uri), "undo") {
		t.Fatalf("offered are %s", c.offered(uri))
	}
	before := m.asked.Load()
	for n := 2; n <= 3; n++ {
		write(n)
	}
	if after := m.asked.Load(); after != before {
		t.Errorf("after writes to other files the computer was asked %d times more", after-before)
	}
	c.write("a.txt", "mine\n")
	c.until("the undo is withdrawn", func() bool { return !strings.Contains(c.offered(uri), "undo") })
	c.write("a.txt", "one\ntwo\n") // the state after the discard
	c.until("the undo is offered again", func() bool { return strings.Contains(c.offered(uri), "undo") })
	c.does("Restored 1 file", uri, "undo", nil)
	if got := c.read("a.txt"); got != "one\n2\n" {
		t.Errorf("it restored %q", got)
	}
}
