package host

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/hosttest"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

// restarted returns a host on a store in dir.
func restarted(t *testing.T, dir, work string) (w *world, end func()) {
	t.Helper()
	w = &world{t: t, agent: &fake{}, dir: work}
	line := hosttest.OpenTimeline(t, dir, func(tx *hub.Tx, e *hub.Envelope) { w.host.Derive(tx, e) })
	w.hub = line.Hub
	var err error
	w.host, err = New(Config{Hub: w.hub, Machine: localtest.New(t, dir), Store: line.Store, DataDir: dir, DefaultDir: work,
		Agents: map[string]agent.Backend{"fake": w.agent}})
	w.must(err)
	stop := hosttest.Run(t, w.host)
	return w, func() { stop(); line.Close() }
}

func TestScrollbackSurvivesARestart(t *testing.T) {
	t.Setenv("SHELL", "/bin/sh")
	dir, work := t.TempDir(), t.TempDir()
	w, stop := restarted(t, dir, work)
	defer stop()
	c := core.Caller{Principal: owner, ClientID: "ana-1"}
	w.must(w.host.CreateSession(w.t.Context(), c, ahp.CreateSessionParams{Channel: session}))
	w.must(w.host.Terminals.Create(w.t.Context(), c, ahp.CreateTerminalParams{Channel: term1, Claim: w.bySession()}))
	if _, err := w.host.Dispatch(w.t.Context(), c, term1, 0,
		&ahp.TerminalInputAction{Data: "echo he$((1))re\n"}); err != nil {
		t.Fatal(err)
	}
	w.waitScreen(term1, "he1re")
	stop()
	for range 2 { // also after the next restart
		w, stop = restarted(t, dir, work)
		if s := w.terminal(term1); s == nil || !exited(s) || !strings.Contains(screenText(s), "he1re") {
			t.Errorf("after a restart: %+v with %q", s, screenText(s))
		}
		if l := w.listed(); len(l) != 1 || l[0].Lifecycle.Status != ahp.TerminalLifecycleStatusExited {
			t.Errorf("root lists %+v", l)
		}
		stop()
	}
	w, stop = restarted(t, dir, work)
	defer stop()
	w.must(w.host.Terminals.Dispose(w.t.Context(), c, ahp.DisposeTerminalParams{Channel: term1}))
	stop()
	w, stop = restarted(t, dir, work)
	defer stop()
	if _, open := w.hub.Info(term1); open || len(w.listed()) != 0 {
		t.Error("a disposed terminal came back")
	}
}
