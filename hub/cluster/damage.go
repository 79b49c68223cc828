package cluster

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/hashicorp/raft"
)

// ErrDamaged reports that the log on this node's disk differs from what was written.
var ErrDamaged = errors.New("this node's log is damaged. Run ahphub cluster remove for this node on another node, " +
	"delete its data directory, and join again")

// recoverDamage calls open, which reads the log, and turns a panic into ErrDamaged: bbolt and raft
// trust what is on disk.
func recoverDamage(open func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the log is mapped into memory
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w (%v)", ErrDamaged, cause)
		}
	}()
	return open()
}

// checkComplete returns an error if entries that the state was built from are missing from the log.
// A node that lost its log has forgotten its votes and what it acknowledged, and must not take part
// again. isFromLog reports whether the state has entries of a log; last is the newest batch in the
// log after the newest snapshot, or nil.
func checkComplete(state State, isFromLog, existed bool, last *Place, snapshots raft.SnapshotStore) error {
	list, err := snapshots.List()
	if err != nil {
		return err
	}
	applied := state.Applied().Position
	switch {
	case !existed && (isFromLog || len(list) > 0):
		return fmt.Errorf("%w (it is missing)", ErrDamaged)
	case last == nil && len(list) == 0 && isFromLog:
		return fmt.Errorf("%w (it is empty, but the database has batch %d)", ErrDamaged, applied)
	case last != nil && last.Position < applied:
		return fmt.Errorf("%w (it ends with batch %d, but the database has batch %d)", ErrDamaged, last.Position, applied)
	}
	return nil
}

// checkLog reads the whole log and returns the newest batch after the newest snapshot, or nil. Each
// entry has a checksum and the hash of the previous entry, so flipped bits are detected. All
// entries after the newest snapshot must be present. They are checked even if this node has applied
// them, because it sends them to nodes that lag behind.
func checkLog(logs raft.LogStore, snapshots raft.SnapshotStore) (newest *Place, err error) {
	var covered uint64 // index of the newest snapshot
	list, err := snapshots.List()
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		covered = list[0].Index
	}
	first, err := logs.FirstIndex()
	if err != nil {
		return nil, err
	}
	last, err := logs.LastIndex()
	if err != nil {
		return nil, err
	}
	damaged := func(index uint64, why any) error {
		return fmt.Errorf("%w (at %d of %d: %v)", ErrDamaged, index, last, why)
	}
	var before *Place // nil after a gap
	var term uint64
	for i := first; i <= last && i > 0; i++ {
		var l raft.Log
		err := logs.GetLog(i, &l)
		if errors.Is(err, raft.ErrLogNotFound) && i <= covered { // replaced by a snapshot from another node
			before = nil
			continue
		}
		switch {
		case errors.Is(err, ErrDamaged):
			return nil, err
		case err != nil:
			return nil, damaged(i, err)
		case l.Index != i || l.Term < term:
			return nil, damaged(i, fmt.Sprintf("found entry %d of term %d after term %d", l.Index, l.Term, term))
		}
		if term = l.Term; l.Type != raft.LogCommand {
			continue
		}
		e, follows, err := decode(l.Data)
		switch {
		case err != nil:
			return nil, damaged(i, err)
		case e.Term != l.Term: // was never applied
			continue
		case before != nil && (e.Position != before.Position+1 || follows != before.Hash):
			return nil, damaged(i, fmt.Sprintf("batch %d does not continue batch %d", e.Position, before.Position))
		}
		if before = &e.Place; i > covered {
			newest = before
		}
	}
	return newest, nil
}
