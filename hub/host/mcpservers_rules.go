package host

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// What clients ask of MCP servers. An action on an unknown one changes nothing.

func (h *Host) checkServerStart(r *core.Request, s *ahp.SessionState, a *ahp.SessionMcpServerStartRequestedAction) string {
	if h.cfg.Customize.Servers == nil {
		return noServers
	}
	m, on := listedServer(s, a.ID)
	if m == nil {
		return ""
	}
	v := h.serverOf(r.Info.Session, a.ID)
	switch {
	case v == nil:
		return "this server is not the host's: start it where it comes from"
	case !on:
		return "this server is switched off: switch it on first"
	case v.entry.Command == nil:
		return m.Name + " " + v.entry.Problem
	case !h.customs.trusts(v):
		return "nobody has trusted this server yet, and starting it runs a program: the owner looks at it on the session's page of customizations"
	case v.running():
		return "this server runs already"
	case h.runningServers(r.Info.Session) >= mostServers:
		return "as many servers of this session run as may: stop one first"
	}
	return ""
}

func (h *Host) checkServerStop(r *core.Request, s *ahp.SessionState, a *ahp.SessionMcpServerStopRequestedAction) string {
	if h.cfg.Customize.Servers == nil {
		return noServers
	}
	if m, _ := listedServer(s, a.ID); m != nil && h.serverOf(r.Info.Session, a.ID) == nil {
		return "this server is not the host's: stop it where it comes from"
	}
	return ""
}

func (h *Host) checkServerBackground(r *core.Request, _ *ahp.SessionState, _ *ahp.SessionMcpServerBackgroundRequestedAction) string {
	if h.cfg.Customize.Servers == nil {
		return noServers
	}
	return "" // the reducer knows whether there is something to do
}

func (h *Host) runningServers(session ahp.URI) (n int) {
	for _, v := range h.serversOf(session) {
		if v.running() {
			n++
		}
	}
	return n
}

func (h *Host) serverStartRequested(_ context.Context, e *hub.Envelope, a *ahp.SessionMcpServerStartRequestedAction) {
	if v := h.serverOf(e.Channel.URI, a.ID); v != nil {
		h.startServer(e.Channel.URI, v, false)
	}
}

func (h *Host) serverStopRequested(_ context.Context, e *hub.Envelope, a *ahp.SessionMcpServerStopRequestedAction) {
	v := h.serverOf(e.Channel.URI, a.ID)
	if v == nil {
		return
	}
	v.stop()
	if !v.running() {
		h.setServer(e.Channel.URI, v, &ahp.McpServerStoppedState{})
	}
}

// serverBackgrounded lets messages go on without a server that starts still.
func (h *Host) serverBackgrounded(_ context.Context, e *hub.Envelope, a *ahp.SessionMcpServerBackgroundRequestedAction) {
	v := h.serverOf(e.Channel.URI, a.ID)
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.run != nil {
		if st, ok := v.state.(*ahp.McpServerStartingState); ok && yes(st.Blocking) {
			v.state = &ahp.McpServerStartingState{Blocking: ahp.Ptr(false)}
		}
		v.run.release()
	}
}

// settleServers brings servers to what was decided: one that is switched off stops (AHP requirement 200), and an agent
// that was given others is opened anew at its next turn.
func (h *Host) settleServers(session ahp.URI) {
	s, ok := hub.StateOf[*ahp.SessionState](h.core.Hub, session)
	if !ok {
		return
	}
	listedServers(s, func(m *ahp.McpServerCustomization, on bool) {
		v := h.serverOf(session, m.ID)
		if v != nil && v.running() && !(on && h.customs.trusts(v)) {
			v.stop()
		}
	})
	if l := h.liveIf(session); l != nil && l.servesOthers(h.toServe(session)) {
		h.reopenAgent(session)
	}
}
