package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// Config configures a Raft; zero fields use the stated default.
type Config struct {
	ID        string // of the node; permanent
	State     State
	FromLog   bool   // the state has entries of this log, so the log must exist
	Version   uint16 // of the batches this program writes; it applies all up to this version
	Transport Transport
	Logs      raft.LogStore
	Stable    raft.StableStore
	Snapshots raft.SnapshotStore
	Log       *slog.Logger // receives warnings and errors; default: none

	Heartbeat time.Duration // silence of the leader before an election: 1 s
	Commit    time.Duration // when idle, before followers learn the commit index: 5 ms
	Keep      uint64        // entries kept after a snapshot for nodes that lag: 10 000
	Snapshot  uint64        // entries between snapshots: 8 192

	logger   hclog.Logger // forwards to Log
	restored func() error // called after the state restored another node's snapshot
}

func (c Config) raft() *raft.Config {
	r := raft.DefaultConfig()
	r.LocalID = raft.ServerID(c.ID)
	r.HeartbeatTimeout = orElse(c.Heartbeat, time.Second)
	r.ElectionTimeout, r.LeaderLeaseTimeout = r.HeartbeatTimeout, r.HeartbeatTimeout/2
	r.CommitTimeout = orElse(c.Commit, 5*time.Millisecond)
	r.TrailingLogs, r.SnapshotThreshold = orElse(c.Keep, 10_000), orElse(c.Snapshot, 8192)
	r.NoSnapshotRestoreOnStart = true // the state is on disk with its place
	r.BatchApplyCh = true
	r.Logger = c.logger
	return r
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Raft implements Log with hashicorp/raft.
type Raft struct {
	raft   *raft.Raft
	fsm    *stateMachine
	terms  chan *Term
	logs   raft.LogStore
	logger hclog.Logger
	lease  time.Duration // half of the silence after which nodes elect another leader
	quit   context.CancelFunc
	ended  sync.WaitGroup
	own    []io.Closer // closed last

	current     atomic.Pointer[leading] // newest; nil: this node never led
	handingOver atomic.Int32            // calls of handOver

	down     chan struct{} // closed once raft has shut down
	downOnce sync.Once

	once sync.Once
	done chan struct{}
	err  error // set before done is closed
}

var _ Log = (*Raft)(nil)

const handoverPoll = 20 * time.Millisecond // poll interval during a handover

// Open starts a node. A node that is not a server of a cluster yet waits until a leader adds it.
func Open(c Config) (*Raft, error) {
	if c.logger == nil {
		c.logger = newLogger(c.Log)
	}
	r := &Raft{logs: c.Logs, logger: c.logger, terms: make(chan *Term), done: make(chan struct{}),
		down: make(chan struct{})}
	r.fsm = &stateMachine{state: c.State, version: c.Version, stop: r.stop, restored: c.restored}
	config := c.raft()
	r.lease = config.HeartbeatTimeout / 2
	err := recoverDamage(func() (err error) {
		r.raft, err = raft.NewRaft(config, r.fsm, c.Logs, c.Stable, c.Snapshots, transport{c.Transport})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	ctx, quit := context.WithCancel(context.Background())
	r.quit = quit
	r.ended.Go(func() { r.follow(ctx, c.Version) })
	return r, nil
}

// Bootstrap creates a cluster of these nodes, which maps IDs to addresses. It is called once per
// cluster, on one of the nodes.
func (r *Raft) Bootstrap(nodes map[string]string) error {
	var servers raft.Configuration
	for id, address := range nodes {
		servers.Servers = append(servers.Servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(address)})
	}
	if err := r.raft.BootstrapCluster(servers).Error(); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// Leader returns the ID and address of the leader as far as this node knows, or "".
func (r *Raft) Leader() (id, address string) {
	a, i := r.raft.LeaderWithID()
	return string(i), string(a)
}

// Transfer transfers leadership to another node. If that fails, this node gets another term.
func (r *Raft) Transfer() error { return r.handOver(r.raft.LeadershipTransfer) }

// handOver ends the hub's term and transfers leadership. Raft refuses appends meanwhile, but accepts
// them again if the transfer fails: these would continue entries that do not exist.
func (r *Raft) handOver(transfer func() raft.Future) error {
	r.handingOver.Add(1)
	defer r.handingOver.Add(-1)
	if l := r.current.Load(); l != nil {
		l.stop()
		l.end()
	}
	return await(transfer(), r.down)
}

// Compact takes a snapshot and drops the entries that it covers.
func (r *Raft) Compact() error { return r.raft.Snapshot().Error() }

// Terms implements Log.
func (r *Raft) Terms() <-chan *Term { return r.terms }

// Done implements Log.
func (r *Raft) Done() <-chan struct{} { return r.done }

// Err returns why the node stopped; nil while it runs, and after Close.
func (r *Raft) Err() error {
	select {
	case <-r.done:
		return r.err
	default:
		return nil
	}
}

// stop marks the node as stopped, without waiting.
func (r *Raft) stop(err error) {
	r.once.Do(func() {
		r.err = err
		close(r.done)
	})
}

// Close implements Log.
func (r *Raft) Close() error {
	r.quit()
	err := r.shutdown()
	r.ended.Wait()
	for _, c := range r.own {
		err = errors.Join(err, c.Close())
	}
	r.stop(nil)
	return err
}

// shutdown shuts raft down and waits for it.
func (r *Raft) shutdown() error {
	err := r.raft.Shutdown().Error()
	r.downOnce.Do(func() { close(r.down) })
	return err
}

// await returns the result of a future, which raft does not answer if it shuts down before it takes
// what was queued.
func await(f raft.Future, down <-chan struct{}) error {
	answered := make(chan error, 1)
	go func() { answered <- f.Error() }()
	select {
	case err := <-answered:
		return err
	case <-down:
		return raft.ErrRaftShutdown
	}
}

// follow sends a term each time this node starts to lead, and ends the term when it stops leading.
func (r *Raft) follow(ctx context.Context, version uint16) {
	defer close(r.terms)
	for {
		var leads bool
		select {
		case leads = <-r.raft.LeaderCh():
		case <-r.done: // the state diverged or failed
			// Only the first Shutdown can be waited for, and Close waits for this function.
			_ = r.shutdown()
			return
		case <-ctx.Done():
			return
		}
		for leads {
			leads = r.lead(ctx, version)
		}
	}
}

// lead serves one term and reports whether this node already leads in another one.
func (r *Raft) lead(outer context.Context, version uint16) (again bool) {
	number := r.raft.CurrentTerm()
	if !r.awaitApplied(outer, number) {
		return false // deposed before everything was applied
	}
	ctx, end := context.WithCancel(outer)
	defer end()
	l := &leading{raft: r.raft, term: number, version: version, lease: r.lease, last: r.fsm.applied(), down: r.down}
	defer l.stop()
	l.end = end
	r.current.Store(l)
	if r.handingOver.Load() > 0 { // it may have missed l
		return r.isLeading(number)
	}
	term, send := &Term{Number: number, ctx: ctx, append: l.append, confirm: l.confirm}, r.terms
	for {
		select {
		case send <- term:
			send = nil
		case again = <-r.raft.LeaderCh(): // true: deposed and elected again in between
			return again
		case <-r.done:
			return false
		case <-ctx.Done(): // Close or a failed append
			return outer.Err() == nil && r.isLeading(number)
		}
	}
}

// awaitApplied waits until this node has applied everything appended before the term. It returns
// false if this node no longer leads in the term. During a handover raft rejects the barrier,
// although this node may still lead afterwards.
func (r *Raft) awaitApplied(ctx context.Context, number uint64) bool {
	for {
		err := await(r.raft.Barrier(0), r.down)
		switch {
		case r.raft.CurrentTerm() != number || r.fsm.isStopped():
			return false
		case err == nil && r.handingOver.Load() == 0:
			return true
		case err != nil && !errors.Is(err, raft.ErrLeadershipTransferInProgress):
			return false
		}
		select {
		case <-time.After(handoverPoll):
		case <-ctx.Done():
			return false
		}
	}
}

// isLeading reports whether this node leads in a term. A refused append ends the hub's term, but
// not raft's.
func (r *Raft) isLeading(number uint64) bool {
	return r.raft.State() == raft.Leader && r.raft.CurrentTerm() == number && !r.fsm.isStopped()
}
