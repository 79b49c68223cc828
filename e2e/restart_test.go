package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// hostAway matches a browser's own messages about requests to a killed host.
const hostAway = `net::ERR_(CONNECTION|SOCKET|EMPTY|INCOMPLETE)|WebSocket connection to '[^']*/live\?`

// ticking ends when its terminal is gone: it must not outlive a killed host.
const ticking = `i=0; while i=$((i+1)); echo "tick $i"; do sleep 0.01; done`

// A host killed while a command prints restarts with everything that was shown: the turn ends in an
// error and can be resumed, numbers keep increasing although only a terminal printed, and clients
// resume without a gap.
func TestKilledWhileACommandPrints(t *testing.T) {
	t.Parallel()
	page := OpenBrowser(t).Page()
	p := Start(t, Options{})
	page.SignIn(p)
	page.Allow(hostAway)
	w := watch(t, p, "watcher")
	chat := w.newSession(t.TempDir())
	page.Open(p.URL + "/s/" + core.ShortID(restarted))
	page.Live()

	for round := range 3 {
		w.say(chat, fmt.Sprintf("round-%d", round), ticking)
		terminal := w.printing()
		page.Says("#turns .turn:last-child", "Working")
		sent := w.LastSeq()
		p.Kill9()
		p.Restart()
		w.reconnect()
		another := watch(t, p, fmt.Sprintf("another-%d", round))
		if now := another.LastSeq(); now < sent {
			t.Fatalf("serverSeq went back from %d to %d", sent, now)
		}
		w.wait("the end of the turn", func() bool {
			return w.chat(chat).ActiveTurn == nil &&
				len(w.chat(chat).Turns) == round+1
		})
		if turn := w.chat(chat).Turns[round]; turn.State != ahp.TurnStateError {
			t.Errorf("round %d: the turn ended %q", round, turn.State)
		}
		w.wait("the end of the command", func() bool { return exited(w.State(terminal)) })
		page.Live()
		page.Says("#turns .turn:last-child", "Interrupted by a restart")
	}
	w.check()

	page.Click("#turns .turn:last-child form[action$='/resume'] button")
	w.wait("the turn to go on", func() bool { return w.chat(chat).ActiveTurn != nil })
	page.Click("#composer button[formaction$='/stop']")
	w.wait("the turn to stop", func() bool { return w.chat(chat).ActiveTurn == nil })
	page.Says("#turns .turn:last-child", "Stopped")
	page.leave()
	p.Stop()
}

// restarted is the session that newSession creates.
const restarted ahp.URI = "ahp-session:/restart"

// newSession creates a session that runs commands without asking, mirrors it, and returns its chat.
func (w *watcher) newSession(dir string) ahp.URI {
	w.t.Helper()
	ctx, cancel := w.patient()
	defer cancel()
	session := restarted
	err := w.Call(ctx, "createSession", ahp.CreateSessionParams{
		Channel: session, Provider: "shell", WorkingDirectories: []ahp.URI{"file://" + dir},
		Config: ahp.Meta{"approval": json.RawMessage(`"auto"`)},
	}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mirror(session)
	w.wait("the session", func() bool { return w.session(session).Lifecycle == ahp.SessionLifecycleReady })
	chat := w.session(session).DefaultChat
	w.mirror(chat)
	return chat
}

// say starts a turn.
func (w *watcher) say(chat ahp.URI, turn, text string) {
	w.t.Helper()
	ctx, cancel := w.patient()
	defer cancel()
	_, err := w.Dispatch(ctx, chat, &ahp.ChatTurnStartedAction{
		TurnID: turn, StartedAt: time.Now().UTC().Format(time.RFC3339),
		Message: ahp.Message{Text: text, Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// printing waits until the running terminal has printed for a while, and returns it.
func (w *watcher) printing() (terminal ahp.URI) {
	w.t.Helper()
	w.wait("a running terminal", func() bool {
		for _, info := range w.root().Terminals {
			if info.Lifecycle.Status == ahp.TerminalLifecycleStatusRunning {
				terminal = info.Resource
			}
		}
		return terminal != ""
	})
	w.mirror(terminal)
	w.wait("output", func() bool { return strings.Contains(screen(w.State(terminal)), "tick 20") })
	return terminal
}

// exited reports whether a terminal's process, or the terminal itself, is gone.
func exited(s ahp.State) bool {
	t, ok := s.(*ahp.TerminalState)
	return !ok || t.Lifecycle.Status != ahp.TerminalLifecycleStatusRunning
}
