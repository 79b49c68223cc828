package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

// watcher is a protocol client that mirrors the journey, like an editor next to the browser.
type watcher struct {
	*peer.Peer
	t   *testing.T
	ctx context.Context
}

func watch(t *testing.T, p *Program, name string) *watcher {
	t.Helper()
	w := &watcher{t: t, ctx: t.Context()}
	var err error
	if w.Peer, err = peer.Dial(w.ctx, p.AHP, peer.Options{Token: p.Token(), ClientID: name}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	ctx, cancel := w.patient()
	defer cancel()
	if _, err := w.Initialize(ctx, ahp.RootURI); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watcher) patient() (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.ctx, patience)
}

// mirror subscribes to a channel.
func (w *watcher) mirror(uri ahp.URI) {
	w.t.Helper()
	ctx, cancel := w.patient()
	defer cancel()
	if err := w.Subscribe(ctx, uri); err != nil {
		w.t.Fatalf("subscribe to %s: %v", uri, err)
	}
}

// wait waits until the mirrors match a condition.
func (w *watcher) wait(what string, condition func() bool) {
	w.t.Helper()
	ctx, cancel := w.patient()
	defer cancel()
	if err := w.Wait(ctx, condition); err != nil {
		w.t.Fatalf("the watcher waits for %s: %v", what, err)
	}
}

// onlySession returns the session that the journey created.
func (w *watcher) onlySession() ahp.URI {
	w.t.Helper()
	ctx, cancel := w.patient()
	defer cancel()
	var list ahp.ListSessionsResult
	if err := w.Call(ctx, "listSessions", ahp.ListSessionsParams{Channel: ahp.RootURI}, &list); err != nil ||
		len(list.Items) != 1 {
		w.t.Fatalf("sessions: %+v, %v", list.Items, err)
	}
	return list.Items[0].Resource
}

func (w *watcher) session(uri ahp.URI) *ahp.SessionState {
	s, _ := w.State(uri).(*ahp.SessionState)
	return s
}

func (w *watcher) chat(uri ahp.URI) *ahp.ChatState {
	s, _ := w.State(uri).(*ahp.ChatState)
	return s
}

func (w *watcher) root() *ahp.RootState {
	s, _ := w.State(ahp.RootURI).(*ahp.RootState)
	return s
}

// reconnect resumes after a crash.
func (w *watcher) reconnect() {
	w.t.Helper()
	ctx, cancel := w.patient()
	defer cancel()
	if _, err := w.Reconnect(ctx); err != nil {
		w.t.Fatalf("reconnect: %v", err)
	}
}

// check compares every mirror with a fresh snapshot: terminals by the text on their screen.
func (w *watcher) check() {
	w.t.Helper()
	ctx, cancel := w.patient()
	defer cancel()
	for _, uri := range w.Subscriptions() {
		if peer.KindOf(uri) != ahp.ChannelTerminal {
			if err := w.Converged(ctx, uri); err != nil {
				w.t.Error(err)
			}
			continue
		}
		var fresh ahp.State
		var failed error
		same := func() bool {
			fresh, failed = w.Fresh(ctx, uri)
			return failed == nil && screen(w.State(uri)) == screen(fresh)
		}
		if err := w.Wait(ctx, same); err != nil {
			w.t.Errorf("the terminal %s shows\n%s\nand anew (%v)\n%s\n%v", uri, screen(w.State(uri)), failed,
				screen(fresh), err)
		}
	}
	for _, v := range w.Violations() {
		w.t.Errorf("the host broke a rule of delivery: %s", v)
	}
}

// kinds returns the kinds of mirrored channels.
func (w *watcher) kinds() []ahp.ChannelKind {
	var out []ahp.ChannelKind
	for _, uri := range w.Subscriptions() {
		out = append(out, peer.KindOf(uri))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// screen returns the text of a terminal.
func screen(s ahp.State) string {
	t, ok := s.(*ahp.TerminalState)
	if !ok {
		return ""
	}
	var b strings.Builder
	for _, part := range t.Content {
		switch v := part.Value.(type) {
		case *ahp.TerminalUnclassifiedPart:
			b.WriteString(v.Value.String())
		case *ahp.TerminalCommandPart:
			b.WriteString(v.Output.String())
		}
	}
	return b.String()
}
