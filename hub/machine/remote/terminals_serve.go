package remote

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/pipe"
	"github.com/ahphub/ahphub/hub/redact"
)

// served are the terminals of a computer, by conduit.
type served struct {
	terminals machine.Terminals
	log       *slog.Logger

	mu  sync.Mutex
	all map[string]machine.Terminal
}

func (s *served) get(id string) machine.Terminal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

func (s *served) set(id string, t machine.Terminal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t == nil {
		delete(s.all, id)
		return
	}
	s.all[id] = t
}

// serve runs one terminal until the hub forgets it.
func (s *served) serve(ctx context.Context, c *pipe.Conduit) {
	t := &servedTerminal{from: s, talk: pipe.NewTalk(c, s.log), ready: make(chan struct{})}
	_ = t.talk.Run(ctx, t.handlers(ctx)) // the hub is done with it, or gone
	s.set(c.ID(), nil)
	c.Close(nil)
	if t.program == nil {
		return
	}
	if err := t.program.Kill(); err != nil {
		s.log.Warn("a terminal's program does not end", "err", err)
	}
	t.ends.Wait()
}

type servedTerminal struct {
	from    *served
	talk    *pipe.Talk
	ready   chan struct{}
	ends    sync.WaitGroup
	program machine.Terminal // once ready is closed
}

func (t *servedTerminal) handlers(ctx context.Context) map[string]pipe.TalkHandler {
	return map[string]pipe.TalkHandler{
		"start": pipe.InOrder(func(_ context.Context, spec terminalSpec) (struct{}, error) {
			return struct{}{}, t.start(ctx, spec)
		}),
		"write": t.take(func(data []byte) { _ = t.program.Write(data) }), // the hub learns when it exits
		"resize": pipe.Take(func(_ context.Context, s sizeCall) error {
			return t.with(func() { _ = t.program.Resize(s.Cols, s.Rows) })
		}),
		"clear": pipe.Take(func(ctx context.Context, _ struct{}) error {
			return t.with(func() { t.program.Clear() })
		}),
		"sync": pipe.InOrder(func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }),
		"kill": pipe.Do(func(context.Context, struct{}) (out struct{}, err error) {
			if werr := t.with(func() { err = t.program.Kill() }); werr != nil {
				return out, werr
			}
			return out, err
		}),
		"text": pipe.Do(func(ctx context.Context, _ struct{}) (out string, err error) {
			if werr := t.with(func() { out, err = t.program.Text(ctx) }); werr != nil {
				return "", werr
			}
			return out, err
		}),
		"output": pipe.Do(func(ctx context.Context, q outputCall) (out machine.CommandOutput, err error) {
			if werr := t.with(func() { out, err = t.program.Output(ctx, q.Command, q.N) }); werr != nil {
				return out, werr
			}
			return out, err
		}),
	}
}

func (t *servedTerminal) take(f func([]byte)) pipe.TalkHandler {
	return pipe.Take(func(_ context.Context, data []byte) error { return t.with(func() { f(data) }) })
}

// with runs f if there is a program.
func (t *servedTerminal) with(f func()) error {
	if t.program == nil {
		return errors.New("this terminal was not started")
	}
	f()
	return nil
}

func (t *servedTerminal) start(ctx context.Context, spec terminalSpec) error {
	if t.program != nil {
		return errors.New("this terminal was started already")
	}
	program, err := t.from.terminals.Start(ctx, machine.TerminalSpec{Command: spec.Command, Shell: spec.Shell,
		Dir: spec.Dir, Session: spec.Session, Env: spec.Env, Pass: spec.Pass, Cols: spec.Cols, Rows: spec.Rows, Title: spec.Title,
		Scrollback: spec.Scrollback, Grace: spec.Grace, Processes: spec.Processes, Sandbox: spec.Sandbox,
		Hide: redact.New(spec.Hide)}, func(actions []ahp.Action) { t.emit(ctx, actions) })
	if err != nil {
		return err
	}
	t.program = program
	close(t.ready)
	t.from.set(t.talk.ID(), program)
	t.ends.Go(func() {
		select {
		case <-program.Done():
		case <-ctx.Done():
			return
		}
		code, _ := program.ExitCode()
		_ = t.talk.Tell(ctx, "step", terminalStep{Over: true, ExitCode: code}) // the hub is gone
	})
	return nil
}

// emit sends the program's actions; it blocks while the hub is behind or disconnected.
func (t *servedTerminal) emit(ctx context.Context, actions []ahp.Action) {
	select {
	case <-t.ready:
	case <-ctx.Done():
		return
	}
	step := terminalStep{Actions: actions}
	for _, a := range actions {
		switch a.(type) {
		case *ahp.TerminalDataAction, *ahp.TerminalTitleChangedAction, *ahp.TerminalCwdChangedAction:
			continue
		}
		commands := t.program.Commands()
		step.Commands = &commands
		break
	}
	_ = t.talk.Tell(ctx, "step", step) // the hub is gone
}

// watch serves a viewer.
func (s *served) watch(ctx context.Context, stream *pipe.Stream) error {
	var q viewerCall
	if err := stream.Receive(&q); err != nil {
		return err
	}
	t := s.get(q.Terminal)
	if t == nil {
		return errors.New("this terminal is gone")
	}
	if err := stream.Send(struct{}{}); err != nil {
		return err
	}
	v := t.Watch()
	defer v.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		for {
			var q takenCall
			if stream.Receive(&q) != nil {
				return
			}
			v.Taken(q.N)
		}
	}()
	for {
		piece, err := v.Next(ctx)
		if err != nil {
			return err
		}
		if err := stream.Send(piece); err != nil {
			return err
		}
	}
}
