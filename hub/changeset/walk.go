package changeset

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// Folder is a directory to be watched.
type Folder struct {
	Path   string
	Git    bool   // a git directory: only its HEAD, index and settings count
	Refs   bool   // a directory of branches
	Nested string // with Git: the submodule or nested repository whose commit it determines
}

// Walk visits every folder in which a change of these directories shows: folders of files,
// including empty but not ignored ones, and those of git. With below, it only visits folders of
// files at and below these paths. It visits a folder before reading it, so that a watch that starts
// there misses nothing. An error of visit ends the walk.
func (s *Service) Walk(ctx context.Context, ws machine.Workspace, dirs, below []string,
	visit func(Folder) error) error {
	dirs, err := distinct(dirs)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := s.repo(ws, dir).walk(ctx, below, visit); err != nil {
			return err
		}
	}
	return nil
}

func (r *repo) walk(ctx context.Context, below []string, visit func(Folder) error) error {
	src, err := r.s.locate(ctx, r.ws, r.dir)
	if err != nil {
		return err
	}
	roots := []string{src.root()}
	if below != nil {
		roots = roots[:0]
		for _, p := range below {
			if inside(p, src.root()) {
				roots = append(roots, p)
			}
		}
	}
	if len(roots) == 0 {
		return nil
	}
	w := walker{top: src.top, visit: visit,
		elsewhere: func(dir string) bool { return r.s.nestedElsewhere(ctx, src, r.ws, dir) }}
	if w.skip, err = r.ignoredFolders(ctx, src, roots); err != nil {
		return err
	}
	for _, root := range roots {
		if err := w.folder(root, root == src.root()); err != nil {
			return err
		}
	}
	if below != nil || src.gitDir == "" {
		return nil
	}
	return gitFolders(src.gitDir, src.common, visit)
}

// ignoredFolders lists wholly ignored folders, with slashes, and the host's own.
func (r *repo) ignoredFolders(ctx context.Context, src source, roots []string) (map[string]bool, error) {
	unlock, err := r.s.lock(ctx, r.git)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, root := range roots {
		if err := src.checkBelow(ctx, root); err != nil {
			return nil, err
		}
	}
	if err := r.prepare(src); err != nil {
		return nil, err
	}
	args := []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--"}
	for _, root := range roots {
		if rel, err := filepath.Rel(src.top, root); err == nil {
			args = append(args, filepath.ToSlash(rel))
		}
	}
	out, err := r.run(ctx, src, nil, args...)
	skip := map[string]bool{}
	for _, p := range fields(out) {
		if folder, ok := strings.CutSuffix(p, "/"); ok {
			skip[folder] = true
		}
	}
	for _, p := range r.s.ignored(src) {
		skip[p] = true
	}
	return skip, err
}

type walker struct {
	top   string
	skip  map[string]bool // paths below top with slashes
	visit func(Folder) error

	elsewhere func(dir string) bool // reports whether a nested repository leads out
}

func (w *walker) folder(path string, root bool) error {
	rel, err := filepath.Rel(w.top, path)
	if err != nil || w.skip[filepath.ToSlash(rel)] {
		return err
	}
	if !root {
		if git := gitOf(path); git != "" {
			if w.elsewhere(path) {
				return nil
			}
			return w.nested(path, git)
		}
	}
	if err := w.visit(Folder{Path: path}); err != nil {
		return err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil // gone meanwhile, or unreadable for git too
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == ".git" {
			continue
		}
		if err := w.folder(filepath.Join(path, e.Name()), false); err != nil {
			return err
		}
	}
	return nil
}

// nested visits the folder that shows a new commit in a nested repository: its logs, because HEAD's
// target may be anywhere.
func (w *walker) nested(path, git string) error {
	logs := filepath.Join(git, "logs")
	if info, err := os.Stat(logs); err == nil && info.IsDir() {
		if err := w.visit(Folder{Path: logs, Git: true, Nested: path}); err != nil {
			return err
		}
	}
	return w.visit(Folder{Path: git, Git: true, Nested: path})
}

// gitOf returns the git directory of a nested repository; "" for none.
func gitOf(path string) string {
	name := filepath.Join(path, ".git")
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		return name
	}
	target, err := gitFile(path)
	if err != nil {
		return ""
	}
	return target
}

// gitFolders visits the folders of the user's git that affect comparisons with commits and what is
// ignored.
func gitFolders(gitDir, common string, visit func(Folder) error) error {
	for _, d := range []string{gitDir, filepath.Join(gitDir, "info"), common, filepath.Join(common, "info")} {
		if info, err := os.Stat(d); err != nil || !info.IsDir() {
			continue
		}
		if err := visit(Folder{Path: d, Git: true}); err != nil {
			return err
		}
	}
	return walkRefs(filepath.Join(common, "refs"), visit)
}

// walkRefs visits a folder of branches and its subfolders.
func walkRefs(dir string, visit func(Folder) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // packed meanwhile
		}
		return visit(Folder{Path: path, Refs: true})
	})
}
