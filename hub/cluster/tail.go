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

// ErrInUse is returned when the log belongs to a running node.
var ErrInUse = errors.New("the log of this node is in use")

// Tail reads the log of a stopped node and prevents the node from starting until Close.
type Tail struct {
	logs checkedLogs
	dir  string
}

// OpenTail opens the log in a directory read-only. Without a log, the error is fs.ErrNotExist.
func OpenTail(dir string) (t *Tail, err error) {
	path := filepath.Join(dir, logName)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	t = &Tail{dir: dir}
	err = recoverDamage(func() (err error) {
		t.logs.BoltStore, err = boltdb.New(boltdb.Options{Path: path, MsgpackUseNewTimeFormat: true,
			BoltOptions: &bbolt.Options{Timeout: lockTime, ReadOnly: true}})
		return err
	})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, ErrInUse
	case err != nil:
		return nil, fmt.Errorf("cluster: cannot open the log in %s: %w", dir, err)
	}
	return t, nil
}

// Replay applies all entries that the state lacks, as if this node led next. The last ones may
// never have reached a quorum.
func (t *Tail) Replay(s State, version uint16) error {
	snapshots, err := openSnapshots(t.dir, newLogger(nil))
	if err == nil {
		err = snapshots.restore(s)
	}
	if err != nil {
		return err
	}
	return recoverDamage(func() error {
		first, err := t.logs.FirstIndex()
		if err != nil {
			return err
		}
		last, err := t.logs.LastIndex()
		if err != nil {
			return err
		}
		m := &stateMachine{state: s, version: version}
		for i := first; i <= last && i > 0; i++ {
			var l raft.Log
			if err := t.logs.GetLog(i, &l); errors.Is(err, raft.ErrLogNotFound) {
				continue // covered by a received snapshot; any other gap breaks the hash chain
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
