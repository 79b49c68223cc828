package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// ErrInUse is the error of opening the log of a running node.
var ErrInUse = errors.New("the log of this node is in use")

// Tail reads the log of a node that is stopped, and keeps it from starting until Close.
type Tail struct {
	logs checkedLogs
	dir  string
}

// OpenTail opens the log in a directory, without changing it. The error of a directory without a log is fs.ErrNotExist.
func OpenTail(dir string) (t *Tail, err error) {
	path := filepath.Join(dir, logName)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	t = &Tail{dir: dir}
	err = guarded(func() (err error) {
		t.logs.BoltStore, err = boltdb.New(boltdb.Options{Path: path, MsgpackUseNewTimeFormat: true,
			BoltOptions: &bbolt.Options{Timeout: lockTime, ReadOnly: true}})
		return err
	})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, ErrInUse
	case err != nil:
		return nil, fmt.Errorf("cluster: the log in %s cannot be opened: %w", dir, err)
	}
	return t, nil
}

// Replay applies the entries that continue a state: all that this node would have if it led next. The last of them may be entries that no
// quorum had yet.
func (t *Tail) Replay(s State, version uint16) error {
	snapshots, err := openSnapshots(t.dir, newLogger(nil))
	if err == nil {
		err = snapshots.restore(s)
	}
	if err != nil {
		return err
	}
	return guarded(func() error {
		first, err := t.logs.FirstIndex()
		if err != nil {
			return err
		}
		last, err := t.logs.LastIndex()
		if err != nil {
			return err
		}
		m := &machine{state: s, version: version}
		for i := first; i <= last && i > 0; i++ {
			var l raft.Log
			if err := t.logs.GetLog(i, &l); errors.Is(err, raft.ErrLogNotFound) {
				continue // a snapshot that was received has it; a gap that matters breaks the chain of hashes
			} else if err != nil {
				return err
			}
			if err := m.apply([]*raft.Log{&l}, make([]any, 1)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close closes the log.
func (t *Tail) Close() error { return t.logs.Close() }
