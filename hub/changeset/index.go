package changeset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// index holds the differences between one worktree's index and the last commit.
type index struct {
	stamp string                        // of the file, taken before reading
	files map[string]machine.StagedFile // by path below the top
}

// index reads the person's index without writing to it. If it equals the last commit it lists
// nothing.
func (r *repo) index(ctx context.Context, src source) (*index, error) {
	x := &index{files: map[string]machine.StagedFile{}}
	if src.gitDir == "" {
		return x, nil
	}
	if err := r.prepare(src); err != nil {
		return nil, err
	}
	x.stamp = stampOf(filepath.Join(src.gitDir, "index"))
	tree, err := r.s.headTree(ctx, src)
	if err == nil && tree == "" {
		tree, err = r.emptyTree(ctx, src)
	}
	if err != nil {
		return nil, err
	}
	args := []string{"diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff",
		"--no-textconv", tree}
	out, err := r.theirIndex(ctx, src, append(args, src.pathspec()...)...)
	if err != nil {
		return nil, err
	}
	return x, x.parse(fields(out))
}

// theirIndex runs a command that only reads the person's index, without their configuration.
func (r *repo) theirIndex(ctx context.Context, src source, args ...string) ([]byte, error) {
	return r.s.git(ctx, run{of: src, dir: src.top, config: src.config, args: args, env: append(isolated(),
		"GIT_DIR="+r.git, "GIT_WORK_TREE="+src.top, "GIT_INDEX_FILE="+filepath.Join(src.gitDir, "index"))})
}

func (r *repo) emptyTree(ctx context.Context, src source) (string, error) {
	out, err := r.run(ctx, src, []byte{}, "mktree")
	return strings.TrimSpace(string(out)), err
}

func (x *index) parse(in []string) error {
	for len(in) > 0 {
		f, rest, err := parseRaw(in)
		if err != nil {
			return err
		}
		x.files[f.Path] = machine.StagedFile{HeadMode: f.OldMode, HeadOID: f.OldOID, Mode: f.NewMode, OID: f.NewOID,
			Unmerged: f.Status == 'U'}
		in = rest
	}
	return nil
}

// version returns the index's version of a path, given that of the last commit.
func (x *index) version(path, headMode, headOID string) (mode, oid string) {
	if i, ok := x.files[path]; ok && !i.Unmerged {
		return i.Mode, i.OID
	}
	return headMode, headOID
}

// stampOf returns a stamp that changes with a file.
func stampOf(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// Staging reads the person's indexes; it runs and writes nothing of theirs.
func (s *Service) Staging(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Staging, error) {
	out := machine.Staging{Tops: map[string]map[string]machine.StagedFile{}, Stamp: machine.Stamp{}}
	dirs, err := distinct(dirs)
	if err != nil {
		return out, err
	}
	for _, dir := range dirs {
		src, x, err := s.repo(ws, dir).readIndex(ctx)
		if err != nil {
			return out, fmt.Errorf("reading the index of %s: %w", dir, err)
		}
		if src.gitDir == "" {
			continue
		}
		out.Stamp[filepath.Join(src.gitDir, "index")] = x.stamp
		out.Repositories++
		out.Files += len(x.files)
		if busy := src.busy(); busy != "" {
			out.Busy = busy
		}
		if had := out.Tops[src.top]; had != nil { // two directories of one worktree
			maps.Copy(had, x.files)
			continue
		}
		out.Tops[src.top] = x.files
	}
	return out, nil
}

func (r *repo) readIndex(ctx context.Context) (source, *index, error) {
	unlock, err := r.s.lock(ctx, r.git)
	if err != nil {
		return source{}, nil, err
	}
	defer unlock()
	src, err := r.s.locate(ctx, r.ws, r.dir)
	if err != nil {
		return src, nil, err
	}
	x, err := r.index(ctx, src)
	return src, x, err
}

// busy returns the unfinished operation in a repository, such as a merge; "" for none.
func (src source) busy() string {
	for _, b := range [][2]string{{"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"}, {"MERGE_HEAD", "a merge"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"}, {"REVERT_HEAD", "a revert"}} {
		if _, err := os.Stat(filepath.Join(src.gitDir, b[0])); err == nil {
			return b[1]
		}
	}
	return ""
}

var errLocked = fmt.Errorf(
	"%w: another git process has locked the index. Try again, or remove index.lock if no git is running",
	machine.ErrConflict)

// act runs git as the person would. A locked index or any other refusal is ErrConflict, with git's
// message.
func (w *rewriting) act(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	out, err := w.s.git(ctx, run{of: w.src, dir: w.src.top, stdin: stdin, args: args, env: w.indexFile, acting: true,
		box: w.s.boxOf(w.src)})
	return out, refusal(err)
}

func refusal(err error) error {
	var g *gitError
	switch {
	case err == nil || !hasExited(err) || !errors.As(err, &g):
		return err
	case strings.Contains(g.stderr, ".lock': File exists"):
		return errLocked
	}
	return fmt.Errorf("%w: git reported: %s", machine.ErrConflict, g.message())
}
