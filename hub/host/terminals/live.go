package terminals

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/texts"
)

// noSandbox ends the title of a terminal outside of its session's sandbox.
const noSandbox = " (no sandbox)"

const (
	mostStep = 32      // actions of a terminal in one step of the timeline
	mostTail = 8 << 10 // bytes of output that an agent gets at the end
)

// term is a terminal whose program is running or has exited.
type term struct {
	part *Part
	info hub.ChannelInfo
	kind
	secret bool            // the program has secrets of the owner
	named  atomic.Bool     // a person chose the title, so the program cannot change it
	ctx    context.Context // ends when the terminal is disposed
	cancel context.CancelFunc
	proc   atomic.Pointer[machine.Terminal]
	dirty  atomic.Bool  // has output since the last save
	due    atomic.Int64 // earliest next save, in ns since 1970
	whole  atomic.Int64 // earliest next full save

	// guarded by the hub's lock
	applying bool                      // the actions being applied come from the program
	call     *ahp.TerminalSessionClaim // the tool call that waits for the program, or nil
	detached chan struct{}             // closed when it should stop waiting
	since    []ahp.Action              // output since the last full save; only the last mostPrinted bytes
	printed  int                       // size of since in bytes

	hold holding

	mu   sync.Mutex
	tail []byte
}

// kind describes the use of a terminal.
type kind struct {
	agents     bool // an agent's tool call runs in it
	given      bool // its program has the session's secrets
	unconfined bool // the program runs outside the session's sandbox: only the owner may start it and type in it
}

// start opens a terminal's channel and starts its program.
func (p *Part) start(info hub.ChannelInfo, claim ahp.TerminalClaim, spec machine.TerminalSpec, how kind) (
	*term, error,
) {
	named := spec.Title != ""
	if info.Session != "" {
		spec.Session = core.ShortID(info.Session)
	}
	spec.Title, spec.Grace, spec.Pass = p.shellTitle(spec), p.cfg.Grace, p.cfg.Pass
	if spec.Cols == 0 && spec.Rows == 0 {
		spec.Cols, spec.Rows = machine.DefaultCols, machine.DefaultRows
	}
	if p.cfg.Sandbox != nil {
		var err error
		if spec.Sandbox, err = p.cfg.Sandbox(p.core.Ctx, info.Session); err != nil {
			return nil, core.BadParams("%s", err)
		}
	}
	secret, err := p.addSecrets(info.Session, &spec, how.given)
	if err != nil {
		return nil, err
	}
	if how.unconfined = how.unconfined && spec.Sandbox != nil; how.unconfined {
		spec.Sandbox = nil
		if named = true; !how.agents { // the program cannot remove noSandbox from the title
			spec.Title = texts.CutBytes(spec.Title, core.MaxTitle-len(noSandbox)) + noSandbox
		}
	}
	t := &term{part: p, info: info, kind: how, secret: secret, detached: make(chan struct{})}
	if c, ok := claim.Value.(*ahp.TerminalSessionClaim); ok && how.agents {
		t.call = c
	}
	t.named.Store(named)
	t.ctx, t.cancel = context.WithCancel(p.core.Ctx)
	if err := p.add(t); err != nil {
		return nil, err
	}
	if err := p.open(t, claim, spec); err != nil {
		p.remove(info.URI)
		return nil, err
	}
	program, err := p.cfg.Machine.Start(p.core.Ctx, spec, t.emit)
	if err != nil {
		return nil, p.giveUp(t, err)
	}
	t.proc.Store(&program)
	if t.ctx.Err() != nil { // disposed while starting
		t.kill()
	}
	p.saving.Do(func() { p.core.Go(p.keepSaving) })
	return t, nil
}

// program returns the terminal's program, also if it has exited; nil before the start and for
// terminals of an earlier run.
func (t *term) program() machine.Terminal {
	if p := t.proc.Load(); p != nil {
		return *p
	}
	return nil
}

// giveUp closes a terminal whose program failed to start.
func (p *Part) giveUp(t *term, cause error) error {
	if err := p.dispose(t.info.URI); err != nil {
		p.core.Log.Warn("a terminal that did not start stays in the list", "terminal", t.info, "err", err)
	}
	return core.BadParams("%s", cause)
}

// open opens the channel of a terminal.
func (p *Part) open(t *term, claim ahp.TerminalClaim, spec machine.TerminalSpec) error {
	state := &ahp.TerminalState{
		Title:     spec.Title,
		Cwd:       core.FileURI(spec.Dir),
		Cols:      ahp.Ptr(int64(spec.Cols)),
		Rows:      ahp.Ptr(int64(spec.Rows)),
		Content:   []ahp.TerminalContentPart{},
		Lifecycle: ahp.TerminalLifecycleState{Status: ahp.TerminalLifecycleStatusRunning},
		Claim:     claim,
		IsPty:     ahp.Ptr(true),
	}
	var taken error
	err := p.core.Hub.Do(func(tx *hub.Tx) {
		if taken = tx.Open(t.info, state); taken == nil {
			t.hold.setHolder(p, t, claim)
			p.listInRoot(tx, t.info.URI)
		}
	})
	if err == nil && taken != nil {
		err = ahp.Errorf(ahp.CodeAlreadyExists, "%s is taken. Choose another URI", t.info.URI)
	}
	return err
}

// emit puts the program's output into the timeline. While the host is read-only, emit and thereby
// the program wait, so that nothing is lost.
func (t *term) emit(actions []ahp.Action) {
	t.dirty.Store(true)
	if t.named.Load() {
		actions = slices.DeleteFunc(actions, isTitle)
	}
	over := false
	for step := range slices.Chunk(actions, mostStep) {
		for _, a := range step {
			over = t.keepTail(a) || over
		}
		err := t.part.core.Do(t.ctx, func(tx *hub.Tx) {
			t.applying = true
			for _, a := range step {
				tx.Apply(t.info.URI, a)
			}
			t.applying = false
		})
		if err != nil {
			return // disposed, or the host stops
		}
	}
	if over {
		t.saveWhole()
		t.part.retain(t)
	}
}

func isTitle(a ahp.Action) bool {
	_, ok := a.(*ahp.TerminalTitleChangedAction)
	return ok
}

// keepTail keeps the end of the output for the agent, and reports whether the action is the
// program's exit.
func (t *term) keepTail(a ahp.Action) (exit bool) {
	switch a := a.(type) {
	case *ahp.TerminalDataAction:
		if t.agents {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.tail = append(t.tail, a.Data[max(0, len(a.Data)-mostTail):]...)
			if len(t.tail) > 2*mostTail {
				t.tail = append(t.tail[:0], t.tail[len(t.tail)-mostTail:]...)
			}
		}
	case *ahp.TerminalClearedAction: // the next action repeats the tail
		t.mu.Lock()
		defer t.mu.Unlock()
		t.tail = t.tail[:0]
	case *ahp.TerminalExitedAction:
		return true
	}
	return false
}

func (t *term) kill() {
	t.cancel()
	t.hold.close()
	program := t.program()
	if program == nil {
		return
	}
	if err := program.Kill(); err != nil {
		t.part.core.Log.Warn("a terminal's program does not end", "terminal", t.info, "err", err)
		return
	}
	<-program.Done()
}

// retain limits the exited terminals of tool calls, whose last output is also in the call's result.
func (p *Part) retain(t *term) {
	if !t.agents {
		return
	}
	p.mu.Lock()
	if p.all[t.info.URI] == t {
		p.exited = append(p.exited, t)
	}
	old := oldestSurplus(p.exited, t.info.Session)
	p.mu.Unlock()
	if old != nil {
		p.remove(old.info.URI)
		_ = p.core.Do(p.core.Ctx, func(tx *hub.Tx) { p.forget(tx, old.info.URI) }) // fails only if the host stops
	}
}

// oldestSurplus returns the oldest terminal above a limit, of the session or of the host.
func oldestSurplus(exited []*term, session ahp.URI) (old *term) {
	n := 0
	for _, t := range slices.Backward(exited) {
		if t.info.Session == session {
			if n++; n > KeptExited {
				return t
			}
		}
	}
	if len(exited) > mostExited {
		return exited[0]
	}
	return nil
}

// Derive applies a terminal's action to other state.
func (p *Part) Derive(tx *hub.Tx, e *hub.Envelope) {
	t := p.get(e.Channel.URI)
	switch a := e.Action.(type) {
	case *ahp.TerminalClaimedAction:
		if t != nil {
			t.hold.setHolder(p, t, a.Claim)
			t.detach(tx, a.Claim)
		}
		p.listInRoot(tx, e.Channel.URI)
	case *ahp.TerminalExitedAction:
		p.listInRoot(tx, e.Channel.URI)
	case *ahp.TerminalTitleChangedAction:
		p.keepTitle(tx, t, e)
	case *ahp.TerminalClearedAction:
		p.clear(tx, t, e)
	}
	if t != nil {
		t.remember(e.Action)
	}
	if t != nil && isNews(e.Action) {
		t.hold.notify()
	}
}

// isNews reports whether an action notifies a terminal's watchers.
func isNews(a ahp.Action) bool {
	switch a.(type) {
	case *ahp.TerminalTitleChangedAction, *ahp.TerminalClearedAction, *ahp.TerminalExitedAction,
		*ahp.TerminalCwdChangedAction, *ahp.TerminalCommandExecutedAction, *ahp.TerminalCommandFinishedAction:
		return true
	}
	return false
}

// keepTitle keeps a title that a person chose, so that the program cannot change it.
func (p *Part) keepTitle(tx *hub.Tx, t *term, e *hub.Envelope) {
	if t != nil && !t.applying {
		t.named.Store(true)
	}
	p.listInRoot(tx, e.Channel.URI)
}

// clear clears the screens of viewers. It also clears the saved state of an exited program, which
// the next start would restore.
func (p *Part) clear(tx *hub.Tx, t *term, e *hub.Envelope) {
	if t != nil && t.applying {
		return
	}
	if t != nil {
		if program := t.program(); program != nil {
			program.Clear()
			t.dirty.Store(true)
		}
	}
	if s, ok := hub.StateOf[*ahp.TerminalState](tx, e.Channel.URI); ok && hasExited(s) {
		if raw, err := json.Marshal(savedTerminal{e.Channel.Session, s}); err == nil {
			tx.Record(bucketTerminals, e.Channel.URI, raw)
			tx.Record(bucketPrinted, e.Channel.URI, nil)
		}
	}
}

// forwardInput forwards keys in order. They are never stored.
func (p *Part) forwardInput(_ context.Context, e *hub.Envelope, a *ahp.TerminalInputAction) {
	p.sendKeys(e.Channel.URI, a)
}

// TypePlain forwards keys from an HTML form. Clients do not receive them, as they may be a
// password, and no connection waits for an echo.
func (p *Part) TypePlain(tx *hub.Tx, uri ahp.URI, a *ahp.TerminalInputAction) {
	tx.Effect(uri, func(context.Context) { p.sendKeys(uri, a) })
}

func (p *Part) sendKeys(uri ahp.URI, a *ahp.TerminalInputAction) {
	if program := p.program(uri); program != nil {
		if err := program.Write([]byte(a.Data)); err != nil {
			p.core.Log.Info("keys were not taken", "terminal", uri, "err", err)
		}
	}
}

// forwardSize sets the size of the program's terminal.
func (p *Part) forwardSize(_ context.Context, e *hub.Envelope, a *ahp.TerminalResizedAction) {
	if program := p.program(e.Channel.URI); program != nil {
		if err := program.Resize(int(a.Cols), int(a.Rows)); err != nil {
			p.core.Log.Info("a terminal was not resized", "terminal", e.Channel, "err", err)
		}
	}
}
