package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/ids"
)

// conduitMethod is the method that attaches conduits.
const conduitMethod = "conduit"

// mostConduits bounds the conduits of one machine.
const mostConduits = 4096

// Patience is how long a disconnected conduit waits for a connection before it ends.
const Patience = 10 * time.Minute

// Conduits are the conduits from one computer to another, across connections. The hub's side, which dials, opens them
// with Open and attaches them with Attach; the other side accepts them.
type Conduits struct {
	ctx    context.Context
	cancel context.CancelFunc
	accept map[string]func(context.Context, *Conduit) // by kind; nil: none are accepted
	log    *slog.Logger

	mu    sync.Mutex
	run   string          // of the side that opens conduits; see BeginRun
	serve *sync.WaitGroup // goroutines that serve the conduits of this run
	all   map[string]*Conduit
	peer  *Peer
	fresh map[string]bool // never attached
	away  *time.Timer
	wg    sync.WaitGroup
	ended bool
}

// NewConduits returns the conduits of a computer. accept serves those opened by the other side, by kind.
func NewConduits(accept map[string]func(context.Context, *Conduit), log *slog.Logger) *Conduits {
	cs := &Conduits{all: map[string]*Conduit{}, fresh: map[string]bool{}, accept: accept, log: log,
		serve: &sync.WaitGroup{}}
	if accept == nil {
		cs.run = ids.New()
	}
	cs.ctx, cs.cancel = context.WithCancel(context.Background())
	return cs
}

// Close ends all conduits, and waits for the goroutines that serve them.
func (cs *Conduits) Close() {
	cs.mu.Lock()
	cs.ended = true
	if cs.away != nil {
		cs.away.Stop()
	}
	cs.mu.Unlock()
	cs.failAll(ErrClosed)
	cs.cancel()
	cs.wg.Wait()
}

// Run identifies this run of the side that opens conduits. That side sends it first over each connection, and the other
// side calls BeginRun with it.
func (cs *Conduits) Run() string { return cs.run }

// BeginRun ends the conduits of the other side's earlier runs, and waits until they are no longer served or ctx ends.
// No later run can attach to them.
func (cs *Conduits) BeginRun(ctx context.Context, run string) error {
	if run == "" || len(run) > 100 {
		return errors.New("the hub does not name its run: update ahphub on both computers")
	}
	cs.mu.Lock()
	old, all := cs.serve, cs.all
	if cs.run == run {
		cs.mu.Unlock()
		return nil
	}
	cs.run, cs.serve = run, &sync.WaitGroup{}
	cs.all, cs.fresh = map[string]*Conduit{}, map[string]bool{}
	cs.mu.Unlock()
	for _, c := range all {
		c.fail(ErrLost)
	}
	ended := make(chan struct{})
	go func() { old.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (cs *Conduits) failAll(err error) {
	cs.mu.Lock()
	all := cs.all
	cs.all, cs.fresh = map[string]*Conduit{}, map[string]bool{}
	cs.mu.Unlock()
	for _, c := range all {
		c.fail(err)
	}
}

// Open starts a conduit, which is attached once there is a connection.
func (cs *Conduits) Open(kind string) (*Conduit, error) {
	c := newConduit(ids.New(), kind)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.ended {
		return nil, ErrClosed
	}
	cs.all[c.id], cs.fresh[c.id] = c, true
	if cs.peer != nil {
		cs.attach(cs.peer, c)
	}
	return c, nil
}

// Attach attaches all conduits to a connection, until it ends. The newest connection wins.
func (cs *Conduits) Attach(p *Peer) {
	cs.connected(p)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.all {
		cs.attach(p, c)
	}
}

// connected records the newest connection, until it ends.
func (cs *Conduits) connected(p *Peer) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.ended {
		return
	}
	cs.peer = p
	if cs.away != nil {
		cs.away.Stop()
		cs.away = nil
	}
	cs.wg.Go(func() {
		select {
		case <-p.Done():
		case <-cs.ctx.Done():
			return
		}
		cs.mu.Lock()
		defer cs.mu.Unlock()
		if cs.peer == p && !cs.ended {
			cs.peer = nil
			cs.away = time.AfterFunc(Patience, func() { cs.failAll(ErrLost) })
		}
	})
}

// attach attaches a conduit in its own goroutine; cs.mu is held.
func (cs *Conduits) attach(p *Peer, c *Conduit) {
	cs.wg.Go(func() {
		if err := cs.attachOne(p, c); err != nil && cs.ctx.Err() == nil {
			cs.log.Debug("a stream of another computer ended", "kind", c.kind, "err", err)
		}
		cs.drop(c)
	})
}

func (cs *Conduits) attachOne(p *Peer, c *Conduit) error {
	s, err := p.Open(cs.ctx, conduitMethod)
	if err != nil {
		return err
	}
	defer s.Close()
	cs.mu.Lock()
	fresh := cs.fresh[c.id]
	cs.mu.Unlock()
	c.mu.Lock()
	say := hello{ID: c.id, Kind: c.kind, Got: c.got, Fresh: fresh, Run: cs.run}
	c.mu.Unlock()
	if err := s.Send(say); err != nil {
		return err
	}
	var answer hello
	if err := s.Receive(&answer); err != nil {
		if p.isOpen() && !errors.Is(err, ErrClosed) && !errors.Is(err, io.EOF) {
			c.fail(err) // from the other side's handler
		}
		return err
	}
	cs.mu.Lock()
	delete(cs.fresh, c.id)
	cs.mu.Unlock()
	return c.run(cs.ctx, s, answer.Got)
}

// isOpen reports whether the connection is open.
func (p *Peer) isOpen() bool {
	select {
	case <-p.Done():
		return false
	default:
		return true
	}
}

// drop removes a conduit that is over.
func (cs *Conduits) drop(c *Conduit) {
	if !c.isOver() {
		return
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.all[c.id] == c {
		delete(cs.all, c.id)
		delete(cs.fresh, c.id)
	}
}

// Handler returns the handler of the method with which the other side attaches conduits. Call Connected for each
// connection.
func (cs *Conduits) Handler() (method string, h Handler) {
	return conduitMethod, func(ctx context.Context, s *Stream) error {
		var say hello
		if err := s.Receive(&say); err != nil {
			return err
		}
		c, err := cs.find(say)
		if err != nil {
			return err
		}
		defer cs.drop(c)
		c.mu.Lock()
		answer := hello{Got: c.got}
		c.mu.Unlock()
		if err := s.Send(answer); err != nil {
			return err
		}
		return c.run(ctx, s, say.Got)
	}
}

// Connected records p as the newest connection to the side that opens conduits.
func (cs *Conduits) Connected(p *Peer) { cs.connected(p) }

// find returns the conduit that the other side attaches, and starts serving a new one.
func (cs *Conduits) find(say hello) (*Conduit, error) {
	serve := cs.accept[say.Kind]
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c := cs.all[say.ID]; c != nil && say.Run == cs.run {
		return c, nil
	}
	switch {
	case cs.ended:
		return nil, ErrClosed
	case !say.Fresh || say.Run != cs.run:
		return nil, ErrLost
	case serve == nil || len(say.ID) == 0 || len(say.ID) > 100:
		return nil, fmt.Errorf("%.40q is not known here: update ahphub on both computers", say.Kind)
	case len(cs.all) >= mostConduits:
		return nil, fmt.Errorf("more than %d programs and sessions at once", mostConduits)
	}
	c := newConduit(say.ID, say.Kind)
	cs.all[c.id] = c
	serving := cs.serve
	serving.Add(1)
	cs.wg.Go(func() {
		defer serving.Done()
		defer func() {
			if fault := recover(); fault != nil {
				cs.log.Error("serving another computer failed", "kind", c.kind, "fault", fault, "stack",
					string(debug.Stack()))
				c.fail(ErrLost)
			}
		}()
		serve(cs.ctx, c)
	})
	return c, nil
}
