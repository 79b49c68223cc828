package cluster

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// stateMachine applies entries of the log to this node's state.
type stateMachine struct {
	state    State
	version  uint16
	stop     func(error)
	restored func() error // called after a Restore; may be nil

	mu      sync.Mutex
	seen    *Place // newest entry seen since the start; nil: none
	stopped error
}

func (m *stateMachine) isStopped() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stopped != nil
}

func (m *stateMachine) applied() Place {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Applied()
}

// Apply implements raft.FSM.
func (m *stateMachine) Apply(l *raft.Log) any { return m.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch implements raft.BatchingFSM: a batch of entries is applied to the state in one step.
func (m *stateMachine) ApplyBatch(logs []*raft.Log) []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]any, len(logs))
	if m.stopped == nil {
		m.stopped = m.apply(logs, out)
		if m.stopped != nil {
			m.stop(m.stopped)
		}
	}
	if m.stopped != nil {
		for i := range out {
			out[i] = m.stopped
		}
	}
	return out
}

// apply applies entries, and records the refused ones in out.
func (m *stateMachine) apply(logs []*raft.Log, out []any) error {
	at := m.state.Applied()
	var next []Entry
	for i, l := range logs {
		if l.Type != raft.LogCommand {
			continue
		}
		e, before, err := decode(l.Data)
		switch {
		case err != nil:
			return err
		case e.Term != l.Term: // it waited in raft until this node led again; its term was over
			out[i] = ErrDeposed
			continue
		case m.seen != nil && !continues(e, before, *m.seen):
			return fmt.Errorf("%w: entry %d does not continue entry %d", ErrDiverged, e.Position, m.seen.Position)
		case e.Position < at.Position || e.Place == at: // applied before this program started
			m.seen = &e.Place
			continue
		case !continues(e, before, at):
			return fmt.Errorf("%w: entry %d does not continue entry %d", ErrDiverged, e.Position, at.Position)
		case e.Version > m.version:
			return fmt.Errorf("the leader writes version %d of the journal, but this program reads up to %d: upgrade it",
				e.Version, m.version)
		}
		next, at, m.seen = append(next, e), e.Place, &e.Place
	}
	if len(next) == 0 {
		return nil
	}
	return m.state.Apply(next)
}

// continues reports whether e directly follows after. before is the previous hash that e contains.
func continues(e Entry, before Hash, after Place) bool {
	return e.Position == after.Position+1 && before == after.Hash
}

// Snapshot implements raft.FSM.
func (m *stateMachine) Snapshot() (raft.FSMSnapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped != nil {
		return nil, m.stopped
	}
	s, err := m.state.Snapshot()
	return persistedSnapshot{s}, err
}

// Restore implements raft.FSM.
func (m *stateMachine) Restore(r io.ReadCloser) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := errors.Join(m.state.Restore(r), r.Close())
	if err != nil {
		return err
	}
	at := m.state.Applied()
	m.seen = &at
	if m.restored == nil {
		return nil
	}
	return m.restored()
}
