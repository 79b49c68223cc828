package terminals

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/hosttest"
)

// Output is saved while a program runs, since a killed host cannot save it.
func TestRunningProgramsOutputIsSaved(t *testing.T) {
	t.Setenv("SHELL", "/bin/sh")
	w := newWorld(t)
	w.open()
	for i, text := range []string{"fir1st", "sec1ond", "thi1rd"} {
		w.typeKeys("echo " + strings.Replace(text, "1", "$((1))", 1) + "\n")
		hosttest.Eventually(t, text+" on disk", func() bool {
			saved, err := w.part.readSaved(t.Context())
			hosttest.Must(t, err)
			return strings.Contains(textOf(saved[term1]), text)
		})
		later := time.Now().Add(time.Duration(i) * time.Hour)
		w.part.get(term1).whole.Store(later.UnixNano()) // from the second on, only new output is saved
		if hasExited(w.terminal(term1)) {
			t.Error("its program is gone")
		}
	}
	saved, err := w.part.readSaved(t.Context())
	hosttest.Must(t, err)
	if got, want := textOf(saved[term1]), textOf(w.terminal(term1)); got != want {
		t.Errorf("on disk is %q, not %q", got, want)
	}
}

func TestRecoveredTerminalsHaveExited(t *testing.T) {
	saved := &ahp.TerminalState{Title: "old",
		Claim:     ahp.TerminalClaim{Value: &ahp.TerminalClientClaim{ClientID: "ana-1"}},
		Lifecycle: ahp.TerminalLifecycleState{Status: ahp.TerminalLifecycleStatusRunning},
		Content:   []ahp.TerminalContentPart{{Value: &ahp.TerminalUnclassifiedPart{Value: ahp.NewText("kept\r\n")}}}}
	w := newWorld(t)
	info := hub.ChannelInfo{URI: term1, Kind: ahp.ChannelTerminal, Session: session}
	empty := *saved
	empty.Content = nil
	w.do(func(tx *hub.Tx) {
		hosttest.Must(t, tx.Open(info, &empty))
		w.part.listInRoot(tx, term1)
	})
	hosttest.Must(t, w.part.reopen(t.Context(), w.listed()[0], saved))
	s := w.terminal(term1)
	if !hasExited(s) || textOf(s) != "kept\r\n" || s.Lifecycle.ExitCode != nil {
		t.Errorf("after a restart: %+v with %q", s, textOf(s))
	}
	if l := w.listed(); len(l) != 1 || l[0].Lifecycle.Status != ahp.TerminalLifecycleStatusExited {
		t.Errorf("root lists %+v", l)
	}
	for i := range KeptExited + 2 { // those of tool calls are limited across restarts too
		info.URI = fmt.Sprintf("ahp-terminal:/call-%d", i)
		call := empty
		call.Claim = ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: session, Chat: chat,
			ToolCallID: "call"}}
		w.do(func(tx *hub.Tx) {
			hosttest.Must(t, tx.Open(info, &call))
			w.part.listInRoot(tx, info.URI)
		})
		hosttest.Must(t, w.part.reopen(t.Context(), infoOf(info.URI, &call), saved))
	}
	if n := len(w.listed()); n != KeptExited+1 {
		t.Errorf("%d terminals are listed after a restart", n)
	}
	w.do(func(tx *hub.Tx) { tx.Close(term1) })
	hosttest.Must(t, w.part.reopen(t.Context(), w.listed()[0], nil))
	if slices.ContainsFunc(w.listed(), func(i ahp.TerminalInfo) bool { return i.Resource == term1 }) {
		t.Error("a terminal that is lost is still listed")
	}
}
