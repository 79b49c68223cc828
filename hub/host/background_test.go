package host

import (
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// A command that goes on after its turn is listed in its chat until it is over, or somebody closes its terminal.
func TestACommandInTheBackground(t *testing.T) {
	for name, end := range map[string]func(*world, *client, agent.Terminal) error{
		"it ends": func(_ *world, _ *client, term agent.Terminal) error { term.Kill(); return nil },
		"it is closed": func(w *world, c *client, term agent.Terminal) error {
			return w.host.DisposeTerminal(w.t.Context(), c.caller, ahp.DisposeTerminalParams{Channel: term.URI()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, c := shellWorld(t, Config{}, hub.Config{})
			h := agentHost{w.host.liveOf(session)}
			term, err := h.Terminal(t.Context(), agent.TerminalSpec{Chat: w.chat(), Command: []string{"sleep", "1000"}})
			w.must(err)
			w.must(h.Background(t.Context(), agent.BackgroundSpec{Chat: w.chat(), Label: "sleep 1000", Command: "sleep 1000", Terminal: term}))
			list := w.chatState().BackgroundWork
			if len(list) != 1 || list[0].Value.(*ahp.ShellBackgroundWork).Terminal != term.URI() {
				t.Fatalf("the chat lists %+v", list)
			}
			w.must(end(w, c, term))
			eventually(t, "the list to be empty", func() bool { return len(w.chatState().BackgroundWork) == 0 })
		})
	}
}

// What went on when the host was killed is not listed by the next one.
func TestTheBackgroundEndsWithTheHost(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	w, stop := restarted(t, dir, work)
	defer stop()
	w.must(w.host.CreateSession(t.Context(), Caller{Principal: owner, ClientID: "ana-1"}, ahp.CreateSessionParams{Channel: session}))
	chat := w.chat()
	gone := &ahp.ShellBackgroundWork{ID: "b1", Label: "make", Command: "make", Terminal: term1, StartedAt: "2026-01-02T03:04:05.000Z"}
	w.must(w.hub.Do(func(tx *hub.Tx) {
		tx.Apply(chat, &ahp.ChatBackgroundWorkSetAction{Work: ahp.BackgroundWork{Value: gone}})
		tx.Record(bucketBackground, term1, []byte(`{"id":"b1","session":"`+session+`","chat":"`+chat+`"}`))
	}))
	stop()
	w, stop = restarted(t, dir, work)
	defer stop()
	w.must(w.host.Prepare(t.Context(), Caller{Principal: owner}, chat))
	if list := w.chatState().BackgroundWork; len(list) != 0 {
		t.Errorf("the chat lists %+v still", list)
	}
	eventually(t, "the record to be gone", func() bool {
		records, err := w.host.cfg.Store.Records(t.Context(), bucketBackground)
		return err == nil && len(records) == 0
	})
}
