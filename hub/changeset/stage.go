package changeset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

const ownRepository = "a separate git repository" // why a nested repository is not stored

// Stage adds uncommitted changes, or some lines of one file, to the person's index. Filters run, as
// for git add. It returns the number of files staged.
func (s *Service) Stage(ctx context.Context, ws machine.Workspace, tops []machine.Tree, files []machine.ChangedFile,
	lines *machine.Lines) (int, error) {
	return s.onIndex(ctx, ws, tops, files, func(w *rewriting, of []machine.ChangedFile) (int, error) {
		if lines != nil {
			return 1, w.stageLines(ctx, of[0], *lines)
		}
		return w.stage(ctx, of)
	})
}

// Unstage restores the index's version of files to the last commit's. Without files, it restores
// everything below the directories, including files that are not shown.
func (s *Service) Unstage(ctx context.Context, ws machine.Workspace, tops []machine.Tree, files []machine.ChangedFile,
	lines *machine.Lines) (int, error) {
	return s.onIndex(ctx, ws, tops, files, func(w *rewriting, of []machine.ChangedFile) (int, error) {
		if lines != nil {
			return 1, w.unstageLines(ctx, of[0], *lines)
		}
		return w.unstage(ctx, w.stagedOf(of, files == nil))
	})
}

// onIndex calls do for each work tree that has some of the files.
func (s *Service) onIndex(ctx context.Context, ws machine.Workspace, tops []machine.Tree, files []machine.ChangedFile,
	do func(*rewriting, []machine.ChangedFile) (int, error)) (n int, err error) {
	for _, t := range tops {
		of := filesOf(t, files)
		if files != nil && len(of) == 0 {
			continue
		}
		some, err := s.repo(ws, t.Dir).onIndex(ctx, of, do)
		if n += some; err != nil {
			return n, err
		}
	}
	return n, nil
}

func (r *repo) onIndex(ctx context.Context, of []machine.ChangedFile, do func(*rewriting, []machine.ChangedFile) (int,
	error)) (int, error) {
	w, done, err := r.rewriting(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if w.src.gitDir == "" {
		return 0, fmt.Errorf("%w: %s is in no git repository", machine.ErrConflict, r.dir)
	}
	if w.index, err = r.index(ctx, w.src); err != nil {
		return 0, err
	}
	return do(w, of)
}

func (w *rewriting) stage(ctx context.Context, files []machine.ChangedFile) (int, error) {
	var paths []string
	for _, f := range files {
		if f.Skipped == ownRepository {
			return 0, fmt.Errorf("%w: %s is a separate git repository. Add it as a submodule in a terminal, or "+
				"ignore it",
				machine.ErrConflict, f.Path)
		}
		paths = append(paths, f.Paths()...)
	}
	paths, gone := behindLinks(w.src.top, paths)
	if len(gone) > 0 {
		if _, err := w.act(ctx, lines0(gone), "update-index", "--force-remove", "-z", "--stdin"); err != nil {
			return 0, err
		}
	}
	_, err := w.act(ctx, lines0(paths), "update-index", "--add", "--remove", "--replace", "-z", "--stdin")
	return len(files), err
}

// lines0 joins paths for git's -z input.
func lines0(paths []string) []byte {
	var b bytes.Buffer
	for _, p := range paths {
		b.WriteString(p + "\x00")
	}
	return append([]byte{}, b.Bytes()...)
}

// stagedOf returns the paths of files that differ in the index.
func (w *rewriting) stagedOf(files []machine.ChangedFile, all bool) (paths []string) {
	if all {
		for path, i := range w.index.files {
			if !i.Unmerged {
				paths = append(paths, path)
			}
		}
		return paths
	}
	for _, f := range files {
		for _, path := range f.Paths() {
			if i, ok := w.index.files[path]; ok && !i.Unmerged {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

func (w *rewriting) unstage(ctx context.Context, paths []string) (int, error) {
	var list strings.Builder
	for _, path := range paths {
		i := w.index.files[path]
		list.WriteString(w.entryLine(path, i.HeadMode, i.HeadOID))
	}
	if list.Len() == 0 {
		return 0, nil
	}
	return len(paths), w.updateIndex(ctx, list.String())
}

// entryLine formats a line for update-index --index-info: an entry, or its removal.
func (w *rewriting) entryLine(path, mode, oid string) string {
	if mode == "" {
		mode, oid = "0", strings.Repeat("0", w.src.hashLen())
	}
	return mode + " " + oid + "\t" + path + "\x00"
}

func (src source) hashLen() int {
	if src.format == "sha256" {
		return 64
	}
	return 40
}

func (w *rewriting) updateIndex(ctx context.Context, list string) error {
	_, err := w.act(ctx, []byte(list), "update-index", "-z", "--index-info")
	return err
}

// three holds the stored versions of a file: in the last commit, in the index, and in the work
// tree.
type three struct {
	head, index, work *entry
	indexMode         string
}

// threeOf reads the versions. Until a renamed file is staged, the index has its old name.
func (w *rewriting) threeOf(ctx context.Context, f machine.ChangedFile) (v three, err error) {
	if err := errors.Join(kept(f), w.checkUnfiltered(ctx, f.Path)); err != nil {
		return v, err
	}
	mode, oid := w.indexVersion(f)
	v.indexMode = mode
	for _, one := range []struct {
		to        **entry
		mode, oid string
	}{{&v.head, f.OldMode, f.OldOID}, {&v.index, mode, oid}, {&v.work, f.NewMode, f.NewOID}} {
		if *one.to, err = w.stored(ctx, f.Path, one.mode, one.oid); err != nil {
			return v, err
		}
		if why := hasLines(*one.to, f.Path); why != "" {
			return v, fmt.Errorf("%w: %s", machine.ErrConflict, why)
		}
	}
	if w.index.files[f.Path].Unmerged {
		return v, fmt.Errorf("%w: %s has conflicts. Resolve them, then stage the whole file", machine.ErrConflict,
			f.Path)
	}
	return v, nil
}

func (w *rewriting) indexVersion(f machine.ChangedFile) (mode, oid string) {
	if f.OldPath == "" {
		return w.index.version(f.Path, f.OldMode, f.OldOID)
	}
	if mode, oid = w.index.version(f.Path, "", ""); mode != "" {
		return mode, oid
	}
	return w.index.version(f.OldPath, f.OldMode, f.OldOID)
}

// stored reads a version without filters from the session's repository, which borrows the person's
// objects.
func (w *rewriting) stored(ctx context.Context, path, mode, oid string) (*entry, error) {
	if mode == "" {
		return nil, nil
	}
	data, err := w.run(ctx, w.src, nil, "cat-file", "blob", oid)
	if err != nil {
		return nil, fmt.Errorf("%w: a version of %s is no longer stored", machine.ErrConflict, path)
	}
	return &entry{link: mode == machine.ModeSymlink, exec: mode == "100755", data: data}, nil
}

func nothingThere(n int, path string) error {
	if n > 0 {
		return nil
	}
	return fmt.Errorf("%w: these lines of %s have no changes", machine.ErrConflict, path)
}

// stageLines stages some of the differences between the index and the work tree. Line numbers of
// the old side refer to the last commit.
func (w *rewriting) stageLines(ctx context.Context, f machine.ChangedFile, l machine.Lines) error {
	v, err := w.threeOf(ctx, f)
	if err != nil {
		return err
	}
	if l.Before {
		l = follow(v.index.bytes(), v.head.bytes(), l)
	}
	data, n := mix(v.index.bytes(), v.work.bytes(), l, true)
	if err := nothingThere(n, f.Path); err != nil {
		return fmt.Errorf("%w, or they are staged", err)
	}
	mode := v.indexMode
	if mode == "" {
		mode = f.NewMode
	}
	if f.NewMode == "" && len(data) == 0 {
		mode = "" // the last line of a deleted file
	}
	return w.putLines(ctx, f, mode, data)
}

// unstageLines undoes some of the differences between the last commit and the index. Line numbers
// of the new side refer to the work tree.
func (w *rewriting) unstageLines(ctx context.Context, f machine.ChangedFile, l machine.Lines) error {
	v, err := w.threeOf(ctx, f)
	if err != nil {
		return err
	}
	if !l.Before {
		l = follow(v.index.bytes(), v.work.bytes(), l)
	}
	data, n := mix(v.head.bytes(), v.index.bytes(), l, false)
	if nothingThere(n, f.Path) != nil {
		return fmt.Errorf("%w: these lines of %s are not staged", machine.ErrConflict, f.Path)
	}
	mode := v.indexMode
	if mode == "" {
		mode = f.OldMode
	}
	if v.head == nil && len(data) == 0 {
		mode = "" // the last line of a new file
	}
	return w.putLines(ctx, f, mode, data)
}

// follow maps lines of y to those of x; an empty selection if there are none.
func follow(x, y []byte, l machine.Lines) machine.Lines {
	out, ok := carried(x, y, l)
	if !ok {
		return machine.Lines{Before: l.Before, From: -1, To: -1}
	}
	return out
}

// putLines writes content to the person's index without filters; the file has none.
func (w *rewriting) putLines(ctx context.Context, f machine.ChangedFile, mode string, data []byte) error {
	oid := ""
	if mode != "" {
		out, err := w.act(ctx, append([]byte{}, data...), "hash-object", "-w", "--stdin", "--no-filters")
		if err != nil {
			return err
		}
		oid = strings.TrimSpace(string(out))
	}
	list := w.entryLine(f.Path, mode, oid)
	if f.OldPath != "" {
		list = w.entryLine(f.OldPath, "", "") + list
	}
	return w.updateIndex(ctx, list)
}
