package changeset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Undo is how to take back what Revert or Discard wrote. It is a document: store it as JSON. What
// it names is kept in the
// session's private repositories.
type Undo struct {
	Files []UndoFile `json:"files"`
}

// UndoFile is one path: what stood there, and what was left.
type UndoFile struct {
	Dir  string `json:"dir"`
	Top  string `json:"top"`
	Path string `json:"path"`
	Was  Kept   `json:"was"`
	Left Kept   `json:"left"`
}

// Kept is content that is kept byte for byte; the zero value is nothing.
type Kept struct {
	Mode string `json:"mode,omitempty"`
	OID  string `json:"oid,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// keepUndo stores what stands where will be written.
func keepUndo(ctx context.Context, all []*rewriting, keep func(Undo) error) error {
	if keep == nil {
		return nil
	}
	var u Undo
	for _, w := range all {
		if err := w.create(w.src); err != nil { // this directory may not have been read yet
			return err
		}
		for _, s := range w.steps {
			was, err := w.keepEntry(ctx, s.was)
			if err != nil {
				return fmt.Errorf("keeping what stands in %s: %w", s.path, err)
			}
			left := Kept{Mode: s.want.mode(), OID: s.want.oid(was.OID), Size: int64(len(s.want.bytes()))}
			u.Files = append(u.Files, UndoFile{Dir: w.dir, Top: w.src.top, Path: s.path, Was: was, Left: left})
		}
	}
	return keep(u)
}

func (w *rewriting) keepEntry(ctx context.Context, e *entry) (Kept, error) {
	if e == nil {
		return Kept{}, nil
	}
	out, err := w.run(ctx, w.src, e.data, "hash-object", "-w", "--stdin", "--no-filters")
	return Kept{Mode: e.mode(), OID: strings.TrimSpace(string(out)), Size: int64(len(e.data))}, err
}

// is reports whether an entry is what is kept.
func (k Kept) is(e *entry) bool {
	return k.Mode == e.mode() && k.Size == int64(len(e.bytes())) && k.OID == e.oid(k.OID)
}

// TakeBack undoes what was written, unless a file was written to since: then it is ErrConflict, and nothing is done.
func (s *Service) TakeBack(ctx context.Context, session string, u Undo) error {
	var all []*rewriting
	for _, dir := range u.dirs() {
		w, done, err := s.repo(session, dir).rewriting(ctx)
		if err != nil {
			return err
		}
		defer done()
		for _, f := range u.Files {
			if f.Dir != dir {
				continue
			}
			step, err := w.takeBack(ctx, f)
			if err != nil {
				return err
			}
			w.steps = append(w.steps, step)
		}
		all = append(all, w)
	}
	return carryAll(all)
}

func (u Undo) dirs() (dirs []string) {
	for _, f := range u.Files {
		dirs = append(dirs, f.Dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

func (w *rewriting) takeBack(ctx context.Context, f UndoFile) (step, error) {
	now, err := readEntry(w.root, f.Path)
	if err != nil {
		return step{}, err
	}
	if f.Top != w.src.top || !f.Left.is(now) {
		return step{}, fmt.Errorf("%w: %s was written to since", ErrConflict, f.Path)
	}
	if f.Was.Mode == "" {
		return step{f.Path, now, nil}, nil
	}
	data, err := w.run(ctx, w.src, nil, "cat-file", "blob", f.Was.OID)
	if err != nil {
		return step{}, fmt.Errorf("%w: what %s was is not kept any more", ErrConflict, f.Path)
	}
	return step{f.Path, now, &entry{link: f.Was.Mode == ModeSymlink, exec: f.Was.Mode == "100755", data: data}}, nil
}

const undoLooked = 8 << 20 // bytes read to see whether an undo still applies; beyond, sizes are compared

// Applies reports whether everything is as it was left, so that it can be taken back. It is quick,
// and looks at the sizes
// alone of what is large.
func (u Undo) Applies() bool {
	budget := int64(undoLooked)
	for _, f := range u.Files {
		root, err := os.OpenRoot(f.Top)
		if err != nil {
			return false
		}
		ok := f.Left.stands(root, f.Path, &budget)
		root.Close()
		if !ok {
			return false
		}
	}
	return true
}

func (k Kept) stands(root *os.Root, path string, budget *int64) bool {
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
	return err == nil && k.is(now)
}
