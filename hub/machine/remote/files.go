package remote

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/pipe"
)

// files implements machine.Files.
type files struct{ m *Machine }

// fileCall holds the arguments of calls about files; each call uses some.
type fileCall struct {
	Reach     machine.FileReach
	URI       ahp.URI
	Flag      bool // write, follow, or recursive
	Paths     []string
	Worktrees []string
}

// The parameters of the protocol's own methods.
type (
	writeCall struct {
		Reach machine.FileReach
		P     pipe.JSON[ahp.ResourceWriteParams]
	}
	copyCall struct {
		Reach machine.FileReach
		P     pipe.JSON[ahp.ResourceCopyParams]
	}
	moveCall struct {
		Reach machine.FileReach
		P     pipe.JSON[ahp.ResourceMoveParams]
	}
	watchCall struct {
		Reach machine.FileReach
		P     pipe.JSON[ahp.CreateResourceWatchParams]
	}
)

func (f files) Look(ctx context.Context, uri ahp.URI) (machine.FoundFile, error) {
	return call[machine.FoundFile](ctx, f.m, "files.look", fileCall{URI: uri})
}

func (f files) CheckOpen(ctx context.Context, reach machine.FileReach, uri ahp.URI, write bool) error {
	return callNone(ctx, f.m, "files.check", fileCall{Reach: reach, URI: uri, Flag: write})
}

func (f files) Read(ctx context.Context, reach machine.FileReach, uri ahp.URI) (machine.FileContent, error) {
	return call[machine.FileContent](ctx, f.m, "files.read", fileCall{Reach: reach, URI: uri})
}

func (f files) List(ctx context.Context, reach machine.FileReach, uri ahp.URI) (ahp.ResourceListResult, error) {
	out, err := call[pipe.JSON[ahp.ResourceListResult]](ctx, f.m, "files.list", fileCall{Reach: reach, URI: uri})
	return out.V, err
}

func (f files) Resolve(ctx context.Context, reach machine.FileReach, uri ahp.URI, follow bool) (
	ahp.ResourceResolveResult, error,
) {
	out, err := call[pipe.JSON[ahp.ResourceResolveResult]](ctx, f.m, "files.resolve",
		fileCall{Reach: reach, URI: uri, Flag: follow})
	return out.V, err
}

func (f files) Write(ctx context.Context, reach machine.FileReach, p ahp.ResourceWriteParams) error {
	return callNone(ctx, f.m, "files.write", writeCall{reach, pipe.JSON[ahp.ResourceWriteParams]{V: p}})
}

func (f files) Mkdir(ctx context.Context, reach machine.FileReach, uri ahp.URI) error {
	return callNone(ctx, f.m, "files.mkdir", fileCall{Reach: reach, URI: uri})
}

func (f files) Copy(ctx context.Context, reach machine.FileReach, p ahp.ResourceCopyParams) error {
	return callNone(ctx, f.m, "files.copy", copyCall{reach, pipe.JSON[ahp.ResourceCopyParams]{V: p}})
}

func (f files) Move(ctx context.Context, reach machine.FileReach, p ahp.ResourceMoveParams) error {
	return callNone(ctx, f.m, "files.move", moveCall{reach, pipe.JSON[ahp.ResourceMoveParams]{V: p}})
}

func (f files) Delete(ctx context.Context, reach machine.FileReach, uri ahp.URI, recursive bool) error {
	return callNone(ctx, f.m, "files.delete", fileCall{Reach: reach, URI: uri, Flag: recursive})
}

func (f files) RealPaths(ctx context.Context, paths []string) []string {
	out, err := call[[]string](ctx, f.m, "files.real", fileCall{Paths: paths})
	if err != nil || len(out) != len(paths) {
		return make([]string, len(paths)) // none resolves
	}
	return out
}

func (f files) Places(ctx context.Context, paths, worktrees []string) []machine.Place {
	out, err := call[[]machine.Place](ctx, f.m, "files.places", fileCall{Paths: paths, Worktrees: worktrees})
	if err != nil || len(out) != len(paths) {
		closed := make([]machine.Place, len(paths))
		for i := range closed {
			closed[i].Closed = machine.ErrOffline.Error()
		}
		return closed
	}
	return out
}

func (f files) IsWide(ctx context.Context, dirs []string) bool {
	wide, err := call[bool](ctx, f.m, "files.wide", fileCall{Paths: dirs})
	return wide || err != nil // when unknown, assume the worst
}

// Watch starts a watch; the computer's watch has started when it returns.
func (f files) Watch(ctx context.Context, reach machine.FileReach, p ahp.CreateResourceWatchParams) (
	machine.FileWatch, error,
) {
	s, err := openStream(ctx, f.m, "files.watch", watchCall{reach, pipe.JSON[ahp.CreateResourceWatchParams]{V: p}})
	if err != nil {
		return nil, err
	}
	return fileWatch{s}, nil
}

// openStream opens a stream that outlives ctx, sends its arguments, and waits until the other side has started.
func openStream(ctx context.Context, m *Machine, method string, in any) (*pipe.Stream, error) {
	p, err := m.online()
	if err != nil {
		return nil, err
	}
	s, err := p.Open(context.WithoutCancel(ctx), method)
	if err != nil {
		return nil, errors.Join(machine.ErrOffline, err)
	}
	stop := context.AfterFunc(ctx, s.Close)
	defer stop()
	if err = s.Send(in); err == nil {
		err = s.Receive(&struct{}{})
	}
	if err != nil {
		s.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return s, nil
}

// fileWatch implements machine.FileWatch.
type fileWatch struct{ s *pipe.Stream }

// Run passes changes on until ctx or the connection ends.
func (w fileWatch) Run(ctx context.Context, tell func([]ahp.ResourceChange)) {
	defer w.s.Close()
	defer context.AfterFunc(ctx, w.s.Close)()
	for {
		var batch []pipe.JSON[ahp.ResourceChange]
		if w.s.Receive(&batch) != nil {
			return
		}
		changes := make([]ahp.ResourceChange, len(batch))
		for i := range batch {
			changes[i] = batch[i].V
		}
		if len(changes) > 0 {
			tell(changes)
		}
	}
}

// Close ends a watch that is not running.
func (w fileWatch) Close() error { w.s.Close(); return nil }

// serveFiles returns the handlers of calls about files.
func serveFiles(f machine.Files) map[string]pipe.Handler {
	return map[string]pipe.Handler{
		"files.look": pipe.Answer(func(ctx context.Context, q fileCall) (machine.FoundFile, error) {
			return f.Look(ctx, q.URI)
		}),
		"files.check": pipe.AnswerNone(func(ctx context.Context, q fileCall) error {
			return f.CheckOpen(ctx, q.Reach, q.URI, q.Flag)
		}),
		"files.read": pipe.Answer(func(ctx context.Context, q fileCall) (machine.FileContent, error) {
			return f.Read(ctx, q.Reach, q.URI)
		}),
		"files.list": pipe.Answer(func(ctx context.Context, q fileCall) (out pipe.JSON[ahp.ResourceListResult],
			err error) {
			out.V, err = f.List(ctx, q.Reach, q.URI)
			return out, err
		}),
		"files.resolve": pipe.Answer(func(ctx context.Context, q fileCall) (out pipe.JSON[ahp.ResourceResolveResult],
			err error,
		) {
			out.V, err = f.Resolve(ctx, q.Reach, q.URI, q.Flag)
			return out, err
		}),
		"files.write": pipe.AnswerNone(func(ctx context.Context, q writeCall) error {
			return f.Write(ctx, q.Reach,
				q.P.V)
		}),
		"files.mkdir": pipe.AnswerNone(func(ctx context.Context, q fileCall) error {
			return f.Mkdir(ctx, q.Reach,
				q.URI)
		}),
		"files.copy": pipe.AnswerNone(func(ctx context.Context, q copyCall) error {
			return f.Copy(ctx, q.Reach,
				q.P.V)
		}),
		"files.move": pipe.AnswerNone(func(ctx context.Context, q moveCall) error {
			return f.Move(ctx, q.Reach,
				q.P.V)
		}),
		"files.delete": pipe.AnswerNone(func(ctx context.Context, q fileCall) error {
			return f.Delete(ctx, q.Reach, q.URI, q.Flag)
		}),
		"files.real": pipe.Answer(func(ctx context.Context, q fileCall) ([]string, error) {
			return f.RealPaths(ctx, q.Paths), nil
		}),
		"files.places": pipe.Answer(func(ctx context.Context, q fileCall) ([]machine.Place, error) {
			return f.Places(ctx, q.Paths, q.Worktrees), nil
		}),
		"files.wide": pipe.Answer(func(ctx context.Context, q fileCall) (bool, error) {
			return f.IsWide(ctx, q.Paths),
				nil
		}),
		"files.watch": func(ctx context.Context, s *pipe.Stream) error { return serveFileWatch(ctx, f, s) },
	}
}

func serveFileWatch(ctx context.Context, f machine.Files, s *pipe.Stream) error {
	var q watchCall
	if err := s.Receive(&q); err != nil {
		return err
	}
	w, err := f.Watch(ctx, q.Reach, q.P.V)
	if err != nil {
		return err
	}
	if err := s.Send(struct{}{}); err != nil {
		return errors.Join(err, w.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.Run(ctx, func(changes []ahp.ResourceChange) {
		batch := make([]pipe.JSON[ahp.ResourceChange], len(changes))
		for i := range changes {
			batch[i].V = changes[i]
		}
		if s.Send(batch) != nil {
			cancel()
		}
	})
	return nil
}
