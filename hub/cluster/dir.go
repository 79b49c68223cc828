package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Files in a node's directory.
const (
	logName        = "log.db"
	lockTime       = time.Second      // after which the log counts as in use
	transportTime  = 10 * time.Second // for one message to another node; snapshots get longer
	transportsKept = 3                // connections to each node
)

// OpenDir starts a node whose log is in dir, which is created if needed. The node reaches other
// nodes through stream. OpenDir sets the stores and the transport of c itself.
func OpenDir(dir string, stream raft.StreamLayer, c Config) (*Raft, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	c.logger = newLogger(c.Log)
	path := filepath.Join(dir, logName)
	_, absent := os.Stat(path)
	snapshots, err := openSnapshots(dir, c.logger)
	if err == nil && absent != nil {
		err = checkComplete(c.State, c.FromLog, false, nil, snapshots) // before a new log is created
	}
	if err != nil {
		return nil, err
	}
	logs, err := openLogs(path)
	if errors.Is(err, berrors.ErrChecksum) || errors.Is(err, berrors.ErrInvalid) ||
		errors.Is(err, berrors.ErrVersionMismatch) {
		err = fmt.Errorf("%w (%w)", ErrDamaged, err)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: cannot open the log in %s: %w", dir, err)
	}
	err = recoverDamage(func() error {
		newest, err := checkLog(logs, snapshots)
		if err == nil {
			err = checkComplete(c.State, c.FromLog, true, newest, snapshots)
		}
		return err
	})
	if err == nil {
		err = snapshots.restorePending(c.State)
	}
	if err != nil {
		return nil, errors.Join(err, logs.Close())
	}
	c.restored = snapshots.clearPending
	net := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{Stream: stream, MaxPool: transportsKept,
		Timeout: transportTime, Logger: c.logger, MsgpackUseNewTimeFormat: true})
	c.Logs, c.Stable, c.Snapshots, c.Transport = logs, logs, snapshots, net
	r, err := Open(c)
	if err != nil {
		return nil, errors.Join(err, net.Close(), logs.Close())
	}
	r.own = []io.Closer{closer(func() error { net.CloseStreams(); return nil }), logs}
	return r, nil
}

func openLogs(path string) (logs checkedLogs, err error) {
	err = recoverDamage(func() (err error) {
		logs.BoltStore, err = boltdb.New(boltdb.Options{Path: path, MsgpackUseNewTimeFormat: true,
			BoltOptions: &bbolt.Options{Timeout: lockTime}})
		return err
	})
	return logs, err
}

type closer func() error

// Close calls c.
func (c closer) Close() error { return c() }
