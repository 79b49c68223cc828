package cluster

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// taker is a State that accepts snapshots from other nodes.
type taker struct {
	list
	got       string
	fail      error // of Restore
	failApply error
}

func (s *taker) Apply(entries []Entry) error {
	if s.failApply != nil {
		return s.failApply
	}
	return s.list.Apply(entries)
}

func (s *taker) Restore(r io.Reader) error {
	if s.fail != nil {
		return s.fail
	}
	b, err := io.ReadAll(r)
	s.got = string(b)
	return err
}

// openNode opens and closes the directory of a single node.
func openNode(t *testing.T, dir string, c Config) error {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c.ID = "a"
	r, err := OpenDir(dir, streamLayer{l}, c)
	if err != nil {
		return err
	}
	return r.Close()
}

// streamLayer is the StreamLayer of a single node.
type streamLayer struct{ net.Listener }

func (streamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", string(address), timeout)
}

// receive stores a snapshot from another node as raft does before the state has it.
func receive(t *testing.T, dir, text string) {
	t.Helper()
	store, err := openSnapshots(dir, newLogger(nil))
	if err != nil {
		t.Fatal(err)
	}
	alone := raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "a"}}}
	_, transport := raft.NewInmemTransport("a")
	sink, err := store.Create(1, 20, 2, alone, 1, transport)
	if err == nil {
		_, err = sink.Write([]byte(text))
	}
	if err == nil {
		err = sink.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A node that is killed after it received a snapshot restores it at the next start. Otherwise, raft
// would assume that the old state has the snapshot, and the node could lead with it.
func TestRestoreReceivedSnapshotAtNextStart(t *testing.T) {
	dir := t.TempDir()
	writeLog(t, filepath.Join(dir, logName), 10, true)
	receive(t, dir, "what the others have")
	full := &taker{fail: errors.New("the disk is full")}
	if err := openNode(t, dir, Config{State: full, Version: 1}); !errors.Is(err, full.fail) {
		t.Fatalf("a node started although its state could not restore the snapshot: %v", err)
	}
	s := &taker{}
	if err := openNode(t, dir, Config{State: s, Version: 1}); err != nil || s.got != "what the others have" {
		t.Fatalf("the state has %q, %v", s.got, err)
	}
	again := &taker{}
	if err := openNode(t, dir, Config{State: again, Version: 1}); err != nil || again.got != "" {
		t.Errorf("the snapshot was restored twice: %q, %v", again.got, err)
	}
}

// A snapshot that was cut off by a kill is ignored: the leader sends it again.
func TestIgnoreIncompleteSnapshot(t *testing.T) {
	dir := t.TempDir()
	writeLog(t, filepath.Join(dir, logName), 10, true)
	store, err := openSnapshots(dir, newLogger(nil))
	if err == nil {
		err = store.setPending("2-20-1")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &taker{}
	if err := openNode(t, dir, Config{State: s, Version: 1}); err != nil || s.got != "" {
		t.Errorf("the state has %q, %v", s.got, err)
	}
	if _, err := os.Stat(store.pending); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the record of the snapshot remains: %v", err)
	}
}

// A snapshot that the state could not restore is restored at the next start even if a later one was
// cut off: raft assumes that the state has every stored snapshot.
func TestRestoreSnapshotBeforeIncompleteOne(t *testing.T) {
	dir := t.TempDir()
	writeLog(t, filepath.Join(dir, logName), 10, true)
	receive(t, dir, "what the others have")
	store, err := openSnapshots(dir, newLogger(nil))
	if err == nil {
		err = store.setPending("3-30-1") // and then the node was killed
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &taker{}
	if err := openNode(t, dir, Config{State: s, Version: 1}); err != nil || s.got != "what the others have" {
		t.Errorf("the state has %q, %v", s.got, err)
	}
}

// own is a snapshot of the node's own state.
type own struct{}

func (own) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, "mine")
	return int64(n), err
}
func (own) Release() {}

func (s *taker) Snapshot() (Snapshot, error) { return own{}, nil }

// A node does not restore a snapshot that it took of its own state: its database is newer.
func TestDoNotRestoreOwnSnapshot(t *testing.T) {
	dir, s := t.TempDir(), &taker{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenDir(dir, streamLayer{l}, Config{ID: "a", State: s, Version: 1, Heartbeat: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Bootstrap(map[string]string{"a": l.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	term := <-r.Terms()
	if err := errors.Join(term.Append([]byte("batch")).Wait(), r.Compact(), r.Close()); err != nil {
		t.Fatal(err)
	}
	store, err := openSnapshots(dir, newLogger(nil))
	if err != nil {
		t.Fatal(err)
	}
	if list, err := store.List(); err != nil || len(list) != 1 {
		t.Fatalf("the snapshots are %v, %v", list, err)
	}
	again := &taker{list: list{place: s.place}}
	if err := openNode(t, dir, Config{State: again, Version: 1, FromLog: true}); err != nil || again.got != "" {
		t.Errorf("the node restored its own snapshot: %q, %v", again.got, err)
	}
}

// A node that lost its log, or part of it, refuses to start: it has forgotten its votes and what it
// acknowledged.
func TestRefuseLostLog(t *testing.T) {
	for name, test := range map[string]struct {
		entries  int // in the log; 0: no log
		position uint64
		fromLog  bool
		refused  bool
	}{
		"a new node":                          {0, 0, false, false},
		"the data of a single server":         {0, 7, false, false},
		"a node's database without its log":   {0, 7, true, true},
		"a log that ends before the database": {10, 100, true, true},
		"a complete log":                      {10, 7, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if test.entries > 0 {
				writeLog(t, filepath.Join(dir, logName), test.entries, true)
			}
			s := &list{place: Place{Position: test.position}}
			for range 2 { // a second attempt fails too
				err := openNode(t, dir, Config{State: s, Version: 1, FromLog: test.fromLog})
				if errors.Is(err, ErrDamaged) != test.refused || !test.refused && err != nil {
					t.Errorf("opening returned %v", err)
				}
			}
		})
	}
}
