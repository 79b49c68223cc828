package peer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/hub/ahp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func title(s ahp.State) string {
	if s, ok := s.(*ahp.SessionState); ok {
		return s.Title
	}
	return ""
}

func rename(to string) ahp.Action { return &ahp.SessionTitleChangedAction{Title: to} }

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// connected returns a peer that mirrors the fake host's session.
func connected(t *testing.T, url string, opts Options) *Peer {
	t.Helper()
	ctx := within(t)
	p, err := Dial(ctx, url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Drop)
	if _, err := p.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.Subscribe(ctx, session); err != nil {
		t.Fatal(err)
	}
	return p
}

func waitTitle(t *testing.T, p *Peer, want string) {
	t.Helper()
	if err := p.Wait(within(t), func() bool { s, _ := p.Confirmed(session); return title(s) == want }); err != nil {
		t.Fatalf("waiting for the title %q: %v", want, err)
	}
}

func noViolations(t *testing.T, p *Peer) {
	t.Helper()
	if v := p.Violations(); len(v) > 0 {
		t.Errorf("violations: %s", strings.Join(v, "; "))
	}
}

func TestMirrorsFollowEachOther(t *testing.T) {
	_, url := startHost(t)
	a, b := connected(t, url, Options{ClientID: "a"}), connected(t, url, Options{ClientID: "b"})
	if _, err := a.Dispatch(within(t), session, rename("By a")); err != nil {
		t.Fatal(err)
	}
	waitTitle(t, a, "By a")
	waitTitle(t, b, "By a")
	if a.LastSeq() != 1 || a.Unanswered() != 0 {
		t.Errorf("a is at %d with %d unanswered", a.LastSeq(), a.Unanswered())
	}
	if err := b.Converged(within(t), session); err != nil {
		t.Error(err)
	}
	noViolations(t, a)
	noViolations(t, b)
}

func TestOwnActionsShowBeforeTheAnswer(t *testing.T) {
	h, url := startHost(t)
	h.do(func() { h.deaf = true })
	p := connected(t, url, Options{})
	if _, err := p.Dispatch(within(t), session, rename("Mine")); err != nil {
		t.Fatal(err)
	}
	confirmed, _ := p.Confirmed(session)
	if title(p.State(session)) != "Mine" || title(confirmed) != "Start" {
		t.Errorf("shown %q, confirmed %q", title(p.State(session)), title(confirmed))
	}
	h.do(func() { h.publish(&ahp.SessionActivityChangedAction{Activity: "busy"}, nil) })
	err := p.Wait(within(t), func() bool { return p.State(session).(*ahp.SessionState).Activity == "busy" })
	if err != nil || title(p.State(session)) != "Mine" {
		t.Errorf("after another's action: %q, %v", title(p.State(session)), err)
	}
}

func TestRejectionRevertsAction(t *testing.T) {
	h, url := startHost(t)
	h.do(func() { h.reject = "not now" })
	p := connected(t, url, Options{})
	if _, err := p.Dispatch(within(t), session, rename("Mine")); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(within(t), func() bool { return p.Unanswered() == 0 }); err != nil {
		t.Fatal(err)
	}
	if got := title(p.State(session)); got != "Start" {
		t.Errorf("the refused title %q stays", got)
	}
	noViolations(t, p)
}

func TestReconnect(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		h, url := startHost(t)
		p := connected(t, url, Options{})
		p.Drop()
		h.do(func() {
			h.snapshot = snapshot
			h.publish(rename("While away"), nil)
		})
		if err := p.Wait(within(t), func() bool { return false }); !errors.Is(err, ErrClosed) {
			t.Errorf("waiting without a connection: %v", err)
		}
		if _, err := p.Dispatch(within(t), session, &ahp.SessionActivityChangedAction{Activity: "queued"}); !errors.Is(
			err, ErrClosed) {
			t.Errorf("dispatching without a connection: %v", err)
		}
		if _, err := p.Reconnect(within(t)); err != nil {
			t.Fatal(err)
		}
		waitTitle(t, p, "While away")
		if err := p.Wait(within(t), func() bool { return p.Unanswered() == 0 }); err != nil {
			t.Errorf("the action from before was not sent again: %v", err)
		}
		if err := p.Converged(within(t), session); err != nil {
			t.Error(err)
		}
		noViolations(t, p)
	}
}

func TestReconnectDropsWhatIsMissing(t *testing.T) {
	_, url := startHost(t)
	p := connected(t, url, Options{})
	p.mu.Lock()
	p.mirrors["ahp-chat:/gone"] = &mirror{kind: ahp.ChannelChat, typed: &ahp.ChatState{}}
	p.mu.Unlock()
	if _, err := p.Reconnect(within(t)); err != nil {
		t.Fatal(err)
	}
	if got := p.Subscriptions(); len(got) != 1 || got[0] != session {
		t.Errorf("subscribed to %v", got)
	}
}

func TestViolationsAreSeen(t *testing.T) {
	cases := map[string]struct {
		want string
		emit func(h *fakeHost)
	}{
		"backwards":    {"serverSeq 5 after 9", func(h *fakeHost) { h.emit(env(session, 9)); h.emit(env(session, 5)) }},
		"unsubscribed": {"not subscribed", func(h *fakeHost) { h.emit(env("ahp-chat:/x", 9)) }},
		"not newer":    {"not newer than its snapshot", func(h *fakeHost) { h.emit(env(session, 3)) }},
		"no channel": {"without a channel", func(h *fakeHost) {
			for c := range h.conns {
				c.send(map[string]any{"jsonrpc": "2.0", "method": "root/progress", "params": map[string]any{}})
			}
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h, url := startHost(t)
			h.do(func() { h.seq = 4 })
			p := connected(t, url, Options{})
			h.do(func() { c.emit(h) })
			err := p.Wait(within(t), func() bool {
				return strings.Contains(strings.Join(p.Violations(), "\n"),
					c.want)
			})
			if err != nil {
				t.Errorf("%v; violations %v", err, p.Violations())
			}
		})
	}
}

func env(channel ahp.URI, seq int64) ahp.ActionEnvelope {
	return ahp.ActionEnvelope{Channel: channel, Action: rename("x"), ServerSeq: seq}
}

func TestAfterUnsubscribeNothingMayCome(t *testing.T) {
	h, url := startHost(t)
	p := connected(t, url, Options{})
	if err := p.Unsubscribe(within(t), session); err != nil {
		t.Fatal(err)
	}
	if p.State(session) != nil {
		t.Error("the mirror is still there")
	}
	h.do(func() {
		for c := range h.conns {
			c.subscribed = true
		}
		h.publish(rename("late"), nil)
	})
	if err := p.Wait(within(t), func() bool { return len(p.Violations()) == 1 }); err != nil {
		t.Error(err)
	}
}

func TestErrorsOfTheHost(t *testing.T) {
	h, url := startHost(t)
	var frames int
	p := connected(t, url, Options{Token: "secret", Cookie: "c=1", OnFrame: func([]byte) { frames++ }})
	var e *ahp.Error
	if err := p.Call(within(t), "nonsense", struct{}{}, nil); !errors.As(err, &e) || e.Code != ahp.CodeMethodNotFound {
		t.Errorf("got %v", err)
	}
	h.do(func() {
		if h.upgrade.Get("Authorization") != "Bearer secret" || h.upgrade.Get("Cookie") != "c=1" {
			t.Errorf("the upgrade carried %v", h.upgrade)
		}
	})
	if err := p.Close(); err != nil || frames != p.Frames() || frames == 0 {
		t.Errorf("closing: %v, %d frames seen of %d", err, frames, p.Frames())
	}
	if _, err := Dial(within(t), url+"?refuse=1", Options{}); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("a refused upgrade gives %v", err)
	}
}

func TestKindOf(t *testing.T) {
	for uri, want := range map[ahp.URI]ahp.ChannelKind{
		"ahp-root://": ahp.ChannelRoot, "ahp-session:/1": ahp.ChannelSession, "copilot:/1": ahp.ChannelSession,
		"ahp-session:/1/annotations": ahp.ChannelAnnotations, "ahp-changeset:/1/turn/2": ahp.ChannelChangeset,
		"ahp-automations://": ahp.ChannelAutomations, "ahp-automation-run:/1": ahp.ChannelAutomationRun,
		"ahp-otlp:/logs": ahp.ChannelOtlp,
	} {
		if got := KindOf(uri); got != want {
			t.Errorf("%s is a %s channel, want %s", uri, got, want)
		}
	}
}
