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

// Toolbox is what the agent of one session may use of the host besides its turns: the
// review's comments (tools_comments.go), and the tools that clients offer
// (tools_clients.go). It lasts as long as the agent is open.
type Toolbox struct {
	l      *live
	caller core.Caller // the agent, as the host knows it
	key    tokenKey
	ctx    context.Context
	cancel context.CancelCauseFunc

	relays []*Relay // guarded by toolboxes.mu

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when the clients' tools may be others
}

// tokenKey finds a toolbox by the hash of its token: looking one up takes as long for a
// guess that is nearly right as for any other, and no token lies in the table.
type tokenKey [sha256.Size]byte

// toolboxes are those of the agents that are open.
type toolboxes struct {
	mu     sync.Mutex
	by     map[tokenKey]*Toolbox
	relays map[tokenKey]*Relay // the session's MCP servers
}

var errAgentClosed = errors.New("this agent's connection to the session has ended")

// giveTools makes a toolbox and its token for an agent that is about to be opened, and says
// how the agent reaches it. The token is new each time and kept nowhere.
func (l *live) giveTools(s *ahp.SessionState) []agent.MCPServer {
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

// takeTools ends the toolbox of an agent that was closed, or did not open.
func (l *live) takeTools() {
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

// Toolbox finds what a token opens.
func (h *Host) Toolbox(token string) (*Toolbox, bool) {
	h.tools.mu.Lock()
	defer h.tools.mu.Unlock()
	b := h.tools.by[sha256.Sum256([]byte(token))]
	return b, b != nil && b.ctx.Err() == nil
}

// Session is the one the toolbox belongs to.
func (b *Toolbox) Session() ahp.URI { return b.l.uri }

// Context ends with the toolbox.
func (b *Toolbox) Context() context.Context { return b.ctx }

// Refusal is why the host does not do what an agent asks of it, and what to do instead; it
// is for the agent to read.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// outcomeError returns why an action that an agent had dispatched was not applied, nil when it was.
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
