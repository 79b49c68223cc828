package terminals

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/hosttest"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	session ahp.URI = "ahp-session:/one"
	chat    ahp.URI = "ahp-chat:/one"
	term1   ahp.URI = "ahp-terminal:/1"
)

// world is a part on this computer with a hub, a store and a session, but without a host.
type world struct {
	t    *testing.T
	hub  *hub.Hub
	part *Part
	ana  core.Caller
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, ana: core.Caller{Principal: access.Owner("Ana"), ClientID: "ana-1"}}
	line := hosttest.OpenTimeline(t, t.TempDir(), func(tx *hub.Tx, e *hub.Envelope) {
		if e.Channel.Kind == ahp.ChannelTerminal {
			w.part.Derive(tx, e)
		}
	})
	w.hub = line.Hub
	c := core.New(core.Config{Hub: w.hub, Store: line.Store})
	computer := localtest.Reach(t, local.New())
	w.part = New(c, Config{Machine: computer.Terminals(), Files: computer.Files(), DefaultDir: t.TempDir(),
		Grace:       100 * time.Millisecond,
		Directories: func(context.Context, ahp.URI) ([]string, error) { return nil, nil },
		CheckURI:    func(ahp.URI) error { return nil }, Reconsider: func(*hub.Tx, ahp.URI) {}})
	t.Cleanup(func() {
		c.Stop()
		w.part.Close()
		c.Lanes.Close()
		c.Wait()
		line.Close()
	})
	w.do(func(tx *hub.Tx) {
		hosttest.Must(t, tx.Open(core.RootInfo, &ahp.RootState{}))
		hosttest.Must(t, tx.Open(core.SessionInfo(session), &ahp.SessionState{DefaultChat: chat}))
		c.Save(tx, &core.Entry{Summary: ahp.SessionSummary{Resource: session}})
	})
	return w
}

func (w *world) do(f func(*hub.Tx)) {
	w.t.Helper()
	hosttest.Must(w.t, w.hub.Do(f))
}

// open opens a terminal that the session holds.
func (w *world) open() {
	w.t.Helper()
	claim := ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: session, Chat: chat}}
	hosttest.Must(w.t, w.part.Create(w.t.Context(), w.ana, ahp.CreateTerminalParams{Channel: term1, Claim: claim}))
}

// typeKeys types like an HTML form.
func (w *world) typeKeys(keys string) {
	w.t.Helper()
	w.part.sendKeys(term1, &ahp.TerminalInputAction{Data: keys})
}

func (w *world) terminal(uri ahp.URI) *ahp.TerminalState {
	s, _ := hub.StateOf[*ahp.TerminalState](w.hub, uri)
	return s
}

func (w *world) listed() []ahp.TerminalInfo { return w.part.core.RootState().Terminals }

func textOf(s *ahp.TerminalState) string {
	var b strings.Builder
	if s == nil {
		return ""
	}
	for _, p := range s.Content {
		switch v := p.Value.(type) {
		case *ahp.TerminalUnclassifiedPart:
			b.WriteString(v.Value.String())
		case *ahp.TerminalCommandPart:
			b.WriteString(v.Output.String())
		}
	}
	return b.String()
}
