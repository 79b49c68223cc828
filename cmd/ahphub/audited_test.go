package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/ahphub/ahphub/handlers/rpc"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/people"
)

// taken is a host that takes everything, or refuses it.
type taken struct {
	rpc.Host
	rejected string
	err      error
}

func (h *taken) Dispatch(context.Context, host.Caller, ahp.URI, int64, ahp.Action) (hub.Outcome, error) {
	return hub.Outcome{Rejected: h.rejected}, h.err
}

type events struct {
	people.Store
	n int
}

func (e *events) Add(context.Context, string, string, []byte) error { e.n++; return nil }

func TestWhatClientsDoIsWrittenDown(t *testing.T) {
	now := time.Unix(1e9, 0)
	kept := &events{}
	inner := &taken{}
	a := newAudited(inner, people.Audit{Store: kept}, slog.New(slog.DiscardHandler))
	a.now = func() time.Time { return now }
	ana := host.Caller{Principal: access.Owner("Ana")}
	do := func(action ahp.Action, want int, why string) {
		t.Helper()
		kept.n = 0
		_, _ = a.Dispatch(t.Context(), ana, "ahp-terminal:/1", 1, action)
		if kept.n != want {
			t.Errorf("%s: %d lines were written, %d were expected", why, kept.n, want)
		}
	}
	do(&ahp.ChatToolCallConfirmedAction{}, 1, "an approval")
	do(&ahp.SessionTitleChangedAction{}, 0, "a title")
	do(&ahp.TerminalInputAction{Data: "secret"}, 1, "the first key")
	do(&ahp.TerminalInputAction{Data: "secret"}, 0, "the second key")
	now = now.Add(2 * time.Minute)
	do(&ahp.TerminalInputAction{Data: "secret"}, 1, "a key much later")
	inner.rejected = "not you"
	do(&ahp.ChatToolCallConfirmedAction{}, 0, "what was refused")
	inner.rejected, inner.err = "", errors.New("broken")
	do(&ahp.ChatToolCallConfirmedAction{}, 0, "what went wrong")
}
