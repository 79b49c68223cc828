package cluster

import (
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
