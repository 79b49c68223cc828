package host

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// RetrySession reopens a session's agent that failed to open, for example after a login.
// session/ready follows, or another session/creationFailed. A new message has the same effect.
//
// Errors: -32001 no such session, -32602 the agent did not fail, -32009 not allowed.
func (h *Host) RetrySession(ctx context.Context, c core.Caller, session ahp.URI) error {
	info, known := h.core.Hub.Info(session)
	if !known || info.Kind != ahp.ChannelSession || h.core.Catalogue.Alive(session) == nil || !c.Audience().Sees(info) {
		return core.NoSession(session)
	}
	if err := c.MayCall("createSession", core.RootInfo); err != nil {
		return err
	}
	if err := h.core.Ensure(ctx, session); err != nil {
		return err
	}
	if !h.hasFailed(session) {
		return core.BadParams("channel: this session started. Send a message instead")
	}
	h.openNow(session)
	return nil
}

// hasFailed reports whether opening a session's agent failed.
func (h *Host) hasFailed(session ahp.URI) bool {
	s, ok := hub.StateOf[*ahp.SessionState](h.core.Hub, session)
	return ok && s.Lifecycle == ahp.SessionLifecycleFailed
}

// settleReopened reports the result of opening the agent again after a failure.
func (l *sessionRuntime) settleReopened(err error) {
	if l.ctx.Err() == nil && l.h.hasFailed(l.uri) {
		l.settle(err)
	}
}
