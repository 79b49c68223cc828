package cluster

import (
	"errors"
	"io"
	"testing"

	"github.com/hashicorp/raft"
)

// list is a State that keeps batches in memory.
type list struct {
	place   Place
	batches []string
}

func (l *list) Applied() Place              { return l.place }
func (l *list) Snapshot() (Snapshot, error) { return nil, errors.New("no snapshots") }
func (l *list) Restore(io.Reader) error     { return errors.New("no snapshots") }

func (l *list) Apply(entries []Entry) error {
	for _, e := range entries {
		l.place, l.batches = e.Place, append(l.batches, string(e.Batch))
	}
	return nil
}

// An entry from an earlier term that raft accepts only after the node leads again is not applied.
func TestRefuseAppendOfEarlierTerm(t *testing.T) {
	s := &list{}
	m := &stateMachine{state: s, stop: func(err error) { t.Error(err) }}
	late, _ := encode(Place{}, 2, 0, []byte("late"))
	good, _ := encode(Place{}, 4, 0, []byte("good"))
	out := m.ApplyBatch([]*raft.Log{{Index: 1, Term: 4, Data: late}, {Index: 2, Term: 4, Data: good}})
	if err, _ := out[0].(error); !errors.Is(err, ErrDeposed) || out[1] != nil {
		t.Errorf("the answers are %v", out)
	}
	if len(s.batches) != 1 || s.batches[0] != "good" {
		t.Errorf("applied is %q", s.batches)
	}
}

// Entries of a leader with an old state stop the node: they use positions that other nodes have
// filled, and must not be mistaken for old entries that are sent again.
func TestStopOnEntryOfOldState(t *testing.T) {
	var stopped error
	s := &list{}
	m := &stateMachine{state: s, version: 1, stop: func(err error) { stopped = err }}
	var places []Place
	at := Place{}
	for i := range 5 {
		var b []byte
		b, at = encode(at, 1, 1, []byte{byte('a' + i)})
		places = append(places, at)
		m.ApplyBatch([]*raft.Log{{Index: uint64(i + 1), Term: 1, Data: b}})
	}
	old, _ := encode(places[1], 2, 1, []byte("in place of c"))
	m.ApplyBatch([]*raft.Log{{Index: 6, Term: 2, Data: old}})
	if !errors.Is(stopped, ErrDiverged) {
		t.Errorf("the node did not stop: %v", stopped)
	}

	// After a start, raft repeats entries that the state already has.
	m = &stateMachine{state: &list{place: places[2]}, version: 1, stop: func(err error) { t.Error(err) }}
	at = Place{}
	for i := range 5 {
		var b []byte
		b, at = encode(at, 1, 1, []byte{byte('a' + i)})
		m.ApplyBatch([]*raft.Log{{Index: uint64(i + 1), Term: 1, Data: b}})
	}
	if got := m.state.(*list).batches; len(got) != 2 || got[0] != "d" {
		t.Errorf("applied is %q", got)
	}
}
