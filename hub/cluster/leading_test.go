package cluster

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"
)

// Closing a node that stopped because its state failed waits for everything that uses its log, and
// frees its port.
func TestCloseAfterStop(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("the disk is failing")
	r, err := OpenDir(t.TempDir(), streamLayer{l}, Config{ID: "a", State: &taker{failApply: failed}, Version: 1,
		Heartbeat: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Bootstrap(map[string]string{"a": l.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	if err := (<-r.Terms()).Append([]byte("batch")).Wait(); !errors.Is(err, failed) {
		t.Errorf("the append returned %v", err)
	}
	<-r.Done()
	for range r.Terms() {
		t.Error("the node leads again")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("the node still accepts connections")
	}
}

// A leader that wakes up asks a quorum, whatever its monotonic clock says: others may lead by now.
func TestLeaseEndsInSleep(t *testing.T) {
	const lease = 500 * time.Millisecond
	for name, test := range map[string]struct {
		monotonic, wall time.Duration
		want            bool
	}{
		"at once":                      {0, 0, true},
		"within the lease":             {400 * time.Millisecond, 401 * time.Millisecond, true},
		"after the lease":              {lease, lease, false},
		"after sleep":                  {10 * time.Millisecond, time.Hour, false},
		"after the wall clock was set": {10 * time.Millisecond, -time.Hour, false},
		"and the lease has ended too":  {time.Hour, 10 * time.Millisecond, false},
	} {
		if got := isWithin(test.monotonic, test.wall, lease); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Appends that raft took and never answered, because it shut down, fail like others.
func TestUnansweredAppendsFail(t *testing.T) {
	for range 5 {
		failUnanswered(t)
	}
}

func failUnanswered(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenDir(t.TempDir(), streamLayer{l}, Config{ID: "a", State: &taker{failApply: errors.New("the disk is failing")},
		Version: 1, Heartbeat: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Bootstrap(map[string]string{"a": l.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	term := <-r.Terms()
	var acks []Ack
	for term.Context().Err() == nil {
		acks = append(acks, term.Append([]byte("batch")))
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		for _, a := range acks {
			if err := a.Wait(); !errors.Is(err, ErrDeposed) {
				t.Errorf("an append returned %v", err)
			}
		}
	}()
	select {
	case <-waited:
	case <-time.After(20 * time.Second):
		t.Fatal("an append never returns")
	}
}

// silentFuture is answered when the channel is closed.
type silentFuture <-chan struct{}

func (f silentFuture) Error() error { <-f; return nil }

func TestDoNotAwaitWhenDown(t *testing.T) {
	answer, down := make(chan struct{}), make(chan struct{})
	close(down)
	if err := await(silentFuture(answer), down); !errors.Is(err, raft.ErrRaftShutdown) {
		t.Errorf("after the shutdown: %v", err)
	}
	close(answer)
	if err := await(silentFuture(answer), nil); err != nil {
		t.Errorf("after the answer: %v", err)
	}
}
