package host

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/hosttest"
	"github.com/ahphub/ahphub/hub/host/terminals"
)

// A background command is listed in its chat until it ends or its terminal is closed.
func TestBackgroundCommandIsListedUntilItEnds(t *testing.T) {
	for name, end := range map[string]func(*world, *client, agent.Terminal) error{
		"it ends": func(_ *world, _ *client, term agent.Terminal) error { term.Kill(); return nil },
		"it is closed": func(w *world, c *client, term agent.Terminal) error {
			return w.host.Terminals.Dispose(w.t.Context(), c.caller, ahp.DisposeTerminalParams{Channel: term.URI()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, c := shellWorld(t, Config{}, hub.Config{})
			h := agentHost{w.host.turns.runtimeOf(session)}
			term, err := h.Terminal(t.Context(), agent.TerminalSpec{Chat: w.chat(), ToolCallID: "call1",
				Command: []string{"sleep", "1000"}})
			w.must(err)
			w.must(h.Background(t.Context(), agent.BackgroundSpec{Chat: w.chat(), Label: "sleep 1000",
				Command: "sleep 1000", Terminal: term}))
			list := w.chatState().BackgroundWork
			if len(list) != 1 || list[0].Value.(*ahp.ShellBackgroundWork).Terminal != term.URI() {
				t.Fatalf("the chat lists %+v", list)
			}
			st, _ := hub.StateOf[*ahp.TerminalState](w.hub, term.URI())
			if claim := st.Claim.Value.(*ahp.TerminalSessionClaim); claim.ToolCallID != "" {
				t.Errorf("the tool call still holds it: %+v", claim)
			}
			w.must(end(w, c, term))
			hosttest.Eventually(t, "the list to be empty", func() bool { return len(w.chatState().BackgroundWork) == 0 })
		})
	}
}

// A claim that names only the session detaches the agent (guide/terminals.md). Taking control and
// returning it does not.
func TestClaimWithoutToolCallDetachesTheAgent(t *testing.T) {
	w, c := shellWorld(t, Config{}, hub.Config{})
	h := agentHost{w.host.turns.runtimeOf(session)}
	term, err := h.Terminal(t.Context(), agent.TerminalSpec{Chat: w.chat(), TurnID: "t1", ToolCallID: "call1",
		Command: []string{"sh", "-c", "echo so far; read x; exec sleep 1000"}})
	w.must(err)
	type end struct {
		tail string
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		_, tail, err := term.Wait(t.Context())
		ended <- end{tail, err}
	}()
	hosttest.Eventually(t, "output", func() bool { return strings.Contains(term.(interface{ Tail() string }).Tail(), "so far") })
	claim := func() ahp.TerminalClaim {
		st, _ := hub.StateOf[*ahp.TerminalState](w.hub, term.URI())
		return st.Claim
	}
	before := claim()
	w.must(w.host.Terminals.Take(c.caller, term.URI()))
	w.must(w.host.Terminals.Release(c.caller, term.URI(), w.chat()))
	if !reflect.DeepEqual(claim(), before) {
		t.Errorf("given back it is held by %+v", claim().Value)
	}
	select {
	case <-ended:
		t.Fatal("the agent continues because a client typed")
	default:
	}
	c.send(term.URI(), &ahp.TerminalClaimedAction{Claim: w.bySession()})
	if e := <-ended; !errors.Is(e.err, agent.ErrDetached) || !strings.Contains(e.tail, "so far") {
		t.Errorf("the agent is told %q, %v", e.tail, e.err)
	}
	if s, _ := hub.StateOf[*ahp.TerminalState](w.hub, term.URI()); exited(s) {
		t.Error("the command was ended")
	}
}

// Background commands of a killed host are not listed by the next one.
func TestBackgroundEndsWithTheHost(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	w, stop := restarted(t, dir, work)
	defer stop()
	w.must(w.host.CreateSession(w.t.Context(), core.Caller{Principal: owner, ClientID: "ana-1"},
		ahp.CreateSessionParams{Channel: session}))
	chat := w.chat()
	gone := &ahp.ShellBackgroundWork{ID: "b1", Label: "make", Command: "make", Terminal: term1,
		StartedAt: "2026-01-02T03:04:05.000Z"}
	w.must(w.hub.Do(func(tx *hub.Tx) {
		tx.Apply(chat, &ahp.ChatBackgroundWorkSetAction{Work: ahp.BackgroundWork{Value: gone}})
		tx.Record(terminals.BucketBackground, term1, []byte(`{"id":"b1","session":"`+session+`","chat":"`+chat+`"}`))
	}))
	stop()
	w, stop = restarted(t, dir, work)
	defer stop()
	w.must(w.host.Prepare(w.t.Context(), core.Caller{Principal: owner}, chat))
	if list := w.chatState().BackgroundWork; len(list) != 0 {
		t.Errorf("the chat lists %+v still", list)
	}
	hosttest.Eventually(t, "the record to be gone", func() bool {
		records, err := w.host.core.Store.Records(w.t.Context(), terminals.BucketBackground)
		return err == nil && len(records) == 0
	})
}
