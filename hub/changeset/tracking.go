package changeset

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// Track reports whether git tracks or ignores a file: in its own repository, and in each one around
// it up to the directory's. Without a repository, nothing is tracked or ignored.
func (s *Service) Track(ctx context.Context, ws machine.Workspace, dir, path string) (machine.Tracking, error) {
	ctx, done := s.reading(ctx)
	defer done()
	src, err := s.locate(ctx, ws, filepath.Dir(path))
	if err != nil {
		return machine.Ignored, err
	}
	t, err := s.trackedIn(ctx, src, path)
	for err == nil && src.gitDir != "" && src.top != dir && inside(src.top, dir) {
		top := src.top
		if src, err = s.locate(ctx, ws, filepath.Dir(top)); err != nil || src.gitDir == "" {
			return t, err
		}
		var outer machine.Tracking
		outer, err = s.trackedIn(ctx, src, top)
		t = min(t, outer)
	}
	return t, err
}

func (s *Service) trackedIn(ctx context.Context, src source, path string) (machine.Tracking, error) {
	if src.gitDir == "" {
		return machine.Untracked, nil
	}
	rel, err := filepath.Rel(src.top, path)
	if err != nil || !filepath.IsLocal(rel) {
		return machine.Ignored, err
	}
	if err := errors.Join(src.checkTop(), src.checkParents([]string{filepath.ToSlash(rel)})); err != nil {
		return machine.Ignored, err
	}
	args := []string{"ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard", "--", filepath.ToSlash(rel)}
	out, err := s.theirs(ctx, src, args...)
	t := machine.Ignored
	for _, line := range fields(out) {
		tag, name, _ := strings.Cut(line, " ")
		switch {
		case strings.TrimSuffix(name, "/") != filepath.ToSlash(rel):
		case tag == "?":
			t = max(t, machine.Untracked)
		default:
			t = machine.Tracked
		}
	}
	return t, err
}

// TrackedFiles lists the tracked files in the directories' repositories as absolute paths, in that
// order.
func (s *Service) TrackedFiles(ctx context.Context, ws machine.Workspace, dirs []string) (paths []string, err error) {
	tops := map[string]bool{}
	for _, dir := range dirs {
		src, err := s.locate(ctx, ws, dir)
		if err != nil {
			return nil, err
		}
		if src.gitDir == "" || tops[src.top] {
			continue
		}
		tops[src.top] = true
		out, err := s.theirs(ctx, src, "ls-files", "-z", "--cached")
		if err != nil {
			return nil, err
		}
		for _, name := range fields(out) {
			paths = append(paths, filepath.Join(src.top, filepath.FromSlash(name)))
		}
	}
	slices.Sort(paths)
	return paths, nil
}
