package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/hosttest"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

const term1 ahp.URI = "ahp-terminal:/1"

// testMachine is this computer, but the next terminal can have a program of the test.
type testMachine struct {
	machine.Terminals
	computer machine.Machine
	next     *quietProgram
	last     machine.TerminalSpec // of that program
}

func newTestMachine(t testing.TB, data string) *testMachine {
	m := localtest.New(t, data)
	return &testMachine{Terminals: m.Terminals(), computer: m}
}

// Machine returns the machine for a host.
func (m *testMachine) Machine() machine.Machine { return terminalsOf{m.computer, m} }

type terminalsOf struct {
	machine.Machine
	terminals machine.Terminals
}

func (m terminalsOf) Terminals() machine.Terminals { return m.terminals }

func (m *testMachine) Start(ctx context.Context, spec machine.TerminalSpec, emit func([]ahp.Action)) (
	machine.Terminal, error,
) {
	if m.next == nil {
		return m.Terminals.Start(ctx, spec, emit)
	}
	quiet := m.next
	quiet.emit, m.next, m.last = emit, nil, spec
	return quiet, nil
}

// quietProgram runs until it is killed. The test sends its output.
type quietProgram struct {
	machine.Terminal
	emit func([]ahp.Action)
	done chan struct{}
}

func (p *quietProgram) Write([]byte) error    { return nil }
func (p *quietProgram) Resize(int, int) error { return nil }
func (p *quietProgram) Clear()                {}
func (p *quietProgram) Done() <-chan struct{} { return p.done }
func (p *quietProgram) Kill() error           { close(p.done); return nil }

// shellWorld returns a host outside a bubble, with a session.
func shellWorld(t *testing.T, cfg Config, hubCfg hub.Config) (*world, *client) {
	t.Helper()
	t.Setenv("SHELL", "/bin/sh")
	cfg.Limits.TerminalGrace = 100 * time.Millisecond
	w := newWorld(t, cfg, hubCfg)
	t.Cleanup(w.stop)
	if hubCfg.Journal {
		journal(t, w.hub)
	}
	c := w.connect(owner, "ana-1")
	w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: session}))
	hosttest.Eventually(t, "the session", func() bool { return w.session().Lifecycle == ahp.SessionLifecycleReady })
	return w, c
}

// journal acknowledges records as durable without storing them.
func journal(t *testing.T, h *hub.Hub) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			b, err := h.Unjournaled(ctx)
			if err != nil {
				return
			}
			h.Durable(b.Upto, 0)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// send is try without a bubble.
func (c *client) send(channel ahp.URI, a ahp.Action) string {
	c.w.t.Helper()
	c.seq++
	o, err := c.w.host.Dispatch(c.w.t.Context(), c.caller, channel, c.seq, a)
	c.w.must(err)
	if o.Unknown {
		return "unknown"
	}
	return o.Rejected
}

func (w *world) terminal(uri ahp.URI) *ahp.TerminalState {
	state, _ := hub.StateOf[*ahp.TerminalState](w.hub, uri)
	return state
}

func screenText(s *ahp.TerminalState) string {
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

func (w *world) waitScreen(uri ahp.URI, want string) {
	w.t.Helper()
	hosttest.Eventually(w.t, fmt.Sprintf("%q on %s", want, uri),
		func() bool { return strings.Contains(screenText(w.terminal(uri)), want) })
}

func exited(s *ahp.TerminalState) bool {
	return s.Lifecycle.Status == ahp.TerminalLifecycleStatusExited
}

func byClient(id string) ahp.TerminalClaim {
	return ahp.TerminalClaim{Value: &ahp.TerminalClientClaim{ClientID: id}}
}

func (w *world) bySession() ahp.TerminalClaim {
	return ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: session, Chat: w.chat()}}
}

func (w *world) listed() []ahp.TerminalInfo { return w.host.core.RootState().Terminals }

// pidOf has the shell of a terminal print its process id.
func (c *client) pidOf(uri ahp.URI) (pid int) {
	c.w.t.Helper()
	c.send(uri, &ahp.TerminalInputAction{Data: "trap '' HUP; echo pid=$$=\n"})
	hosttest.Eventually(c.w.t, "the shell's pid", func() bool {
		for _, piece := range strings.Split(screenText(c.w.terminal(uri)), "pid=")[1:] {
			if n, _ := fmt.Sscanf(piece, "%d=", &pid); n == 1 {
				return true
			}
		}
		return false
	})
	return pid
}

func dead(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// skips reports whether a line of the counted output is missing.
func skips(text string) bool {
	next := 0
	for line := range strings.SplitSeq(text, "\r\n") {
		var n int
		if k, _ := fmt.Sscanf(line, "line %d", &n); k != 1 {
			continue
		}
		if next != 0 && n != next {
			return true
		}
		next = n + 1
	}
	return false
}

func (c *client) screen(uri ahp.URI) string {
	return screenText(mirrored[*ahp.TerminalState](c, uri))
}
