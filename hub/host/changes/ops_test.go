package changes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

func TestOldUndosGo(t *testing.T) {
	record := func(files int) undoRecord {
		return undoRecord{Undo: machine.Rewrite{Files: make([]machine.RewrittenFile, files)}}
	}
	for _, c := range []struct {
		files []int
		want  int
	}{{[]int{1}, 1}, {[]int{undoFiles + 1}, 1}, {[]int{1, undoFiles}, 1}, {[]int{5, 1, undoFiles - 1}, 2}, {make([]int,
		mostUndo+3), mostUndo}} {
		var list []undoRecord
		for _, n := range c.files {
			list = append(list, record(n))
		}
		if got := dropOldest(list); len(got) != c.want {
			t.Errorf("of %v %d are kept, want %d", c.files, len(got), c.want)
		}
	}
}

// An operation that was running when the host was killed no longer counts as running.
func TestKillEndsRunningTurns(t *testing.T) {
	s := &ahp.ChangesetState{Operations: []ahp.ChangesetOperation{{ID: opRevert,
		Status: ahp.ChangesetOperationStatusRunning}}}
	if ops := operationsFor(s, offer{kind: kindSession, files: 1}); ops[0].Status != ahp.ChangesetOperationStatusIdle {
		t.Errorf("the operation is %s", ops[0].Status)
	}
	ops := operationsFor(s, offer{kind: kindSession, files: 1, running: opRevert})
	if ops[0].Status != ahp.ChangesetOperationStatusRunning {
		t.Errorf("the operation is %s", ops[0].Status)
	}
	if d := cmp.Diff(ops[0].Scopes, everywhere); d != "" {
		t.Error(d)
	}
}
