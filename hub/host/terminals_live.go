package host

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

const (
	mostStep      = 32      // actions of a terminal in one step of the timeline
	mostTail      = 8 << 10 // bytes of output an agent is told at the end
	terminalGrace = time.Second
)

// term is a terminal with a program, running or gone.
type term struct {
	h      *Host
	info   hub.ChannelInfo
	agents bool            // an agent's tool call runs in it
	named  atomic.Bool     // its title was chosen: the program cannot change it
	ctx    context.Context // ends when the terminal is disposed
	cancel context.CancelFunc
	proc   atomic.Pointer[machine.Terminal]
	dirty  atomic.Bool  // wrote something since it was last saved
	due    atomic.Int64 // when it may be saved again, in ns since 1970
	whole  atomic.Int64 // when all of it may be

	// guarded by the hub's lock
	applying bool                      // what is applied comes from the program itself
	call     *ahp.TerminalSessionClaim // the tool call that waits for the program; nil once it does not
	detached chan struct{}             // closed when it should not wait any more
	since    []ahp.Action              // what it printed since all of it was saved; its end when that is much
	printed  int                       // bytes of that

	hold holding

	mu   sync.Mutex
	tail []byte
}

// startTerminal opens a terminal's channel and starts its program.
func (h *Host) startTerminal(info hub.ChannelInfo, claim ahp.TerminalClaim, spec machine.TerminalSpec, agents bool) (*term, error) {
	named := spec.Title != ""
	spec.Title, spec.Grace, spec.Pass = h.shellTitle(spec), cmp.Or(h.terms.grace, terminalGrace), h.cfg.Pass
	if spec.Cols == 0 && spec.Rows == 0 {
		spec.Cols, spec.Rows = machine.DefaultCols, machine.DefaultRows
	}
	t := &term{h: h, info: info, agents: agents, detached: make(chan struct{})}
	if c, ok := claim.Value.(*ahp.TerminalSessionClaim); ok && agents {
		t.call = c
	}
	t.named.Store(named)
	t.ctx, t.cancel = context.WithCancel(h.core.Ctx)
	if err := h.terms.add(t); err != nil {
		return nil, err
	}
	if err := h.openTerminal(t, claim, spec); err != nil {
		h.terms.remove(info.URI)
		return nil, err
	}
	p, err := h.cfg.Machine.Terminals().Start(h.core.Ctx, spec, t.emit)
	if err != nil {
		return nil, h.notStarted(t, err)
	}
	t.proc.Store(&p)
	if t.ctx.Err() != nil { // disposed while it started
		t.kill()
	}
	h.terms.saving.Do(func() { h.core.Go(h.saveTerminals) })
	return t, nil
}

// program returns what runs in the terminal, or ran; nil before it started and when it belongs to an earlier run.
func (t *term) program() machine.Terminal {
	if p := t.proc.Load(); p != nil {
		return *p
	}
	return nil
}

func (h *Host) notStarted(t *term, cause error) error {
	if err := h.closeTerminal(t.info.URI); err != nil {
		h.core.Log.Warn("a terminal that did not start stays in the list", "terminal", t.info, "err", err)
	}
	return core.BadParams("%s", cause)
}

func (h *Host) openTerminal(t *term, claim ahp.TerminalClaim, spec machine.TerminalSpec) error {
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
	err := h.core.Hub.Do(func(tx *hub.Tx) {
		if taken = tx.Open(t.info, state); taken == nil {
			t.hold.claimed(h, t, claim)
			h.listTerminal(tx, t.info.URI)
		}
	})
	if err == nil && taken != nil {
		err = ahp.Errorf(ahp.CodeAlreadyExists, "%s is taken: choose another URI", t.info.URI)
	}
	return err
}

// emit puts what the program did into the timeline. While the host is read-only it waits,
// and with it the program: nothing is lost.
func (t *term) emit(actions []ahp.Action) {
	t.dirty.Store(true)
	if t.named.Load() {
		actions = slices.DeleteFunc(actions, isTitle)
	}
	over := false
	for step := range slices.Chunk(actions, mostStep) {
		for _, a := range step {
			over = t.note(a) || over
		}
		err := t.h.core.Do(t.ctx, func(tx *hub.Tx) {
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
		t.h.retain(t)
	}
}

func isTitle(a ahp.Action) bool {
	_, ok := a.(*ahp.TerminalTitleChangedAction)
	return ok
}

// note keeps the end of the output for the agent; it reports the program's exit.
func (t *term) note(a ahp.Action) (exit bool) {
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
	case *ahp.TerminalClearedAction: // the tail is in the next action once more
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
	p := t.program()
	if p == nil {
		return
	}
	if err := p.Kill(); err != nil {
		t.h.core.Log.Warn("a terminal's program does not end", "terminal", t.info, "err", err)
		return
	}
	<-p.Done()
}

// retain bounds the terminals that agents leave behind: their last output is in the tool
// call's result anyway.
func (h *Host) retain(t *term) {
	if !t.agents {
		return
	}
	h.terms.mu.Lock()
	if h.terms.all[t.info.URI] == t {
		h.terms.exited = append(h.terms.exited, t)
	}
	old := surplus(h.terms.exited, t.info.Session)
	h.terms.mu.Unlock()
	if old != nil {
		h.terms.remove(old.info.URI)
		_ = h.core.Do(h.core.Ctx, func(tx *hub.Tx) { h.forgetTerminal(tx, old.info.URI) }) // fails only when the host stops
	}
}

// surplus returns the oldest terminal that is too many, of the session or of the host.
func surplus(exited []*term, session ahp.URI) (old *term) {
	n := 0
	for _, t := range slices.Backward(exited) {
		if t.info.Session == session {
			if n++; n > keepExited {
				return t
			}
		}
	}
	if len(exited) > mostExited {
		return exited[0]
	}
	return nil
}

// deriveTerminal is what a terminal's action changes elsewhere.
func (h *Host) deriveTerminal(tx *hub.Tx, e *hub.Envelope) {
	t := h.terms.get(e.Channel.URI)
	switch a := e.Action.(type) {
	case *ahp.TerminalClaimedAction:
		if t != nil {
			t.hold.claimed(h, t, a.Claim)
			t.narrowed(tx, a.Claim)
		}
		h.listTerminal(tx, e.Channel.URI)
	case *ahp.TerminalExitedAction:
		h.listTerminal(tx, e.Channel.URI)
	case *ahp.TerminalTitleChangedAction:
		h.titled(tx, t, e)
	case *ahp.TerminalClearedAction:
		h.cleared(tx, t, e)
	}
	if t != nil {
		t.keep(e.Action)
	}
	if t != nil && tells(e.Action) {
		t.hold.changed()
	}
}

// tells tells which of a terminal's actions those who watch it are told of at once.
func tells(a ahp.Action) bool {
	switch a.(type) {
	case *ahp.TerminalTitleChangedAction, *ahp.TerminalClearedAction, *ahp.TerminalExitedAction, *ahp.TerminalCwdChangedAction,
		*ahp.TerminalCommandExecutedAction, *ahp.TerminalCommandFinishedAction:
		return true
	}
	return false
}

// titled keeps a title that a person chose: from then on the program cannot change it.
func (h *Host) titled(tx *hub.Tx, t *term, e *hub.Envelope) {
	if t != nil && !t.applying {
		t.named.Store(true)
	}
	h.listTerminal(tx, e.Channel.URI)
}

// cleared empties the screens of those who watch. What was saved of a program that is gone is
// emptied too, or it would come back with the next start.
func (h *Host) cleared(tx *hub.Tx, t *term, e *hub.Envelope) {
	if t != nil && t.applying {
		return
	}
	if t != nil {
		if p := t.program(); p != nil {
			p.Clear()
			t.dirty.Store(true)
		}
	}
	if s, ok := hub.StateOf[*ahp.TerminalState](tx, e.Channel.URI); ok && exited(s) {
		if raw, err := json.Marshal(savedTerminal{e.Channel.Session, s}); err == nil {
			tx.Record(bucketTerminals, e.Channel.URI, raw)
			tx.Record(bucketPrinted, e.Channel.URI, nil)
		}
	}
}

// terminalTyped forwards keys, in order; they are never written down.
func (h *Host) terminalTyped(_ context.Context, e *hub.Envelope, a *ahp.TerminalInputAction) {
	h.keys(e.Channel.URI, a)
}

// typedPlain forwards the keys of a plain form. Nobody is sent them: they may be a
// password, and no connection waits for an echo.
func (h *Host) typedPlain(tx *hub.Tx, uri ahp.URI, a *ahp.TerminalInputAction) {
	tx.Effect(uri, func(context.Context) { h.keys(uri, a) })
}

func (h *Host) keys(uri ahp.URI, a *ahp.TerminalInputAction) {
	if t := h.terms.get(uri); t != nil {
		if p := t.program(); p != nil {
			if err := p.Write([]byte(a.Data)); err != nil {
				h.core.Log.Info("keys were not taken", "terminal", t.info, "err", err)
			}
		}
	}
}

func (h *Host) terminalSized(_ context.Context, e *hub.Envelope, a *ahp.TerminalResizedAction) {
	if t := h.terms.get(e.Channel.URI); t != nil {
		if p := t.program(); p != nil {
			if err := p.Resize(int(a.Cols), int(a.Rows)); err != nil {
				h.core.Log.Info("a terminal was not resized", "terminal", e.Channel, "err", err)
			}
		}
	}
}
