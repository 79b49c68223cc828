package fleet

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/ahphub/ahphub/hub/machine"
)

// routedChanges implements machine.Changes.
type routedChanges struct{ *Route }

// Changes returns the recorder of all computers' changes, or nil if the hub's own computer records none. A session's
// changes are recorded on the computer of its directories.
func (r *Route) Changes() machine.Changes {
	if r.own.Changes() == nil {
		return nil
	}
	return routedChanges{r}
}

// ask calls the computer of a workspace and of paths.
func ask[T any](c routedChanges, ws machine.Workspace, paths []string, call func(s site) (T, error)) (site, T, error) {
	s, err := c.site(ws, paths...)
	if err != nil {
		var none T
		return s, none, err
	}
	out, err := call(s)
	return s, out, s.explain(err)
}

// tell is ask for a call without a result.
func tell(c routedChanges, ws machine.Workspace, paths []string, call func(s site) error) error {
	_, _, err := ask(c, ws, paths, func(s site) (struct{}, error) { return struct{}{}, call(s) })
	return err
}

// look is ask for a call that returns a checkpoint.
func (c routedChanges) look(ws machine.Workspace, dirs []string, call func(s site, dirs []string) (machine.Checkpoint,
	error)) (machine.Checkpoint, error) {
	s, out, err := ask(c, ws, dirs, func(s site) (machine.Checkpoint, error) {
		out, err := call(s, s.ins(dirs))
		return out, errors.Join(err, s.checkTrees(out))
	})
	return checkpoint(out, s.out), err
}

func (c routedChanges) Checkpoint(ctx context.Context, ws machine.Workspace,
	dirs []string) (machine.Checkpoint, error) {
	return c.look(ws, dirs, func(s site, dirs []string) (machine.Checkpoint, error) {
		return s.Changes.Checkpoint(ctx, s.ws, dirs)
	})
}

func (c routedChanges) LookAtAll(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint, error) {
	return c.look(ws, dirs, func(s site, dirs []string) (machine.Checkpoint, error) {
		return s.Changes.LookAtAll(ctx, s.ws, dirs)
	})
}

func (c routedChanges) Look(ctx context.Context, ws machine.Workspace, dirs, paths []string) (
	machine.Checkpoint, error,
) {
	return c.look(ws, dirs, func(s site, dirs []string) (machine.Checkpoint, error) {
		return s.Changes.Look(ctx, s.ws, dirs, s.ins(paths))
	})
}

func (c routedChanges) Head(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint, error) {
	return c.look(ws, dirs, func(s site, dirs []string) (machine.Checkpoint, error) {
		return s.Changes.Head(ctx, s.ws, dirs)
	})
}

func (c routedChanges) Branch(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint, error) {
	return c.look(ws, dirs, func(s site, dirs []string) (machine.Checkpoint, error) {
		return s.Changes.Branch(ctx, s.ws, dirs)
	})
}

func (c routedChanges) Keep(ctx context.Context, ws machine.Workspace, kept machine.Checkpoint) error {
	return tell(c, ws, treePaths(kept.Trees...), func(s site) error {
		return s.Changes.Keep(ctx, s.ws, checkpoint(kept, s.in))
	})
}

func (c routedChanges) Adopt(ctx context.Context, ws machine.Workspace, from string, dirs []string) error {
	return tell(c, ws, dirs, func(s site) error { return s.Changes.Adopt(ctx, s.ws, from, s.ins(dirs)) })
}

// Drop deletes everything that is kept for a session, on all computers, as the session's members are not known here. A
// member that is offline does so after it reconnects.
func (c routedChanges) Drop(ctx context.Context, ws machine.Workspace) error {
	own := c.own.Changes().Drop(ctx, ws)
	members := c.onMembers(func(n node) error {
		if there := n.Machine.Changes(); there != nil {
			return there.Drop(ctx, machine.Workspace{Session: ws.Session})
		}
		return nil
	})
	if c.keeper.store != nil {
		own = errors.Join(own, c.keeper.store.Drop(ctx, ws.Session))
	}
	return errors.Join(own, members)
}

func (c routedChanges) Compare(ctx context.Context, ws machine.Workspace, from, to machine.Checkpoint) (
	[]machine.ChangedFile, error,
) {
	s, files, err := ask(c, ws, treePaths(append(from.Trees[:len(from.Trees):len(from.Trees)], to.Trees...)...),
		func(s site) ([]machine.ChangedFile, error) {
			files, err := s.Changes.Compare(ctx, s.ws, checkpoint(from, s.in), checkpoint(to, s.in))
			return files, errors.Join(err, s.checkChanged(files))
		})
	if err != nil {
		return nil, err
	}
	c.keeper.keep(ws.Session, from, s, files)
	return changed(files, s.out), nil
}

func (c routedChanges) Patch(ctx context.Context, ws machine.Workspace, from, to machine.Checkpoint,
	only ...machine.ChangedFile) ([]byte, error) {
	paths := append(treePaths(from.Trees...), changedPaths(to.Trees, only)...)
	_, patch, err := ask(c, ws, paths, func(s site) ([]byte, error) {
		return s.Changes.Patch(ctx, s.ws, checkpoint(from, s.in), checkpoint(to, s.in), changed(only, s.in)...)
	})
	return patch, err
}

// Content returns a version that the hub keeps, or asks its computer.
func (c routedChanges) Content(ctx context.Context, ws machine.Workspace, oid string) ([]byte, error) {
	if data, ok := c.keeper.get(ctx, ws.Session, oid); ok {
		return data, nil
	}
	_, data, err := ask(c, ws, nil, func(s site) ([]byte, error) {
		data, err := s.Changes.Content(ctx, s.ws, oid)
		if err == nil && !s.isNamed(oid, data) {
			return nil, errMadeUp
		}
		if err == nil {
			c.keeper.seen(ws.Session, s, map[string][]byte{oid: data})
		}
		return data, err
	})
	if errors.Is(err, machine.ErrOffline) && c.keeper.store != nil {
		err = unkeptError{err}
	}
	return data, err
}

func (c routedChanges) Contents(ctx context.Context, ws machine.Workspace, oids []string) map[string][]byte {
	all := map[string][]byte{}
	var others []string
	for _, oid := range oids {
		if data, ok := c.keeper.get(ctx, ws.Session, oid); ok {
			all[oid] = data
		} else {
			others = append(others, oid)
		}
	}
	s, err := c.site(ws)
	if err == nil && len(others) > 0 {
		read := s.contents(ctx, others)
		c.keeper.seen(ws.Session, s, read)
		maps.Copy(all, read)
	}
	return all // the caller uses Content for the others, which returns their errors
}

func (c routedChanges) Watch(ctx context.Context, ws machine.Workspace, dirs []string, most int) (
	machine.ChangesWatch, error,
) {
	s, w, err := ask(c, ws, dirs, func(s site) (machine.ChangesWatch, error) {
		return s.Changes.Watch(ctx, s.ws, s.ins(dirs), most)
	})
	if err != nil || s.id == "" {
		return w, err
	}
	out := &spelledWatch{ChangesWatch: w, site: s, written: make(chan machine.Written), ended: make(chan struct{})}
	go out.run(ctx)
	return out, nil
}

// spelledWatch converts the paths of writes into the hub's spelling.
type spelledWatch struct {
	machine.ChangesWatch
	site    site
	written chan machine.Written
	once    sync.Once
	ended   chan struct{} // closed when there is no reader any more
}

func (w *spelledWatch) run(ctx context.Context) {
	defer close(w.written)
	for said := range w.ChangesWatch.Written() {
		said.Paths = w.site.outs(said.Paths)
		select {
		case w.written <- said:
		case <-w.ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Written is closed when watching ends.
func (w *spelledWatch) Written() <-chan machine.Written { return w.written }

// Err returns why watching ended.
func (w *spelledWatch) Err() error { return w.site.explain(w.ChangesWatch.Err()) }

// Close stops watching and waits until it has stopped.
func (w *spelledWatch) Close() {
	w.once.Do(func() { close(w.ended) })
	w.ChangesWatch.Close()
	for range w.written {
	}
}

func (c routedChanges) CheckedOut(ctx context.Context, ws machine.Workspace, dir string) (machine.CheckedOut, error) {
	s, out, err := ask(c, ws, []string{dir}, func(s site) (machine.CheckedOut, error) {
		return s.Changes.CheckedOut(ctx, s.ws, s.in(dir))
	})
	out.Stamp = stamp(out.Stamp, s.out)
	return out, err
}

func (c routedChanges) Staging(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Staging, error) {
	s, out, err := ask(c, ws, dirs, func(s site) (machine.Staging, error) {
		return s.Changes.Staging(ctx, s.ws, s.ins(dirs))
	})
	out.Stamp = stamp(out.Stamp, s.out)
	if tops := out.Tops; tops != nil {
		out.Tops = make(map[string]map[string]machine.StagedFile, len(tops))
		for top, files := range tops {
			out.Tops[s.out(top)] = files
		}
	}
	return out, err
}

func (c routedChanges) Staged(ctx context.Context, ws machine.Workspace, dirs []string) (int, error) {
	_, n, err := ask(c, ws, dirs, func(s site) (int, error) { return s.Changes.Staged(ctx, s.ws, s.ins(dirs)) })
	return n, err
}

// IsCurrent reports whether a stamp is up to date; false while its computer is offline.
func (c routedChanges) IsCurrent(ctx context.Context, was machine.Stamp) bool {
	var files []string
	for file := range was {
		files = append(files, file)
	}
	s, err := c.site(machine.Workspace{}, files...)
	return err == nil && s.Changes.IsCurrent(ctx, stamp(was, s.in))
}

func (c routedChanges) Files(ctx context.Context, ws machine.Workspace, dirs []string, most int) ([]string, error) {
	s, files, err := ask(c, ws, dirs, func(s site) ([]string, error) {
		return s.Changes.Files(ctx, s.ws, s.ins(dirs), most)
	})
	return s.outs(files), err
}

func (c routedChanges) Track(ctx context.Context, ws machine.Workspace, dir, path string) (machine.Tracking, error) {
	_, t, err := ask(c, ws, []string{dir, path}, func(s site) (machine.Tracking, error) {
		return s.Changes.Track(ctx, s.ws, s.in(dir), s.in(path))
	})
	return t, err
}

func (c routedChanges) TrackedFiles(ctx context.Context, ws machine.Workspace, dirs []string) ([]string, error) {
	s, files, err := ask(c, ws, dirs, func(s site) ([]string, error) {
		return s.Changes.TrackedFiles(ctx, s.ws, s.ins(dirs))
	})
	return s.outs(files), err
}

func (c routedChanges) Refs(ctx context.Context, ws machine.Workspace, dir, query string, most int) (
	[]machine.Ref, error,
) {
	_, refs, err := ask(c, ws, []string{dir}, func(s site) ([]machine.Ref, error) {
		return s.Changes.Refs(ctx, s.ws, s.in(dir), query, most)
	})
	return refs, err
}
