package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	keptSnapshots   = 2
	snapshotsFolder = "."        // raft creates its own folder in it
	pendingName     = "received" // exists while the state may lack a received snapshot; has the newest one's ID
)

// snapshotStore keeps a node's snapshots on disk.
//
// At startup, raft assumes that the state contains the newest snapshot. A snapshot from another
// node is stored before the state has it: a node that was killed in between, or whose disk was
// full, would continue with an old state and could even lead with it. Therefore a file records such
// a snapshot until the state has it, and restorePending restores it first.
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

// persistedSnapshot writes a snapshot to raft's snapshot store.
type persistedSnapshot struct{ Snapshot }

// Persist implements raft.FSMSnapshot. Raft closes the sink afterwards.
func (p persistedSnapshot) Persist(to raft.SnapshotSink) error {
	if s, ok := to.(*sink); ok {
		s.isOwn = true
	}
	if _, err := p.WriteTo(to); err != nil {
		return errors.Join(err, to.Cancel())
	}
	return nil
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

// restore restores the newest snapshot into any state if one is pending, and keeps the record. The
// recorded snapshot may be cut off, so that the leader sends it again, while the state still lacks
// an earlier one. A snapshot that the state already has does no harm: the log has the entries after
// it.
func (s snapshotStore) restore(state State) error {
	_, err := os.Stat(s.pending)
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
	if len(list) == 0 {
		return nil
	}
	_, r, err := s.Open(list[0].ID)
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
