package remote

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/pipe"
	"github.com/ahphub/ahphub/hub/machines"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// patience is the timeout of a call without a context.
const patience = 30 * time.Second

// Config describes either side.
type Config struct {
	KeepAlive time.Duration // between keepalives; 0: none
	Log       *slog.Logger
	Turn      int // limit of the bytes that a machine may send in a turn; 0 is 64 MiB

	// Changed is called on the hub's side when the machine has connected or disconnected; it must not block. May be nil.
	Changed func()
	// Used is called on the hub's side when the machine's facts are known, after Changed. May be nil.
	Used func()
	// Reported is called on the hub's side with the machine's reports, which are untrusted. nil: reports are refused.
	Reported func(machines.Report)

	// Tools serves, on the hub's side, the tools for agents; nil: agents connect to the servers of their sessions
	// themselves.
	Tools http.Handler

	// Door is for the machine's side; nil: agents get the servers as the hub names them.
	Door Door
	// Reporter is for the machine's side; nil: no reports.
	Reporter Reporter
}

// Machine is a computer at the other end of a connection. It implements machine.Machine after the first connection.
type Machine struct {
	cfg      Config
	conduits *pipe.Conduits
	tools    *tools // nil: none are served

	mu    sync.Mutex
	peer  *pipe.Peer    // nil while it is offline
	news  chan struct{} // closed when peer changes
	facts *facts        // from the last connection
	asked string        // unknown agents in its reports for which this connection has already asked for facts
}

// New returns a machine that is offline.
func New(cfg Config) *Machine {
	return &Machine{cfg: cfg, conduits: pipe.NewConduits(nil, cfg.Log), tools: newTools(cfg.Tools, cfg.Log),
		news: make(chan struct{})}
}

// Serve uses a connection until it ends, ctx ends, or Serve gets a newer one, which wins.
func (m *Machine) Serve(ctx context.Context, conn net.Conn) error {
	streams, handlers := uint32(16), map[string]pipe.Handler{}
	if m.tools != nil {
		streams += mostTools
		handlers[toolsMethod] = m.tools.serve
	}
	if m.cfg.Reported != nil {
		handlers[reportMethod] = m.takeReports()
	}
	peer, err := pipe.New(conn, pipe.Config{Streams: streams, Handlers: handlers, KeepAlive: m.cfg.KeepAlive,
		Log: m.cfg.Log})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- peer.Run(ctx) }()
	facts, err := pipe.Call[facts](ctx, peer, "machine.describe", describeCall{m.conduits.Run()})
	if err == nil {
		err = facts.check()
	}
	if err != nil {
		peer.Close()
		<-ended
		return err
	}
	if old := m.use(peer, &facts); old != nil {
		old.Close()
	}
	m.conduits.Attach(peer)
	if m.cfg.Used != nil {
		m.cfg.Used()
	}
	<-peer.Done() // closing its transport may take longer
	m.leave(peer)
	return <-ended
}

func (m *Machine) use(p *pipe.Peer, f *facts) (old *pipe.Peer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, m.peer, m.asked = m.peer, p, ""
	f.machine = m
	m.facts = f
	m.notifyChanged()
	return old
}

func (m *Machine) leave(p *pipe.Peer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.peer == p {
		m.peer = nil
		m.notifyChanged()
	}
}

// notifyChanged wakes goroutines that wait for a connection; m.mu is held.
func (m *Machine) notifyChanged() {
	close(m.news)
	m.news = make(chan struct{})
	if m.cfg.Changed != nil {
		m.cfg.Changed()
	}
}

// IsOnline reports whether the machine is connected.
func (m *Machine) IsOnline() bool {
	_, err := m.online()
	return err == nil
}

// Ready waits until the machine is connected.
func (m *Machine) Ready(ctx context.Context) error {
	_, err := m.connected(ctx, nil)
	return err
}

// connected waits for a connection other than old.
func (m *Machine) connected(ctx context.Context, old *pipe.Peer) (*pipe.Peer, error) {
	for {
		m.mu.Lock()
		p, news := m.peer, m.news
		m.mu.Unlock()
		if p != nil && p != old {
			return p, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Close ends everything that the machine runs for this hub.
func (m *Machine) Close() {
	m.conduits.Close()
	m.mu.Lock()
	peer := m.peer
	m.mu.Unlock()
	if peer != nil {
		peer.Close()
	}
	m.tools.close()
}

// online returns the connection, or machine.ErrOffline.
func (m *Machine) online() (*pipe.Peer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.peer == nil {
		return nil, machine.ErrOffline
	}
	return m.peer, nil
}

func (m *Machine) lastFacts() *facts {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.facts == nil {
		return &facts{machine: m}
	}
	return m.facts
}

// call calls a method of the computer.
func call[Out any](ctx context.Context, m *Machine, method string, in any) (out Out, err error) {
	p, err := m.online()
	if err != nil {
		return out, err
	}
	out, err = pipe.Call[Out](ctx, p, method, in)
	return out, asOffline(ctx, err)
}

// asOffline adds machine.ErrOffline to the error of a connection that ended.
func asOffline(ctx context.Context, err error) error {
	if errors.Is(err, pipe.ErrClosed) || errors.Is(err, context.Canceled) && ctx.Err() == nil { // the machine closed it
		return errors.Join(machine.ErrOffline, err)
	}
	return err
}

func callNone(ctx context.Context, m *Machine, method string, in any) error {
	_, err := call[struct{}](ctx, m, method, in)
	return err
}

// Agents returns the computer's agents.
func (m *Machine) Agents() map[string]agent.Backend { return m.lastFacts().backends() }

// Changes returns the recorder of its changes, or nil if none are recorded.
func (m *Machine) Changes() machine.Changes {
	if !m.lastFacts().Changes {
		return nil
	}
	return changes{m}
}

// Files returns its files.
func (m *Machine) Files() machine.Files { return files{m} }

// Terminals returns its pseudo terminals.
func (m *Machine) Terminals() machine.Terminals { return terminals{m} }

// Customs returns the finder of its customizations, or nil if it has none.
func (m *Machine) Customs() machine.Customs {
	if !m.lastFacts().Customs {
		return nil
	}
	return customs{m}
}

// CheckSandbox returns why programs cannot run on the machine in a sandbox with a policy.
func (m *Machine) CheckSandbox(p *sandbox.Policy) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return callNone(ctx, m, "machine.sandbox", p)
}

// Forget removes what a session's programs left on the machine outside of its directories.
func (m *Machine) Forget(session string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return callNone(ctx, m, "machine.forget", session)
}
