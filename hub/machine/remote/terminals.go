package remote

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/pipe"
	"github.com/ahphub/ahphub/hub/redact"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// kindTerminal is the kind of a terminal's conduit.
const kindTerminal = "terminal"

// terminalSpec is a machine.TerminalSpec on the wire.
type terminalSpec struct {
	Command    []string
	Shell, Dir string
	Session    string `cbor:",omitzero"`
	Env, Pass  []string
	Cols, Rows int
	Title      string
	Scrollback int
	Grace      time.Duration
	Processes  int
	Sandbox    *sandbox.Policy
	Hide       []redact.Secret
}

// terminalStep is a step of a terminal's program.
type terminalStep struct {
	Actions  pipe.Actions
	Commands *[]machine.TerminalCommand `cbor:",omitzero"` // if they changed
	Over     bool                       `cbor:",omitzero"` // the program has ended
	ExitCode int                        `cbor:",omitzero"`
}

// The other messages of a terminal.
type (
	sizeCall   struct{ Cols, Rows int }
	outputCall struct {
		Command string
		N       int
	}
	drawCall struct {
		Printed    string
		Cols, Rows int
	}
	viewerCall struct{ Terminal string }
	takenCall  struct{ N int64 }
)

// terminals implements machine.Terminals.
type terminals struct{ m *Machine }

func (t terminals) Shells() []string { return t.m.lastFacts().Shells }

func (t terminals) DrawText(printed string, cols, rows int) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	text, err := call[string](ctx, t.m, "terminals.draw", drawCall{printed, cols, rows})
	if err != nil {
		return machine.PlainText(printed)
	}
	return text
}

func (t terminals) Start(ctx context.Context, spec machine.TerminalSpec, emit func([]ahp.Action)) (
	machine.Terminal, error,
) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, err := t.m.online(); err != nil {
		return nil, err
	}
	conduit, err := t.m.conduits.Open(kindTerminal)
	if err != nil {
		return nil, err
	}
	p := &terminal{m: t.m, talk: pipe.NewTalk(conduit, t.m.cfg.Log), emit: emit, done: make(chan struct{})}
	go p.run()
	err = pipe.AskNone(ctx, p.talk, "start", terminalSpec{Command: spec.Command, Shell: spec.Shell, Dir: spec.Dir,
		Session: spec.Session,
		Env:     spec.Env, Pass: spec.Pass, Cols: spec.Cols, Rows: spec.Rows, Title: spec.Title,
		Scrollback: spec.Scrollback, Grace: spec.Grace, Processes: spec.Processes, Sandbox: spec.Sandbox,
		Hide: spec.Hide.Secrets()})
	if err != nil {
		p.talk.Close(nil)
		return nil, err
	}
	handle := &terminalHandle{p}
	runtime.AddCleanup(handle, func(p *terminal) { p.talk.Close(nil) }, p)
	return handle, nil
}

// terminalHandle is the host's reference to a terminal: the computer forgets the terminal when the host drops it.
type terminalHandle struct{ *terminal }

// terminal implements machine.Terminal.
type terminal struct {
	m    *Machine
	talk *pipe.Talk
	emit func([]ahp.Action)
	done chan struct{}

	mu       sync.Mutex
	exited   bool
	code     int
	commands []machine.TerminalCommand
}

// run receives the program's steps until the terminal is forgotten.
func (p *terminal) run() {
	err := p.talk.Run(context.Background(), map[string]pipe.TalkHandler{
		"step": pipe.Take(func(_ context.Context, s terminalStep) error { p.take(s); return nil }),
	})
	if !p.hasExited() {
		p.m.cfg.Log.Warn("a terminal of another computer was lost", "err", err)
		p.take(terminalStep{Actions: pipe.Actions{&ahp.TerminalExitedAction{}}, Over: true, ExitCode: -1})
	}
}

// take passes a step on. Only actions of terminals reach the timeline.
func (p *terminal) take(s terminalStep) {
	if p.hasExited() {
		return
	}
	if s.Commands != nil {
		p.mu.Lock()
		p.commands = *s.Commands
		p.mu.Unlock()
	}
	actions := make([]ahp.Action, 0, len(s.Actions))
	for _, a := range s.Actions {
		if isTerminals(a) {
			actions = append(actions, a)
		}
	}
	if len(actions) > 0 {
		p.emit(actions)
	}
	if s.Over {
		p.mu.Lock()
		p.exited, p.code = true, s.ExitCode
		p.mu.Unlock()
		close(p.done)
	}
}

// isTerminals reports whether a terminal's program can cause an action.
func isTerminals(a ahp.Action) bool {
	switch a.(type) {
	case *ahp.TerminalDataAction, *ahp.TerminalTitleChangedAction, *ahp.TerminalCwdChangedAction,
		*ahp.TerminalExitedAction, *ahp.TerminalClearedAction, *ahp.TerminalCommandDetectionAvailableAction,
		*ahp.TerminalCommandExecutedAction, *ahp.TerminalCommandFinishedAction, *ahp.TerminalResizedAction:
		return true
	}
	return false
}

func (p *terminal) hasExited() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exited
}

var errExited = errors.New("the terminal's program has exited")

// tell queues a message without blocking. It fails when a disconnected computer's queue is full.
func (p *terminal) tell(method string, in any) error {
	if p.hasExited() {
		return errExited
	}
	return p.talk.TellNow(method, in)
}

// Write queues input.
func (p *terminal) Write(data []byte) error { return p.tell("write", data) }

// Resize changes the size.
func (p *terminal) Resize(cols, rows int) error {
	if err := machine.CheckTerminalSize(cols, rows); err != nil {
		return err
	}
	return p.talk.TellNow("resize", sizeCall{cols, rows})
}

// Clear forgets the output so far.
func (p *terminal) Clear() {
	p.mu.Lock()
	p.commands = nil
	p.mu.Unlock()
	_ = p.talk.TellNow("clear", struct{}{}) // fails if the terminal and its output are lost
}

// Kill ends the program. While the computer is offline, it abandons the terminal: its program ends when the computer
// reconnects, or gives up on the hub.
func (p *terminal) Kill() error {
	_, err := pipe.AskAttached[struct{}](context.Background(), p.talk, "kill", struct{}{})
	if errors.Is(err, machine.ErrOffline) {
		p.talk.Close(nil)
		<-p.done
		return nil
	}
	if err == nil || !p.hasExited() {
		return err
	}
	return nil
}

// Done is closed once the program has ended.
func (p *terminal) Done() <-chan struct{} { return p.done }

// ExitCode returns the exit code.
func (p *terminal) ExitCode() (code int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.code, p.exited
}

// Text returns the readable text of the screen.
func (p *terminal) Text(ctx context.Context) (string, error) {
	return pipe.Ask[string](ctx, p.talk, "text", struct{}{})
}

// Commands returns the newest commands.
func (p *terminal) Commands() []machine.TerminalCommand {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]machine.TerminalCommand(nil), p.commands...)
}

// Output returns the output of a command.
func (p *terminal) Output(ctx context.Context, command string, n int) (machine.CommandOutput, error) {
	return pipe.Ask[machine.CommandOutput](ctx, p.talk, "output", outputCall{command, n})
}

// Watch adds a viewer.
func (p *terminal) Watch() machine.TerminalViewer {
	ctx, cancel := context.WithCancelCause(context.Background())
	v := &viewer{ctx: ctx, cancel: cancel, pieces: make(chan machine.TerminalPiece), took: make(chan struct{}, 1)}
	go v.run(p)
	return v
}

// viewer implements machine.TerminalViewer. It has its own stream, so that a slow viewer slows only itself.
type viewer struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	pieces chan machine.TerminalPiece

	mu    sync.Mutex
	taken int64
	took  chan struct{}
}

func (v *viewer) run(p *terminal) { v.cancel(v.follow(p)) }

func (v *viewer) follow(p *terminal) error {
	// this viewer must see the effects of earlier calls on the terminal
	if err := pipe.AskNone(v.ctx, p.talk, "sync", struct{}{}); err != nil {
		return err
	}
	s, err := openStream(v.ctx, p.m, "terminals.watch", viewerCall{p.talk.ID()})
	if err != nil {
		return err
	}
	defer s.Close()
	defer context.AfterFunc(v.ctx, s.Close)()
	go v.report(s)
	for {
		var piece machine.TerminalPiece
		if err := s.Receive(&piece); err != nil {
			return err
		}
		select {
		case v.pieces <- piece:
		case <-v.ctx.Done():
			return context.Cause(v.ctx)
		}
	}
}

// report reports to the computer how much the viewer has taken.
func (v *viewer) report(s *pipe.Stream) {
	for {
		select {
		case <-v.took:
		case <-v.ctx.Done():
			return
		}
		v.mu.Lock()
		n := v.taken
		v.mu.Unlock()
		if s.Send(takenCall{n}) != nil {
			return
		}
	}
}

// Next returns the next piece.
func (v *viewer) Next(ctx context.Context) (machine.TerminalPiece, error) {
	select {
	case piece := <-v.pieces:
		return piece, nil
	case <-v.ctx.Done():
		return machine.TerminalPiece{}, context.Cause(v.ctx)
	case <-ctx.Done():
		return machine.TerminalPiece{}, context.Cause(ctx)
	}
}

// Taken records how many bytes the viewer has taken.
func (v *viewer) Taken(n int64) {
	v.mu.Lock()
	v.taken = max(v.taken, n)
	v.mu.Unlock()
	select {
	case v.took <- struct{}{}:
	default:
	}
}

// Close removes the viewer.
func (v *viewer) Close() { v.cancel(io.EOF) }
