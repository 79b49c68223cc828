package replica

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/store"
)

const bucket = "notes"

// batch encodes a batch that puts a document, as the hub's journal does.
func batch(t *testing.T, key, value string) []byte {
	t.Helper()
	b, err := store.Encode(hub.Batch{Upto: 1, Seq: 1, Writes: []hub.Write{
		{Record: &hub.Record{Bucket: bucket, Key: key, Value: []byte(value), At: time.Unix(1_800_000_000, 0)}}}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// entries returns the entries of batches after a place.
func entries(after cluster.Place, batches ...[]byte) (list []cluster.Entry) {
	for _, b := range batches {
		after = cluster.Place{Position: after.Position + 1, Hash: sha256.Sum256(append(after.Hash[:], b...))}
		list = append(list, cluster.Entry{Place: after, Term: 1, Batch: b})
	}
	return list
}

func open(t *testing.T, dir string) *State {
	t.Helper()
	s, err := Open(context.Background(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func apply(t *testing.T, s *State, batches ...[]byte) {
	t.Helper()
	var whole [][]byte
	for _, b := range batches {
		whole = append(whole, splitBatch(b)...)
	}
	if err := s.Apply(entries(s.Applied(), whole...)); err != nil {
		t.Fatal(err)
	}
}

// notes returns the contents of a state.
func notes(t *testing.T, s *State) string {
	t.Helper()
	var out string
	if err := s.Store().Each(context.Background(), bucket, func(key string, value []byte) error {
		out += fmt.Sprintf("%s=%s ", key, value)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func expect(t *testing.T, s *State, want string) {
	t.Helper()
	if got := notes(t, s); got != want {
		t.Errorf("the state holds %q, want %q", got, want)
	}
}

func TestPlaceAndContentSurviveRestart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	apply(t, s, batch(t, "a", "1"), batch(t, "b", "1"))
	apply(t, s, batch(t, "a", "2"))
	place := s.Applied()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if s.Applied() != place || place.Position != 3 {
		t.Errorf("the place is %v, want %v", s.Applied(), place)
	}
	expect(t, s, "a=2 b=1 ")
}

// A power cut may truncate the database's WAL at any point. The node then receives the lost entries
// again and continues.
func TestContinueAfterTruncatedWAL(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var all [][]byte
	for i := range 30 {
		all = append(all, splitBatch(batch(t, fmt.Sprintf("k%02d", i%7), fmt.Sprint(i)))...)
	}
	list := entries(cluster.Place{}, all...)
	for _, e := range list {
		if err := s.Apply([]cluster.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	want := notes(t, s)
	wal := read(t, filepath.Join(dir, "ahphub.db-wal"))
	db := read(t, filepath.Join(dir, "ahphub.db"))
	places := map[uint64]bool{}
	for range 60 {
		at := rand.IntN(len(wal) + 1)
		cut := t.TempDir()
		write(t, filepath.Join(cut, "ahphub.db"), db)
		write(t, filepath.Join(cut, "ahphub.db-wal"), wal[:at])
		s := open(t, cut)
		n := s.Applied().Position
		places[n] = true
		if n > 0 && s.Applied() != list[n-1].Place {
			t.Fatalf("truncated at %d, the place %v never existed", at, s.Applied())
		}
		if err := s.Apply(list[n:]); n < 30 && err != nil {
			t.Fatalf("truncated at %d, the entries after place %d are refused: %v", at, n, err)
		}
		expect(t, s, want)
		s.Close()
	}
	if len(places) < 5 {
		t.Errorf("truncating lost nothing: %v", places)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A node refuses a directory that a single server wrote to after the directory belonged to the
// node.
func TestRefuseDirectoryUsedWithoutCluster(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	apply(t, s, batch(t, "a", "1"))
	s.Close()
	alone, err := store.Open(context.Background(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := alone.Apply(2, batch(t, "a", "2")); err != nil {
		t.Fatal(err)
	}
	alone.Close()
	if _, err := Open(context.Background(), store.Config{Dir: dir}); !errors.Is(err, cluster.ErrDiverged) {
		t.Errorf("opening the directory: %v", err)
	}
	if alone, err = store.Open(context.Background(), store.Config{Dir: dir}); err != nil {
		t.Fatalf("the refusal left the directory locked: %v", err)
	}
	alone.Close()
}

// A directory of a single server becomes the initial state of a cluster.
func TestStartFromSingleServer(t *testing.T) {
	dir := t.TempDir()
	alone, err := store.Open(context.Background(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := alone.Apply(1, batch(t, "a", "1")); err != nil {
		t.Fatal(err)
	}
	alone.Close()
	s := open(t, dir)
	if got := s.Applied(); got != (cluster.Place{Position: 1}) {
		t.Fatalf("the state starts at %v", got)
	}
	apply(t, s, batch(t, "b", "1"))
	expect(t, s, "a=1 b=1 ")
}

func TestSnapshotIsConsistent(t *testing.T) {
	from, to := open(t, t.TempDir()), open(t, t.TempDir())
	apply(t, to, batch(t, "old", "1"))
	apply(t, from, batch(t, "a", "1"))
	place := from.Applied()
	snapshot, err := from.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	apply(t, from, batch(t, "a", "2"), batch(t, "b", "2"))
	var file bytes.Buffer
	if _, err := snapshot.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	snapshot.Release()
	if err := to.Restore(&file); err != nil {
		t.Fatal(err)
	}
	expect(t, to, "a=1 ")
	if to.Applied() != place {
		t.Errorf("the place is %v, want %v", to.Applied(), place)
	}
	apply(t, to, batch(t, "c", "3")) // the state continues
	expect(t, to, "a=1 c=3 ")
	for _, s := range []*State{from, to} {
		left, _ := filepath.Glob(filepath.Join(s.cfg.Dir, "ahphub.db.*"))
		if len(left) > 0 {
			t.Errorf("left over: %q", left)
		}
	}
}

// cut is a reader that ends in the middle.
type cut struct{ r io.Reader }

func (c cut) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func TestRejectInvalidSnapshot(t *testing.T) {
	from, to := open(t, t.TempDir()), open(t, t.TempDir())
	for i := range 200 {
		apply(t, from, batch(t, fmt.Sprint("a", i), string(bytes.Repeat([]byte("x"), 500))))
	}
	apply(t, to, batch(t, "mine", "1"))
	snapshot, err := from.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Release()
	var file bytes.Buffer
	if _, err := snapshot.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	whole := file.Bytes()
	spoiled := bytes.Clone(whole)
	for i := 4096 * 5; i < 4096*9; i++ {
		spoiled[i] = 0xa5
	}
	for name, r := range map[string]io.Reader{
		"empty":             bytes.NewReader(nil),
		"not a database":    bytes.NewReader([]byte("hello, this is no database at all, but a text of some length")),
		"cut":               cut{bytes.NewReader(whole[:len(whole)/2])},
		"shorter":           bytes.NewReader(whole[:len(whole)/2]),
		"corrupted":         bytes.NewReader(spoiled),
		"of an old program": bytes.NewReader(append([]byte("SQLite format 2\x00"), whole[16:]...)),
	} {
		if err := to.Restore(r); err == nil {
			t.Errorf("a snapshot that is %s was accepted", name)
		}
		expect(t, to, "mine=1 ")
	}
	apply(t, to, batch(t, "mine", "2"))
	expect(t, to, "mine=2 ")
}

// A program that is killed while it receives a snapshot has either the old or the new state.
func TestRestoreIsAtomic(t *testing.T) {
	from := open(t, t.TempDir())
	apply(t, from, batch(t, "new", "1"))
	snapshot, err := from.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Release()
	var file bytes.Buffer
	if _, err := snapshot.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		left func(dir string) error // creates what the killed program left
		want string
	}{
		"partly received": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "ahphub.db.incoming"), file.Bytes()[:file.Len()/2], 0o600)
		}, "old=1 "},
		"received": {func(dir string) error { return store.Receive(dir, bytes.NewReader(file.Bytes())) }, "new=1 "},
		"received, old WAL already removed": {func(dir string) error {
			err := store.Receive(dir, bytes.NewReader(file.Bytes()))
			return errors.Join(err, os.RemoveAll(filepath.Join(dir, "ahphub.db-wal")))
		}, "new=1 "},
	} {
		dir := t.TempDir()
		to := open(t, dir)
		apply(t, to, batch(t, "old", "1"))
		to.Close()
		if err := c.left(dir); err != nil {
			t.Fatal(err)
		}
		to = open(t, dir)
		if got := notes(t, to); got != c.want {
			t.Errorf("%s: the state holds %q, want %q", name, got, c.want)
		}
	}
}

// Three nodes that share a log have the same documents at the same place, including a node that was
// away when the log discarded entries.
func TestNodesShareDatabase(t *testing.T) {
	logs, states := make([]*cluster.Raft, 3), make([]*State, 3)
	transports, addresses := make([]*raft.InmemTransport, 3), map[string]string{}
	for i := range states {
		states[i] = open(t, t.TempDir())
		addresses[fmt.Sprint(i)] = fmt.Sprint("node-", i)
		_, transports[i] = raft.NewInmemTransport(raft.ServerAddress(fmt.Sprint("node-", i)))
	}
	for i := range transports {
		for j, other := range transports {
			if i != j {
				transports[i].Connect(raft.ServerAddress(fmt.Sprint("node-", j)), other)
			}
		}
	}
	start := func(i int) {
		t.Helper()
		snapshots, err := raft.NewFileSnapshotStoreWithLogger(t.TempDir(), 2, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		memory := raft.NewInmemStore()
		logs[i], err = cluster.Open(cluster.Config{ID: fmt.Sprint(i), State: states[i], Transport: transports[i],
			Logs: memory, Stable: memory, Snapshots: snapshots, Keep: 1, Snapshot: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { logs[i].Close() })
	}
	start(0)
	start(1)
	if err := logs[0].Bootstrap(addresses); err != nil {
		t.Fatal(err)
	}
	var term *cluster.Term
	select {
	case term = <-logs[0].Terms():
	case term = <-logs[1].Terms():
	case <-time.After(30 * time.Second):
		t.Fatal("no node leads")
	}
	want := ""
	for i := range 40 {
		key := fmt.Sprintf("k%02d", i)
		if err := Append(term)(batch(t, key, "v"))(); err != nil {
			t.Fatal(err)
		}
		want += key + "=v "
	}
	for _, l := range logs[:2] {
		if err := l.Compact(); err != nil {
			t.Fatal(err)
		}
	}
	start(2) // the others have discarded the entries it lacks
	if err := Append(term)(batch(t, "last", "v"))(); err != nil {
		t.Fatal(err)
	}
	want += "last=v "
	deadline := time.Now().Add(30 * time.Second)
	for i, s := range states {
		for s.Applied() != states[0].Applied() || s.Applied().Position != 41 {
			if time.Now().After(deadline) {
				t.Fatalf("node %d is at %d", i, s.Applied().Position)
			}
			time.Sleep(time.Millisecond)
		}
		expect(t, s, want)
	}
}
