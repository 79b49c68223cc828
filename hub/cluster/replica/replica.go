// Package replica implements the state of a cluster's node: the database of a data directory, to
// which the log's entries are applied. It imports cluster and store; neither imports it.
package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/store"
)

// State implements cluster.State with a store.
type State struct {
	cfg store.Config

	mu     sync.Mutex
	store  *store.Store
	stop   func() // stops the store's background work
	place  cluster.Place
	marked bool // the database has entries of the log
	pieces pieces
	err    error // why the store lacks entries, or is closed
}

var _ cluster.State = (*State)(nil)

// ErrDamaged reports that the database on this node's disk differs from what was written.
var ErrDamaged = errors.New("this node's database is damaged. Run ahphub cluster remove for this node " +
	"on another node, delete its data directory, and join again")

// explain replaces the advice in an error about damage: a node gets its data from the other nodes,
// not from a backup.
func explain(err error) error {
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	return fmt.Errorf("%w (%s)", ErrDamaged, store.DescribeDamage(err))
}

// Open opens a data directory. A directory written by a single server starts at the position of its
// newest batch: nodes that join copy it first.
func Open(ctx context.Context, cfg store.Config) (*State, error) {
	cfg.Replays = true // the log has the entries that a snapshot lacks
	s := &State{cfg: cfg}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *State) open(ctx context.Context) error {
	opened, err := store.Open(ctx, s.cfg)
	if err != nil {
		return explain(err)
	}
	began := time.Now()
	err = store.CheckWhole(ctx, s.cfg.Dir)
	if s.cfg.Log != nil {
		s.cfg.Log.Debug("checked the database", "took", time.Since(began), "err", err)
	}
	var mark []byte
	if err == nil {
		mark, err = opened.Mark(ctx)
	}
	place := cluster.Place{Position: uint64(opened.Position())}
	if err == nil && mark != nil {
		place, err = decodePlace(mark)
	}
	if err == nil && place.Position != uint64(opened.Position()) {
		err = fmt.Errorf("%w: its newest batch is %d, but the cluster's is %d: the directory was used without the cluster",
			cluster.ErrDiverged, opened.Position(), place.Position)
	}
	if err != nil {
		return errors.Join(explain(err), opened.Close())
	}
	s.store, s.place, s.marked, s.pieces = opened, place, mark != nil, pieces{}
	s.stop = opened.Maintain()
	return nil
}

// close closes the store if it is open; mu is held.
func (s *State) close() error {
	if s.stop == nil {
		return nil
	}
	s.stop()
	s.stop = nil
	return s.store.Close()
}

// Store returns the current store; Restore opens a new one.
func (s *State) Store() *store.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store
}

// Close closes the store.
func (s *State) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.err, store.ErrClosed) {
		return nil
	}
	s.err = store.ErrClosed
	return s.close()
}

// IsFromLog reports whether the database has entries of a cluster's log.
func (s *State) IsFromLog() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.marked
}

// Applied implements cluster.State.
func (s *State) Applied() cluster.Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place
}

// Apply implements cluster.State. After an error, the state must be reopened. Pieces of a batch
// stay in memory until the last one arrives: a node that restarts receives them again.
func (s *State) Apply(entries []cluster.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	var batches [][]byte
	var last cluster.Place
	for _, e := range entries {
		batch, err := s.pieces.add(e.Batch)
		if err != nil {
			s.err = fmt.Errorf("entry %d: %w", e.Position, err)
			return s.err
		}
		if batch != nil {
			batches, last = append(batches, batch), e.Place
		}
		s.place = e.Place
	}
	if len(batches) > 0 {
		s.err = explain(s.store.ApplyMarked(int64(last.Position), encodePlace(last), batches...))
	}
	return s.err
}

// errPieces refuses a snapshot between two pieces: a node that starts from it would lack the first
// pieces.
var errPieces = errors.New("a batch is incomplete")

// Snapshot implements cluster.State.
func (s *State) Snapshot() (cluster.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	if s.pieces.isHalf() {
		return nil, errPieces
	}
	c, err := s.store.Copy(context.Background())
	if err != nil {
		return nil, err
	}
	return snapshot{c, s.store}, nil
}

// snapshot is a copy of the database.
type snapshot struct {
	*store.Copy
	of *store.Store
}

// WriteTo implements cluster.Snapshot. When it returns, the log discards the entries that the
// snapshot covers, so the database itself must also be synced.
func (s snapshot) WriteTo(w io.Writer) (int64, error) {
	if err := s.of.Sync(); err != nil {
		return 0, err
	}
	return s.Copy.WriteTo(w)
}

// Release implements cluster.Snapshot.
func (s snapshot) Release() { s.Close() }

// Restore implements cluster.State.
func (s *State) Restore(r io.Reader) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.err, store.ErrClosed) {
		return s.err
	}
	if err := store.Receive(s.cfg.Dir, r); err != nil {
		if s.cfg.Log != nil {
			s.cfg.Log.Error("rejected a copy of the database from another node", "err", store.DescribeDamage(err))
		}
		return err // the old state remains
	}
	s.err = s.close()
	if err := s.open(context.Background()); err != nil {
		s.err = errors.Join(s.err, err)
	}
	return s.err
}

func encodePlace(p cluster.Place) []byte {
	return append(binary.BigEndian.AppendUint64(nil, p.Position), p.Hash[:]...)
}

func decodePlace(b []byte) (p cluster.Place, err error) {
	if len(b) != 8+len(p.Hash) {
		return p, fmt.Errorf("%w: its place in the cluster's log is not valid", store.ErrDamaged)
	}
	p.Position = binary.BigEndian.Uint64(b)
	copy(p.Hash[:], b[8:])
	return p, nil
}
