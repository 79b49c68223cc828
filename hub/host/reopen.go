package host

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// RetrySession opens the agent of a session again that failed to open, after somebody logged in or mended what was
// missing. session/ready follows, or another session/creationFailed. A new message does the same.
//
// Errors: -32001 no such session, -32602 it did not fail, -32009 not allowed.
func (h *Host) RetrySession(ctx context.Context, c Caller, session ahp.URI) error {
	info, known := h.hub.Info(session)
	if !known || info.Kind != ahp.ChannelSession || h.catalogue.alive(session) == nil || !c.Audience().Sees(info) {
		return noSession(session)
	}
	if err := mayCall(c, "createSession", rootInfo); err != nil {
		return err
	}
	if err := h.ensure(ctx, session); err != nil {
		return err
	}
	if !h.failed(session) {
		return badParams("channel: this session did not fail to start: send a message")
	}
	h.openNow(session)
	return nil
}

func (h *Host) failed(session ahp.URI) bool {
	s, ok := hub.StateOf[*ahp.SessionState](h.hub, session)
	return ok && s.Lifecycle == ahp.SessionLifecycleFailed
}

// reopened tells how opening the agent went this time, when it failed before.
func (l *live) reopened(err error) {
	if l.ctx.Err() == nil && l.h.failed(l.uri) {
		l.settle(err)
	}
}
