package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Toolbox offers an agent the host's tools: the review's comments (tools_comments.go), and the
// tools of clients (tools_clients.go). It exists while the agent is open.
type Toolbox struct {
	l      *sessionRuntime
	caller core.Caller // the agent as a principal
	key    tokenKey
	ctx    context.Context
	cancel context.CancelCauseFunc

	relays []*Relay // guarded by toolboxes.mu

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when the clients' tools may have changed
}

// tokenKey is the hash of a toolbox's token. Looking it up takes the same time for every wrong
// guess, and tokens are not stored.
type tokenKey [sha256.Size]byte

// toolboxes holds the toolboxes of open agents.
type toolboxes struct {
	mu     sync.Mutex
	by     map[tokenKey]*Toolbox
	relays map[tokenKey]*Relay // the session's MCP servers
}

var errAgentClosed = errors.New("this agent's connection to the session has ended")

// giveTools creates a toolbox and its token for an agent about to be opened, and returns how to
// reach it. The token is new each time and never stored.
func (l *sessionRuntime) giveTools(s *ahp.SessionState) []agent.MCPServer {
	if l.h.cfg.ToolServers == nil {
		return nil
	}
	token := rand.Text() + rand.Text()
	name := cmp.Or(l.h.agents.Info(s.Provider).DisplayName, s.Provider)
	b := &Toolbox{l: l, caller: core.Caller{Principal: access.Agent(s.Provider, name, l.uri)},
		key: sha256.Sum256([]byte(token)), changed: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancelCause(l.ctx)
	l.takeTools()
	l.mu.Lock()
	l.tools = b
	l.mu.Unlock()
	all := &l.h.tools
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.by == nil {
		all.by = map[tokenKey]*Toolbox{}
	}
	all.by[b.key] = b
	return l.h.cfg.ToolServers(token)
}

// takeTools removes the toolbox of an agent that was closed or failed to open.
func (l *sessionRuntime) takeTools() {
	l.mu.Lock()
	b := l.tools
	l.tools = nil
	l.mu.Unlock()
	if b == nil {
		return
	}
	all := &l.h.tools
	all.mu.Lock()
	delete(all.by, b.key)
	for _, r := range b.relays {
		delete(all.relays, r.key)
	}
	all.mu.Unlock()
	b.cancel(errAgentClosed)
}

// Toolbox returns the toolbox of a token.
func (h *Host) Toolbox(token string) (*Toolbox, bool) {
	h.tools.mu.Lock()
	defer h.tools.mu.Unlock()
	b := h.tools.by[sha256.Sum256([]byte(token))]
	return b, b != nil && b.ctx.Err() == nil
}

// Session returns the session of the toolbox.
func (b *Toolbox) Session() ahp.URI { return b.l.uri }

// Context returns a context that ends with the toolbox.
func (b *Toolbox) Context() context.Context { return b.ctx }

// Refusal is why the host refuses an agent's request, and what to do instead, for the agent to
// read.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// outcomeError returns why an agent's action was not applied, or nil.
func outcomeError(out hub.Outcome, err error) error {
	switch {
	case err != nil:
		return err
	case out.Unknown:
		return errDisposed
	case out.Rejected != "":
		return Refusal(out.Rejected)
	}
	return nil
}

func refusef(format string, args ...any) error { return Refusal(fmt.Sprintf(format, args...)) }
