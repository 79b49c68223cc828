package remote

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/pipe"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// kindServer is the kind of the conduit of an MCP server.
const kindServer = "server"

// The messages about customizations.
type (
	customCall struct {
		Root machine.CustomRoot
		Path string
		N    int64
	}
	foundPlugin struct {
		Group machine.CustomGroup
		Is    bool
	}
	foundText struct {
		Text string
		Cut  bool
	}
	serverSpec struct {
		Name    string
		Command machine.ServerCommand
		Token   string
		Stderr  bool // the hub reads it
		Sandbox *sandbox.Policy
	}
	serverCall struct {
		Method string
		Params json.RawMessage
	}
)

// capabilities are the capabilities that a server may announce.
var capabilities = []string{"tools", "resources", "prompts", "completions"}

// customs implements machine.Customs.
type customs struct{ m *Machine }

func (c customs) Look(ctx context.Context, root machine.CustomRoot) machine.CustomFound {
	out, err := call[machine.CustomFound](ctx, c.m, "customs.look", customCall{Root: root})
	if err != nil {
		c.m.cfg.Log.Info("customizations of another computer were not read", "dir", root.Dir, "err", err)
	}
	return out
}

func (c customs) ReadPlugin(ctx context.Context, root machine.CustomRoot, dir string) (machine.CustomGroup, bool) {
	out, err := call[foundPlugin](ctx, c.m, "customs.plugin", customCall{Root: root, Path: dir})
	return out.Group, out.Is && err == nil
}

func (c customs) ReadText(ctx context.Context, root machine.CustomRoot, path string, n int64) (string, bool, error) {
	out, err := call[foundText](ctx, c.m, "customs.text", customCall{Root: root, Path: path, N: n})
	return out.Text, out.Cut, err
}

// Follow follows a root across the computer's connections; each new connection counts as a change.
func (c customs) Follow(root machine.CustomRoot, changed func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	begun := make(chan struct{})
	go c.follow(ctx, root, changed, begun)
	<-begun
	return cancel
}

func (c customs) follow(ctx context.Context, root machine.CustomRoot, changed func(), begun chan<- struct{}) {
	p, err := c.m.online()
	for first := true; ; first = false {
		var s *pipe.Stream
		if err == nil {
			begin, cancel := context.WithTimeout(ctx, patience)
			s, err = openStream(begin, c.m, "customs.follow", customCall{Root: root})
			cancel()
		}
		if first {
			close(begun)
		} else if err == nil {
			changed()
		}
		if err == nil {
			stop := context.AfterFunc(ctx, s.Close)
			for s.Receive(&struct{}{}) == nil {
				changed()
			}
			stop()
			s.Close()
		}
		if p, err = c.m.connected(ctx, p); err != nil {
			return
		}
	}
}

func (c customs) Dial(ctx context.Context, spec machine.ServerSpec) (machine.ServerConn, error) {
	if _, err := c.m.online(); err != nil {
		return nil, err
	}
	conduit, err := c.m.conduits.Open(kindServer)
	if err != nil {
		return nil, err
	}
	s := &server{talk: pipe.NewTalk(conduit, c.m.cfg.Log), changed: make(chan struct{}, 1), done: make(chan struct{}),
		has: map[string]bool{}}
	go s.run(spec.Stderr)
	has, err := pipe.Ask[[]string](ctx, s.talk, "dial", serverSpec{spec.Name, spec.Command, spec.Token,
		spec.Stderr != nil, spec.Sandbox})
	if err != nil {
		s.talk.Close(nil)
		return nil, err
	}
	for _, capability := range has {
		s.has[capability] = true
	}
	return s, nil
}

// server implements machine.ServerConn.
type server struct {
	talk    *pipe.Talk
	has     map[string]bool
	changed chan struct{}
	done    chan struct{}
	err     error
}

func (s *server) run(stderr func(string)) {
	s.err = s.talk.Run(context.Background(), map[string]pipe.TalkHandler{
		"changed": pipe.Take(func(context.Context, struct{}) error {
			select {
			case s.changed <- struct{}{}:
			default:
			}
			return nil
		}),
		"stderr": pipe.Take(func(_ context.Context, text string) error {
			if stderr != nil {
				stderr(text)
			}
			return nil
		}),
	})
	close(s.done)
}

func (s *server) Do(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return pipe.Ask[json.RawMessage](ctx, s.talk, "do", serverCall{method, params})
}

func (s *server) Has(capability string) bool { return s.has[capability] }

func (s *server) Changed() <-chan struct{} { return s.changed }

func (s *server) Done() <-chan struct{} { return s.done }

func (s *server) Err() error { return s.err }

func (s *server) Close() {
	_, _ = pipe.AskAttached[struct{}](context.Background(), s.talk, "close", struct{}{}) // ended, or offline
	s.talk.Close(nil)
	<-s.done
}

// serveCustoms returns the handlers of calls about customizations.
func serveCustoms(c machine.Customs) map[string]pipe.Handler {
	return map[string]pipe.Handler{
		"customs.look": pipe.Answer(func(ctx context.Context, q customCall) (machine.CustomFound, error) {
			return c.Look(ctx, q.Root), nil
		}),
		"customs.plugin": pipe.Answer(func(ctx context.Context, q customCall) (out foundPlugin, err error) {
			out.Group, out.Is = c.ReadPlugin(ctx, q.Root, q.Path)
			return out, nil
		}),
		"customs.text": pipe.Answer(func(ctx context.Context, q customCall) (out foundText, err error) {
			out.Text, out.Cut, err = c.ReadText(ctx, q.Root, q.Path, q.N)
			return out, err
		}),
		"customs.follow": func(ctx context.Context, s *pipe.Stream) error { return serveFollow(ctx, c, s) },
	}
}

func serveFollow(ctx context.Context, c machine.Customs, s *pipe.Stream) error {
	var q customCall
	if err := s.Receive(&q); err != nil {
		return err
	}
	news := make(chan struct{}, 1)
	stop := c.Follow(q.Root, func() {
		select {
		case news <- struct{}{}:
		default:
		}
	})
	defer stop()
	for {
		if err := s.Send(struct{}{}); err != nil {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// serveServer connects to an MCP server for the hub, and keeps the connection.
func serveServer(ctx context.Context, c machine.Customs, conduit *pipe.Conduit, log *slog.Logger) {
	s := &servedServer{customs: c, talk: pipe.NewTalk(conduit, log)}
	_ = s.talk.Run(ctx, map[string]pipe.TalkHandler{ // the hub is done with it, or gone
		"dial": pipe.Do(func(call context.Context, spec serverSpec) ([]string, error) {
			return s.dial(ctx, call,
				spec)
		}),
		"do": pipe.Do(func(ctx context.Context, q serverCall) (json.RawMessage, error) {
			conn := s.get()
			if conn == nil {
				return nil, errors.New("this server was not started")
			}
			return conn.Do(ctx, q.Method, q.Params)
		}),
		"close": pipe.Do(func(context.Context, struct{}) (struct{}, error) {
			if conn := s.get(); conn != nil {
				conn.Close()
			}
			return struct{}{}, nil
		}),
	})
	conduit.Close(nil)
	if conn := s.get(); conn != nil {
		conn.Close()
	}
}

type servedServer struct {
	customs machine.Customs
	talk    *pipe.Talk

	mu   sync.Mutex
	conn machine.ServerConn // once dialed
}

// get returns the connection, or nil before it is dialed.
func (s *servedServer) get() machine.ServerConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

func (s *servedServer) dial(ctx, call context.Context, spec serverSpec) ([]string, error) {
	var stderr func(string)
	if spec.Stderr {
		stderr = func(text string) { _ = s.talk.Tell(ctx, "stderr", text) } // the hub is gone
	}
	conn, err := s.customs.Dial(call, machine.ServerSpec{Name: spec.Name, Command: spec.Command, Token: spec.Token,
		Stderr: stderr, Sandbox: spec.Sandbox})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	again := s.conn != nil
	if !again {
		s.conn = conn
	}
	s.mu.Unlock()
	if again {
		conn.Close()
		return nil, errors.New("this server was started already")
	}
	go func() {
		for {
			select {
			case <-conn.Changed():
				_ = s.talk.Tell(ctx, "changed", struct{}{}) // the hub is gone
			case <-conn.Done():
				s.talk.Close(conn.Err())
				return
			}
		}
	}()
	has := []string{}
	for _, capability := range capabilities {
		if conn.Has(capability) {
			has = append(has, capability)
		}
	}
	return has, nil
}
