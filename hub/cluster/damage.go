package cluster

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/hashicorp/raft"
)

// ErrDamaged is the error of a node whose log is not what was written to its disk.
var ErrDamaged = errors.New("the log of this node is damaged. Remove the node from the cluster by ahphub cluster remove on another " +
	"one, delete its data directory, and join again")

// guarded calls open, which reads the log, and makes an error of a panic: the libraries believe what the disk says.
func guarded(open func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the log is mapped into memory
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w (%v)", ErrDamaged, cause)
		}
	}()
	return open()
}

// checkComplete reports why a log cannot be the one that a state was made of: a node whose log was lost has forgotten for whom it voted
// and what it acknowledged, and would take part as if it never had. isFromLog says that the state has entries of a log; last is the
// newest batch in the log after its newest snapshot, nil if there is none.
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
		return fmt.Errorf("%w (it is empty, and the database has batch %d)", ErrDamaged, applied)
	case last != nil && last.Position < applied:
		return fmt.Errorf("%w (it ends with batch %d, and the database has batch %d)", ErrDamaged, last.Position, applied)
	}
	return nil
}

// checkLog reads the whole log, and returns the newest batch after the newest snapshot, nil if there is none. An entry has a checksum
// and the hash of the one before, so that a changed bit shows. Everything after the newest snapshot must be there. Nodes that lag are
// sent these entries, so they are checked even if this node has applied them.
func checkLog(logs raft.LogStore, snapshots raft.SnapshotStore) (newest *Place, err error) {
	var covered uint64 // by the newest snapshot
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
	var before *Place // since the last gap
	var term uint64
	for i := first; i <= last && i > 0; i++ {
		var l raft.Log
		err := logs.GetLog(i, &l)
		if errors.Is(err, raft.ErrLogNotFound) && i <= covered { // a snapshot that was received took its place
			before = nil
			continue
		}
		switch {
		case errors.Is(err, ErrDamaged):
			return nil, err
		case err != nil:
			return nil, damaged(i, err)
		case l.Index != i || l.Term < term:
			return nil, damaged(i, fmt.Sprintf("it is entry %d of term %d, after term %d", l.Index, l.Term, term))
		}
		if term = l.Term; l.Type != raft.LogCommand {
			continue
		}
		e, follows, err := decode(l.Data)
		switch {
		case err != nil:
			return nil, damaged(i, err)
		case e.Term != l.Term: // it is not applied
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
