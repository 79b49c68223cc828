package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// Finding is the result of a short test run of a program.
type Finding struct {
	Version string // its own name and release
	Login   string // how to log in, if it needs a login first
	Models  int
}

// Probe starts a program in a temporary directory, initializes it, makes a session, and stops it.
// The error says what is wrong and what to do.
func Probe(ctx context.Context, prog Program, limits Limits) (Finding, error) {
	dir, err := os.MkdirTemp("", "ahphub-probe-")
	if err != nil {
		return Finding{}, err
	}
	defer os.RemoveAll(dir)
	b := Backend{Program: prog, Limits: limits}
	s, err := newSession(b, agent.Spec{Dirs: []string{dir}, Data: dir, Config: func(string) string { return "" },
		Host: probeHost{},
		Log:  slog.New(slog.DiscardHandler)})
	if err != nil {
		return Finding{}, err
	}
	defer s.Close()
	p, err := s.acquire(ctx)
	if err != nil {
		return Finding{}, err
	}
	defer s.release()
	about := p.about.AgentInfo
	f := Finding{Version: nameOf(about.Title, nameOf(about.Name, prog.title()))}
	if about.Version != "" {
		f.Version += " " + about.Version
	}
	return f, s.try(ctx, p, &f)
}

func (s *session) try(ctx context.Context, p *peer, f *Finding) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limits.Start, errSlow)
	defer cancel()
	var made sessionResult
	err := p.call(ctx, "session/new", s.params(p, ""), &made)
	if p.logIn(ctx, err) {
		err = p.call(ctx, "session/new", s.params(p, ""), &made)
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code == codeLogin {
		f.Login = p.needsLogin(e)
		return nil
	}
	if ctx.Err() != nil && context.Cause(ctx) == errSlow {
		return fmt.Errorf("%s created no session in time%s", s.prog.title(), p.quoteOutput())
	}
	if err != nil {
		return p.explain(err)
	}
	for _, d := range settingsOf(made.settings) {
		if d.category == "model" {
			f.Models = len(d.choices)
		}
	}
	return nil
}

// probeHost is the host of a program in a test run: no turn runs, so it gets no requests.
type probeHost struct{ agent.Host }

func (probeHost) Learn(agent.Offer) {}
