package cluster

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A request commits no entry beyond its own last one, so a follower never commits entries that a
// past leader left in its log.
func TestLimitCommitIndex(t *testing.T) {
	_, from := raft.NewInmemTransport("from")
	_, to := raft.NewInmemTransport("to")
	from.Connect("to", to)
	sent := transport{from}
	got := make(chan uint64, 1)
	go func() {
		for {
			select {
			case rpc := <-to.Consumer():
				got <- rpc.Command.(*raft.AppendEntriesRequest).LeaderCommitIndex
				rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
			case <-t.Context().Done():
				return
			}
		}
	}()
	pipe, err := sent.AppendEntriesPipeline("to", "to")
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	for name, append := range map[string]func(*raft.AppendEntriesRequest) error{
		"one": func(r *raft.AppendEntriesRequest) error {
			return sent.AppendEntries("to", "to", r, &raft.AppendEntriesResponse{})
		},
		"pipelined": func(r *raft.AppendEntriesRequest) error {
			_, err := pipe.AppendEntries(r, &raft.AppendEntriesResponse{})
			return err
		},
	} {
		for _, c := range []struct{ prev, entries, commit, want uint64 }{
			{7, 0, 10, 7}, {7, 2, 10, 9}, {7, 3, 10, 10}, {7, 3, 8, 8}, {0, 0, 0, 0},
		} {
			r := &raft.AppendEntriesRequest{PrevLogEntry: c.prev, LeaderCommitIndex: c.commit,
				Entries: make([]*raft.Log, c.entries)}
			if err := append(r); err != nil {
				t.Fatal(err)
			}
			select {
			case commit := <-got:
				if commit != c.want || r.LeaderCommitIndex != c.commit {
					t.Errorf("%s: after %d with %d entries and %d committed, the request commits %d, want %d",
						name, c.prev, c.entries, c.commit,
						commit, c.want)
				}
			case <-time.After(time.Minute):
				t.Fatal("no request arrived")
			}
		}
	}
	if err := sent.Close(); err != nil {
		t.Error(err)
	}
}

// list is a State for this test.
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
	m := &machine{state: s, stop: func(err error) { t.Error(err) }}
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

// A refused append, for example on a full disk, closes the pipeline to that node even while the
// next append is on its way: raft reads no answer after a refusal.
func TestRefusedAppendClosesPipeline(t *testing.T) {
	open := func() *raft.NetworkTransport {
		net, err := raft.NewTCPTransport("127.0.0.1:0", nil, 2, time.Minute, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = net.Close() })
		return net
	}
	from, to := open(), open()
	go func() {
		for {
			select {
			case rpc := <-to.Consumer():
				rpc.Respond(&raft.AppendEntriesResponse{}, nil)
			case <-t.Context().Done():
				return
			}
		}
	}()
	pipe, err := transport{from}.AppendEntriesPipeline("to", to.LocalAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	ended := make(chan error, 1)
	go func() {
		for range 1000 {
			if _, err := pipe.AppendEntries(&raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{}); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	if f := <-pipe.Consumer(); f.Response().Success {
		t.Fatal("the append was not refused")
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a thousand appends were accepted")
		}
	case <-time.After(time.Minute):
		t.Error("an append blocks forever")
	}
}
