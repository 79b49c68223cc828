package remote

import (
	"context"
	"maps"
	"net"
	"sync"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/pipe"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Server serves a machine to its hub. Running programs outlive the connections.
type Server struct {
	cfg      Config
	machine  machine.Machine
	conduits *pipe.Conduits
	handlers map[string]pipe.Handler

	mu   sync.Mutex
	peer *pipe.Peer // the newest
}

// NewServer returns a server of m. The caller must close it.
func NewServer(m machine.Machine, cfg Config) *Server {
	s := &Server{cfg: cfg, machine: m}
	terminals := &served{terminals: m.Terminals(), log: cfg.Log, all: map[string]machine.Terminal{}}
	kinds := map[string]func(context.Context, *pipe.Conduit){
		kindTerminal: terminals.serve,
		kindAgent: func(ctx context.Context, c *pipe.Conduit) {
			serveAgent(ctx, s, c, cfg.Log)
		},
	}
	s.handlers = serveFiles(m.Files())
	maps.Copy(s.handlers, serveAgents(m.Agents))
	maps.Copy(s.handlers, serveMachine(m))
	if c := m.Changes(); c != nil {
		maps.Copy(s.handlers, serveChanges(c))
	}
	if c := m.Customs(); c != nil {
		maps.Copy(s.handlers, serveCustoms(c))
		kinds[kindServer] = func(ctx context.Context, conduit *pipe.Conduit) { serveServer(ctx, c, conduit, cfg.Log) }
	}
	s.handlers["terminals.watch"] = terminals.watch
	s.handlers["terminals.draw"] = pipe.Answer(func(_ context.Context, q drawCall) (string, error) {
		if err := machine.CheckTerminalSize(q.Cols, q.Rows); err != nil {
			return "", err
		}
		return m.Terminals().DrawText(q.Printed, q.Cols, q.Rows), nil
	})
	s.conduits = pipe.NewConduits(kinds, cfg.Log)
	method, attach := s.conduits.Handler()
	s.handlers[method] = attach
	return s
}

// describe returns this computer's facts, after everything that an earlier run of the hub started has ended.
func (s *Server) describe(peer *pipe.Peer) pipe.Handler {
	return pipe.Answer(func(ctx context.Context, q describeCall) (facts, error) {
		s.mu.Lock()
		isNewest := s.peer == peer
		s.mu.Unlock()
		if !isNewest {
			return facts{}, pipe.ErrClosed
		}
		ending, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := s.conduits.BeginRun(ending, q.Run); err != nil {
			return facts{}, err
		}
		f := facts{Changes: s.machine.Changes() != nil, Customs: s.machine.Customs() != nil,
			Shells: s.machine.Terminals().Shells(), Agents: map[string]agentFacts{}}
		for name, b := range s.machine.Agents() {
			f.Agents[name] = factsOf(b)
		}
		return f, nil
	})
}

// serveMachine returns the handlers of calls about the computer as a whole.
func serveMachine(m machine.Machine) map[string]pipe.Handler {
	return map[string]pipe.Handler{
		"machine.sandbox": pipe.AnswerNone(func(_ context.Context,
			p *sandbox.Policy) error {
			return m.CheckSandbox(p)
		}),
		"machine.forget": pipe.AnswerNone(func(_ context.Context, session string) error { return m.Forget(session) }),
	}
}

// Serve serves a connection until it ends, ctx ends, or Serve gets a newer one, which wins.
func (s *Server) Serve(ctx context.Context, conn net.Conn) error {
	handlers := maps.Clone(s.handlers)
	peer, err := pipe.New(conn, pipe.Config{Dialed: true, Handlers: handlers, KeepAlive: s.cfg.KeepAlive,
		Log: s.cfg.Log})
	if err != nil {
		return err
	}
	handlers["machine.describe"] = s.describe(peer)
	s.mu.Lock()
	old := s.peer
	s.peer = peer
	s.mu.Unlock()
	if old != nil {
		old.Close()
	}
	s.conduits.Connected(peer)
	if s.cfg.Reporter != nil {
		reporting, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { sendReports(reporting, peer, s.cfg.Reporter) })
		defer wg.Wait()
		defer stop()
	}
	return peer.Run(ctx)
}

// Close ends everything that runs for the hub, and waits.
func (s *Server) Close() { s.conduits.Close() }
