package changeset

import (
	"context"
	"path"
	"path/filepath"
	"slices"
)

// Folders lists the directories in which a change would count, those that are ignored left out, and the git directories
// whose HEAD and index matter; for whoever watches them. more is true when there are over the given number.
func (s *Service) Folders(ctx context.Context, session string, dirs []string, most int) (folders []string, more bool, err error) {
	seen := map[string]bool{}
	for _, dir := range outermost(dirs) {
		r := s.repo(session, dir)
		src, err := s.locate(ctx, dir)
		if err != nil {
			return nil, false, err
		}
		paths, err := r.list(ctx, src)
		if err != nil {
			return nil, false, err
		}
		seen[dir] = true
		if src.gitDir != "" {
			seen[src.gitDir] = true
		}
		for _, p := range paths {
			addParents(seen, src, p)
			if len(seen) > most {
				return nil, true, nil
			}
		}
	}
	for d := range seen {
		folders = append(folders, d)
	}
	slices.Sort(folders)
	return folders, false, nil
}

// list names every file that counts: known ones and those not ignored.
func (r *repo) list(ctx context.Context, src source) ([]string, error) {
	unlock, err := r.s.lock(ctx, r.git)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := r.prepare(src); err != nil {
		return nil, err
	}
	args := []string{"ls-files", "-z", "--cached", "--others", "--exclude-standard"}
	out, err := r.run(ctx, src, nil, append(args, src.pathspec()...)...)
	return fields(out), err
}

// addParents stops at the first directory that is known: its parents are too.
func addParents(seen map[string]bool, src source, p string) {
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		full := filepath.Join(src.top, filepath.FromSlash(d))
		if seen[full] || !inside(full, src.dir) {
			return
		}
		seen[full] = true
	}
}
