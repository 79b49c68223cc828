package cluster

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"
)

// writeLog writes a log of chained entries, with one internal and one refused entry among them.
// Logs of old releases have no checksums.
func writeLog(t *testing.T, path string, n int, sums bool) {
	t.Helper()
	logs, err := openLogs(path)
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	var store raft.LogStore = logs
	if !sums {
		store = logs.BoltStore
	}
	var at Place
	for i := 1; i <= n; i++ {
		l := &raft.Log{Index: uint64(i), Term: uint64(1 + i/40), Type: raft.LogCommand, AppendedAt: time.Unix(1, 0)}
		switch i % 20 {
		case 7:
			l.Type = raft.LogNoop
		case 9:
			l.Data, _ = encode(at, l.Term-1, 1, []byte("of a term that was over"))
		default:
			l.Data, at = encode(at, l.Term, 1, bytes.Repeat([]byte{'a' + byte(i%26)}, 300))
		}
		if err := store.StoreLogs([]*raft.Log{l}); err != nil {
			t.Fatal(err)
		}
	}
}

// checkFile opens a log and checks it as a starting node does.
func checkFile(path string, snapshots raft.SnapshotStore) (err error) {
	logs, err := openLogs(path)
	if err != nil {
		return err
	}
	defer logs.Close()
	return recoverDamage(func() error {
		_, err := checkLog(logs, snapshots)
		return err
	})
}

func TestRefuseDamagedLog(t *testing.T) {
	path, snapshots := filepath.Join(t.TempDir(), "log.db"), raft.NewInmemSnapshotStore()
	writeLog(t, path, 100, true)
	if err := checkFile(path, snapshots); err != nil {
		t.Fatalf("an undamaged log: %v", err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(change func(b []byte)) error {
		b := bytes.Clone(whole)
		change(b)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return checkFile(path, snapshots)
	}
	newest := byte('a' + 100%26)
	for _, letter := range append([]byte("bcdefk"), newest) {
		from := bytes.Index(whole, bytes.Repeat([]byte{letter}, 300))
		if from < 0 {
			t.Fatalf("no batch of %q", letter)
		}
		for _, copies := range []int{-headBytes + 2, -headBytes + 10, -headBytes + 18, -1, 0, 150, 299} { // header, batch
			err := damage(func(b []byte) {
				for at := from; at >= 0; { // reused pages have copies
					b[at+copies] ^= 1
					next := bytes.Index(b[at+300:], bytes.Repeat([]byte{letter}, 300))
					if next < 0 {
						break
					}
					at += 300 + next
				}
			})
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("a flipped bit in the batch of %q: %v", letter, err)
			}
		}
	}
	// The term is covered too.
	if err := damage(func([]byte) {}); err != nil {
		t.Fatal(err)
	}
	logs, err := openLogs(path)
	if err != nil {
		t.Fatal(err)
	}
	var last raft.Log
	err = logs.BoltStore.GetLog(100, &last)
	last.Term++
	if err := errors.Join(err, logs.BoltStore.StoreLogs([]*raft.Log{&last}), logs.Close()); err != nil {
		t.Fatal(err)
	}
	if err := checkFile(path, snapshots); !errors.Is(err, ErrDamaged) {
		t.Errorf("a changed term of the newest entry: %v", err)
	}
	// Damage anywhere else is an error or in unused bytes: never a panic.
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		_ = damage(func(b []byte) {
			for range 1 + rng.IntN(20) {
				b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
			}
		})
	}
}

func TestReadLogWithoutChecksums(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	writeLog(t, path, 100, false)
	if err := checkFile(path, raft.NewInmemSnapshotStore()); err != nil {
		t.Error(err)
	}
}

// Entries may be missing only if a received snapshot covers them.
func TestLogGaps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	writeLog(t, path, 100, true)
	logs, err := boltdb.New(boltdb.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(logs.DeleteRange(30, 50), logs.Close()); err != nil {
		t.Fatal(err)
	}
	for index, want := range map[uint64]error{40: ErrDamaged, 50: nil} {
		snapshots := raft.NewInmemSnapshotStore()
		sink, err := snapshots.Create(raft.SnapshotVersionMax, index, 1, raft.Configuration{}, 1, nil)
		if err == nil {
			err = sink.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := checkFile(path, snapshots); !errors.Is(err, want) {
			t.Errorf("with a snapshot of the first %d entries: %v", index, err)
		}
	}
}
