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
	snapshotsFolder = "."        // the library makes one of its own in it
	pendingName     = "received" // names a snapshot of another node that the state may not have yet
)

// snapshotStore keeps a node's snapshots on its disk.
//
// The library believes at its start that the state has the newest snapshot. One that another node sent is here before the state has it:
// a node that was killed in between, or whose disk was full, would go on with an old state, and could lead with it. So a file names such
// a snapshot until the state has it, and restorePending restores it first.
type snapshotStore struct {
	raft.SnapshotStore
	pending string // path of the file
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
	sink, err := s.SnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err != nil {
		return nil, err
	}
	return &receivedSink{sink, s}, nil
}

// receivedSink takes a snapshot of another node, unless closeOwn ends it.
type receivedSink struct {
	raft.SnapshotSink
	store snapshotStore
}

// Close implements raft.SnapshotSink.
func (r *receivedSink) Close() error {
	if err := r.store.setPending(r.ID()); err != nil {
		return errors.Join(err, r.Cancel())
	}
	return r.SnapshotSink.Close()
}

// closeOwn is Close for a snapshot of this node's own state.
func (r *receivedSink) closeOwn() error { return r.SnapshotSink.Close() }

// setPending records that the state does not have a snapshot yet. The record is on disk before the snapshot counts.
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

// restorePending restores the snapshot that the state may not have yet, if there is one.
func (s snapshotStore) restorePending(state State) error {
	if err := s.restore(state); err != nil {
		return err
	}
	return s.clearPending()
}

// restore is restorePending for a state that is not the node's own.
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
	if !arrived { // its end was not on the disk: it will be sent again
		return nil
	}
	_, r, err := s.Open(string(bytes.TrimSpace(id)))
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := errors.Join(state.Restore(r), r.Close()); err != nil {
		return fmt.Errorf("the snapshot that another node sent cannot be restored: %w", err)
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
