package changeset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// keepRewrite stores both sides of the planned writes, and returns the rewrite.
func keepRewrite(ctx context.Context, all []*rewriting) (r machine.Rewrite, err error) {
	for _, w := range all {
		if len(w.steps) == 0 {
			continue
		}
		if err := w.create(w.src); err != nil { // this directory may not have been read before
			return machine.Rewrite{}, err
		}
		var sides []*entry
		for _, s := range w.steps {
			sides = append(sides, s.was, s.want)
		}
		kept, err := w.keepEntries(ctx, sides)
		if err != nil {
			return machine.Rewrite{}, fmt.Errorf("saving the current content of %s: %w", w.dir, err)
		}
		for i, s := range w.steps {
			r.Files = append(r.Files, machine.RewrittenFile{Dir: w.dir, Top: w.src.top, Path: s.path, Was: kept[2*i],
				Left: kept[2*i+1]})
		}
	}
	return r, nil
}

// keepEntries stores entries in the private repository, in one run of git.
func (w *rewriting) keepEntries(ctx context.Context, entries []*entry) ([]machine.KeptContent, error) {
	dir, err := os.MkdirTemp(w.git, "keep-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var names bytes.Buffer
	for i, e := range entries {
		if e == nil {
			continue
		}
		name := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(name, e.data, 0o600); err != nil {
			return nil, err
		}
		names.WriteString(name + "\n")
	}
	out, err := w.run(ctx, w.src, append([]byte{}, names.Bytes()...), "hash-object", "-w", "--stdin-paths",
		"--no-filters")
	if err != nil {
		return nil, err
	}
	oids := strings.Fields(string(out))
	kept := make([]machine.KeptContent, len(entries))
	for i, e := range entries {
		if e == nil {
			continue
		}
		if len(oids) == 0 {
			return nil, errors.New("git stored less than it was given")
		}
		kept[i], oids = machine.KeptContent{Mode: e.mode(), OID: oids[0], Size: int64(len(e.data))}, oids[1:]
	}
	return kept, nil
}

// keptOf describes an entry, with an object name of the same length as like.
func keptOf(e *entry, like string) machine.KeptContent {
	return machine.KeptContent{Mode: e.mode(), OID: e.oid(like), Size: int64(len(e.bytes()))}
}

// isKept reports whether an entry equals kept content.
func isKept(k machine.KeptContent, e *entry) bool { return k == keptOf(e, k.OID) }

// CarryOut performs a planned rewrite. Error: ErrConflict, with nothing written, if a file has
// changed since.
func (s *Service) CarryOut(ctx context.Context, ws machine.Workspace, r machine.Rewrite) error {
	return s.writeKept(ctx, ws, r)
}

// TakeBack undoes a rewrite. Error: ErrConflict, with nothing written, if a file has changed since.
func (s *Service) TakeBack(ctx context.Context, ws machine.Workspace, r machine.Rewrite) error {
	back := machine.Rewrite{Files: slices.Clone(r.Files)}
	for i, f := range back.Files {
		back.Files[i].Was, back.Files[i].Left = f.Left, f.Was
	}
	return s.writeKept(ctx, ws, back)
}

func (s *Service) writeKept(ctx context.Context, ws machine.Workspace, r machine.Rewrite) error {
	var all []*rewriting
	for _, dir := range dirsOf(r) {
		w, done, err := s.repo(ws, dir).rewriting(ctx)
		if err != nil {
			return err
		}
		defer done()
		files := slices.DeleteFunc(slices.Clone(r.Files), func(f machine.RewrittenFile) bool { return f.Dir != dir })
		if w.steps, err = w.stepsOf(ctx, files); err != nil {
			return err
		}
		all = append(all, w)
	}
	return carryAll(all)
}

func dirsOf(r machine.Rewrite) (dirs []string) {
	for _, f := range r.Files {
		dirs = append(dirs, f.Dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// stepsOf checks that files are unchanged, and reads their new content.
func (w *rewriting) stepsOf(ctx context.Context, files []machine.RewrittenFile) (steps []step, err error) {
	for _, f := range files {
		now, err := readEntry(w.root, f.Path)
		if err != nil {
			return nil, err
		}
		if f.Top != w.src.top || !isKept(f.Was, now) {
			return nil, fmt.Errorf("%w: %s has changed since", machine.ErrConflict, f.Path)
		}
		steps = append(steps, step{path: f.Path, was: now})
	}
	contents, err := w.readKept(ctx, files)
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		if f.Left.Mode == "" {
			continue
		}
		data, ok := contents[f.Left.OID]
		if !ok {
			return nil, fmt.Errorf("%w: the earlier content of %s is no longer available", machine.ErrConflict, f.Path)
		}
		steps[i].want = &entry{link: f.Left.Mode == machine.ModeSymlink, exec: f.Left.Mode == "100755", data: data}
	}
	return steps, nil
}

// readKept reads the new content of files, by object name.
func (w *rewriting) readKept(ctx context.Context, files []machine.RewrittenFile) (map[string][]byte, error) {
	found := map[string][]byte{}
	var ask bytes.Buffer
	size := int64(0)
	flush := func() error {
		if ask.Len() == 0 {
			return nil
		}
		out, err := w.trees(ctx, w.src, append([]byte{}, ask.Bytes()...), "cat-file",
			"--batch=%(objectname) %(objecttype) %(objectsize)")
		takeContents(found, out)
		ask.Reset()
		size = 0
		return err
	}
	for _, f := range files {
		if f.Left.Mode == "" {
			continue
		}
		if size += f.Left.Size; size > w.s.atOnce {
			if err := flush(); err != nil {
				return nil, err
			}
			size = f.Left.Size
		}
		ask.WriteString(f.Left.OID + "\n")
	}
	return found, flush()
}

const undoLooked = 8 << 20 // bytes read to check whether an undo still applies; beyond, only sizes are compared

// CanTakeBack reports whether all files are as the rewrite left them. It is fast, and compares only
// the sizes of large files.
func (s *Service) CanTakeBack(_ context.Context, _ machine.Workspace, r machine.Rewrite) bool {
	budget := int64(undoLooked)
	for _, f := range r.Files {
		root, err := os.OpenRoot(f.Top)
		if err != nil {
			return false
		}
		ok := matchesKept(f.Left, root, f.Path, &budget)
		root.Close()
		if !ok {
			return false
		}
	}
	return true
}

// matchesKept reports whether a path still has the kept content. Beyond the budget it compares only
// sizes.
func matchesKept(k machine.KeptContent, root *os.Root, path string, budget *int64) bool {
	info, err := root.Lstat(filepath.FromSlash(path))
	if k.Mode == "" || err != nil {
		return k.Mode == "" && errors.Is(err, fs.ErrNotExist)
	}
	if info.Size() != k.Size {
		return false
	}
	if *budget -= k.Size; *budget < 0 {
		return true
	}
	now, err := readEntry(root, path)
	return err == nil && isKept(k, now)
}
