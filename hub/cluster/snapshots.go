package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	keptSnapshots   = 2
	snapshotsFolder = "."        // raft creates its own folder in it
	pendingName     = "received" // contains the ID of a received snapshot that the state may lack
)

// snapshotStore keeps a node's snapshots on disk.
//
// At startup, raft assumes that the state contains the newest snapshot. A snapshot from another
// node is stored before the state has it: a node that was killed in between, or whose disk was
// full, would continue with an old state and could even lead with it. Therefore a file names such a
// snapshot until the state has it, and restorePending restores it first.
type snapshotStore struct {
	raft.SnapshotStore
	pending string // path of that file
}

func openSnapshots(dir string, logger hclog.Logger) (s snapshotStore, err error) {
	s.pending = filepath.Join(dir, pendingName)
	s.SnapshotStore, err = raft.NewFileSnapshotStoreWithLogger(filepath.Join(dir, snapshotsFolder), keptSnapshots, logger)
	if err != nil {
		return s, fmt.Errorf("cluster: %w", err)
	}
	return s, nil
}

// Create implements raft.SnapshotStore.
func (s snapshotStore) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	created, err := s.SnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err != nil {
		return nil, err
	}
	return &sink{SnapshotSink: created, store: s}, nil
}

// sink stores a snapshot. It is from another node unless isOwn is set.
type sink struct {
	raft.SnapshotSink
	store snapshotStore
	isOwn bool // of this node's own state
}

// Close implements raft.SnapshotSink.
func (s *sink) Close() error {
	if s.isOwn {
		return s.SnapshotSink.Close()
	}
	if err := s.store.setPending(s.ID()); err != nil {
		return errors.Join(err, s.Cancel())
	}
	return s.SnapshotSink.Close()
}

// setPending records that the state lacks a snapshot. The record is on disk before the snapshot
// counts.
func (s snapshotStore) setPending(id string) error {
	f, err := os.OpenFile(s.pending, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	_, err = f.WriteString(id)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return syncDir(filepath.Dir(s.pending))
}

// clearPending records that the state has every snapshot.
func (s snapshotStore) clearPending() error {
	if err := os.Remove(s.pending); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// restorePending restores the snapshot that the state may lack, if any.
func (s snapshotStore) restorePending(state State) error {
	if err := s.restore(state); err != nil {
		return err
	}
	return s.clearPending()
}

// restore restores a pending snapshot into any state, and keeps the record.
func (s snapshotStore) restore(state State) error {
	id, err := os.ReadFile(s.pending)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	list, err := s.List()
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	arrived := slices.ContainsFunc(list, func(m *raft.SnapshotMeta) bool { return m.ID == string(bytes.TrimSpace(id)) })
	if !arrived { // it was cut off: the leader sends it again
		return nil
	}
	_, r, err := s.Open(string(bytes.TrimSpace(id)))
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := errors.Join(state.Restore(r), r.Close()); err != nil {
		return fmt.Errorf("cannot restore the snapshot that another node sent: %w", err)
	}
	return nil
}

// syncDir syncs the names in a directory to disk.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
