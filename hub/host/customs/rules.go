package customs

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

const noServers = "ahphub runs no MCP servers here"

// A request for an unknown MCP server is accepted and changes nothing.

func (p *Part) checkServerStart(r *core.Request, s *ahp.SessionState,
	a *ahp.SessionMcpServerStartRequestedAction) string {
	if p.cfg.Customs == nil {
		return noServers
	}
	m, on := findListed(s, a.ID)
	if m == nil {
		return ""
	}
	v := p.findServer(r.Info.Session, a.ID)
	switch {
	case v == nil:
		return "ahphub doesn't run this server. Start it in the client that provides it"
	case !on:
		return "this server is turned off. Turn it on first"
	case v.entry.Command == nil:
		return m.Name + " " + v.entry.Problem
	case !p.registry.mayRun(v):
		return "this server is not trusted yet, and starting it runs a program. " +
			"The owner can trust it on the session's Customizations page"
	case v.running():
		return "this server is already running"
	case p.countRunning(r.Info.Session) >= maxServers:
		return "this session already runs the maximum number of servers. Stop one first"
	}
	return ""
}

func (p *Part) checkServerStop(r *core.Request, s *ahp.SessionState,
	a *ahp.SessionMcpServerStopRequestedAction) string {
	if p.cfg.Customs == nil {
		return noServers
	}
	if m, _ := findListed(s, a.ID); m != nil && p.findServer(r.Info.Session, a.ID) == nil {
		return "ahphub doesn't run this server. Stop it in the client that provides it"
	}
	return ""
}

func (p *Part) checkServerBackground(_ *core.Request, _ *ahp.SessionState,
	_ *ahp.SessionMcpServerBackgroundRequestedAction) string {
	if p.cfg.Customs == nil {
		return noServers
	}
	return "" // the reducer ignores it if the server is not starting
}

func (p *Part) countRunning(session ahp.URI) (n int) {
	for _, v := range p.listServers(session) {
		if v.running() {
			n++
		}
	}
	return n
}

func (p *Part) startRequested(_ context.Context, e *hub.Envelope, a *ahp.SessionMcpServerStartRequestedAction) {
	if v := p.findServer(e.Channel.URI, a.ID); v != nil {
		p.startServer(e.Channel.URI, v, false)
	}
}

func (p *Part) stopRequested(_ context.Context, e *hub.Envelope, a *ahp.SessionMcpServerStopRequestedAction) {
	v := p.findServer(e.Channel.URI, a.ID)
	if v == nil {
		return
	}
	v.stop()
	if !v.running() {
		p.setServer(e.Channel.URI, v, &ahp.McpServerStoppedState{})
	}
}

// backgroundRequested lets messages proceed without a server that is still starting.
func (p *Part) backgroundRequested(_ context.Context, e *hub.Envelope,
	a *ahp.SessionMcpServerBackgroundRequestedAction) {
	v := p.findServer(e.Channel.URI, a.ID)
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.run != nil {
		if st, ok := v.state.(*ahp.McpServerStartingState); ok && st.Blocking != nil && *st.Blocking {
			v.state = &ahp.McpServerStartingState{Blocking: ahp.Ptr(false)}
		}
		v.run.release()
	}
}

// Settle schedules applying decisions to a session's servers: it stops disabled ones (AHP
// requirement 200), and reports the agent's servers to the host.
func (p *Part) Settle(session ahp.URI) {
	p.core.Lanes.Add(p.core.Ctx, lane(session), func(context.Context) { p.settleServers(session) })
}

// settleServers does the work of Settle in the session's lane.
func (p *Part) settleServers(session ahp.URI) {
	s, ok := hub.StateOf[*ahp.SessionState](p.core.Hub, session)
	if !ok {
		return
	}
	eachServer(s, func(m *ahp.McpServerCustomization, on bool) {
		v := p.findServer(session, m.ID)
		if v != nil && v.running() && !(on && p.registry.mayRun(v)) {
			v.stop()
		}
	})
	p.cfg.ServersChanged(session, p.listServed(session))
}
