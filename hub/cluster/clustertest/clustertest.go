// Package clustertest tests what any implementation of cluster.Log must guarantee, and has what the
// tests of nodes share.
package clustertest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/cluster"
)

// Nodes is a cluster that supports fault injection. Node 0 is the first.
type Nodes interface {
	Len() int
	// Log returns a node's log; nil while the node is down.
	Log(node int) cluster.Log
	State(node int) *State
	// Kill crashes a node; Restart starts it with what it had on disk.
	Kill(node int)
	Restart(node int)
	// Cut cuts a node off from all others; Heal reconnects it.
	Cut(node int)
	Heal(node int)
	// Compact makes a node replace its log with a snapshot of what it has applied.
	Compact(node int)
}

// patience bounds steps that are immediate unless the machine is overloaded.
const patience = 30 * time.Second

// Run runs every test with a new cluster of three nodes from start.
func Run(t *testing.T, start func(*testing.T) Nodes) {
	for name, test := range map[string]func(*testing.T, *world){
		"order":                          testOrder,
		"leader dies":                    testLeaderDies,
		"leader is cut off":              testLeaderIsCutOff,
		"no quorum":                      testNoQuorum,
		"lagging node":                   testLaggingNode,
		"divergence stops":               testDivergence,
		"a large batch is refused":       testLargeBatch,
		"restart applies no batch twice": testRestart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &world{Nodes: start(t), t: t})
		})
	}
}

// State is a list of batches with the place of the last one.
type State struct {
	mu     sync.Mutex
	place  cluster.Place
	list   []string
	Fail   error // returned by the next Apply
	repeat bool
}

// Applied implements cluster.State.
func (s *State) Applied() cluster.Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place
}

// Apply implements cluster.State.
func (s *State) Apply(entries []cluster.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fail != nil {
		return s.Fail
	}
	for _, e := range entries {
		if e.Position != s.place.Position+1 {
			s.repeat = true
		}
		s.list, s.place = append(s.list, string(e.Batch)), e.Place
	}
	return nil
}

// List returns the batches so far.
func (s *State) List() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// Spoil makes the state diverge from the cluster's.
func (s *State) Spoil() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place.Hash[0]++
}

// Snapshot implements cluster.State.
func (s *State) Snapshot() (cluster.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := binary.BigEndian.AppendUint64(nil, s.place.Position)
	b = append(b, s.place.Hash[:]...)
	for _, one := range s.list {
		b = binary.BigEndian.AppendUint32(b, uint32(len(one)))
		b = append(b, one...)
	}
	return snapshot(b), nil
}

type snapshot []byte

// WriteTo implements cluster.Snapshot.
func (s snapshot) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(s)
	return int64(n), err
}

// Release implements cluster.Snapshot.
func (snapshot) Release() {}

// Restore implements cluster.State.
func (s *State) Restore(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil || len(b) < 8+len(cluster.Hash{}) {
		return errors.Join(err, errors.New("this is no snapshot"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place.Position = binary.BigEndian.Uint64(b)
	b = b[8+copy(s.place.Hash[:], b[8:]):]
	for s.list = nil; len(b) > 4; {
		n := int(binary.BigEndian.Uint32(b))
		s.list, b = append(s.list, string(b[4:4+n])), b[4+n:]
	}
	return nil
}

// world is a cluster under test.
type world struct {
	Nodes
	t *testing.T
}

// leader waits until a node leads, and returns it with its term.
func (w *world) leader(except ...int) (int, *cluster.Term) {
	w.t.Helper()
	type led struct {
		node int
		term *cluster.Term
	}
	first, quit := make(chan led), make(chan struct{})
	defer close(quit)
	for i := range w.Len() {
		log := w.Log(i)
		if log == nil || slices.Contains(except, i) {
			continue
		}
		go func() {
			for {
				select {
				case term, ok := <-log.Terms():
					if !ok {
						return
					}
					select {
					case first <- led{i, term}:
					case <-quit:
					}
					return
				case <-quit:
					return
				}
			}
		}()
	}
	select {
	case l := <-first:
		return l.node, l.term
	case <-time.After(patience):
		w.t.Fatal("no node leads")
		return 0, nil
	}
}

// append appends a batch and waits until it is durable.
func (w *world) append(term *cluster.Term, batch string) {
	w.t.Helper()
	if err := term.Append([]byte(batch)).Wait(); err != nil {
		w.t.Fatalf("%.40s: %v", batch, err)
	}
}

// eventually waits until a condition holds.
func (w *world) eventually(what string, is func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("not true in %v: %s", patience, what)
		}
	}
}

// same waits until all running nodes have these batches.
func (w *world) same(want []string) {
	w.t.Helper()
	for i := range w.Len() {
		if w.Log(i) == nil {
			continue
		}
		w.eventually(fmt.Sprintf("node %d has %q and should have %q", i, w.State(i).List(), want), func() bool {
			return slices.Equal(w.State(i).List(), want)
		})
		if w.State(i).repeat {
			w.t.Errorf("node %d received a batch out of order", i)
		}
	}
}

func numbered(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint("batch ", i))
	}
	return out
}

// Concurrent batches become durable in the order of the calls, on every node.
func testOrder(t *testing.T, w *world) {
	_, term := w.leader()
	var acks []cluster.Ack
	for _, b := range numbered(300) {
		acks = append(acks, term.Append([]byte(b)))
	}
	for i, a := range acks {
		if err := a.Wait(); err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
	}
	w.same(numbered(300))
}

// Acknowledged batches survive the leader's death in the same order, with nothing inserted between
// them.
func testLeaderDies(t *testing.T, w *world) {
	want := []string{}
	node, term := w.leader()
	for round := range 2 {
		for i := range 20 {
			b := fmt.Sprintf("%d.%d", round, i)
			w.append(term, b)
			want = append(want, b)
		}
		w.Kill(node)
		dead, before := node, term.Number
		if node, term = w.leader(dead); term.Number <= before {
			t.Fatalf("term %d follows term %d", term.Number, before)
		}
		b := fmt.Sprintf("%d after", round)
		w.append(term, b)
		want = append(want, b)
		w.Restart(dead)
		w.same(want)
	}
}

// A leader that is cut off makes nothing durable and learns that it was deposed; its batches are
// gone once it reconnects.
func testLeaderIsCutOff(t *testing.T, w *world) {
	node, old := w.leader()
	w.append(old, "before")
	if err := old.Confirm(); err != nil {
		t.Errorf("the leader cannot confirm that it leads: %v", err)
	}
	w.Cut(node)
	lost := old.Append([]byte("lost"))
	_, term := w.leader(node)
	if err := old.Confirm(); !errors.Is(err, cluster.ErrDeposed) {
		t.Errorf("while another node leads, the deposed leader's Confirm returned %v", err)
	}
	if err := term.Confirm(); err != nil {
		t.Errorf("the next leader cannot confirm that it leads: %v", err)
	}
	w.append(term, "after")
	if err := lost.Wait(); !errors.Is(err, cluster.ErrDeposed) {
		t.Errorf("the deposed leader's batch ended with %v", err)
	}
	select {
	case <-old.Context().Done():
	case <-time.After(patience):
		t.Fatal("the deposed leader's term has not ended")
	}
	if err := old.Append([]byte("too late")).Wait(); !errors.Is(err, cluster.ErrDeposed) {
		t.Errorf("after the term, an append ended with %v", err)
	}
	w.Heal(node)
	w.same([]string{"before", "after"})
}

// Nothing becomes durable without a quorum.
func testNoQuorum(t *testing.T, w *world) {
	node, term := w.leader()
	w.append(term, "before")
	for i := range w.Len() {
		if i != node {
			w.Kill(i)
		}
	}
	if err := term.Append([]byte("alone")).Wait(); !errors.Is(err, cluster.ErrDeposed) {
		t.Errorf("without a quorum, an append ended with %v", err)
	}
	for i := range w.Len() {
		if i != node {
			w.Restart(i)
		}
	}
	led, next := w.leader()
	w.append(next, "again")
	list := w.State(led).List()
	if list[0] != "before" || !slices.Contains(list, "again") || len(list) > 3 {
		t.Errorf("the nodes have %q", list)
	}
	w.same(list)
}

// A node that lags further behind than the log reaches catches up by a snapshot.
func testLaggingNode(t *testing.T, w *world) {
	node, term := w.leader()
	away := (node + 1) % w.Len()
	w.Kill(away)
	for _, b := range numbered(100) {
		w.append(term, b)
	}
	for i := range w.Len() {
		if i != away {
			w.Compact(i)
		}
	}
	w.append(term, "after the snapshot")
	w.Restart(away)
	w.same(append(numbered(100), "after the snapshot"))
}

// A node whose state diverged stops and applies nothing more.
func testDivergence(t *testing.T, w *world) {
	node, term := w.leader()
	w.append(term, "one")
	w.same([]string{"one"})
	bad := (node + 1) % w.Len()
	w.State(bad).Spoil()
	w.append(term, "two")
	select {
	case <-w.Log(bad).Done():
	case <-time.After(patience):
		t.Fatal("the node has not stopped")
	}
	if err := w.Log(bad).Err(); !errors.Is(err, cluster.ErrDiverged) {
		t.Errorf("the node stopped with %v", err)
	}
	if list := w.State(bad).List(); !slices.Equal(list, []string{"one"}) {
		t.Errorf("the node has %q", list)
	}
	w.append(term, "three") // two of three are a quorum
}

func testLargeBatch(t *testing.T, w *world) {
	_, term := w.leader()
	if err := term.Append(bytes.Repeat([]byte("x"), cluster.MostBatch+1)).Wait(); !errors.Is(err, cluster.ErrTooLarge) {
		t.Errorf("a large batch ended with %v", err)
	}
	w.append(term, string(bytes.Repeat([]byte("x"), cluster.MostBatch)))
}

// After all nodes restart, no batch is applied twice and numbering continues.
func testRestart(t *testing.T, w *world) {
	_, term := w.leader()
	for _, b := range numbered(50) {
		w.append(term, b)
	}
	w.same(numbered(50))
	for i := range w.Len() {
		w.Kill(i)
	}
	for i := range w.Len() {
		w.Restart(i)
	}
	_, next := w.leader()
	w.append(next, "last")
	w.same(append(numbered(50), "last"))
}
