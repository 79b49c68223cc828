package changeset

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// trusted tells whether the owner lets the filters of a repository run when it is looked at.
func (s *Service) trusted(top string) bool {
	return slices.ContainsFunc(s.cfg.TrustFilters, func(dir string) bool { return inside(top, filepath.Clean(dir)) })
}

// filterConfig are the filters that the person's configuration names, as arguments; none of a repository that is not
// trusted. Git LFS looks for objects where the person's repository has them.
func (s *Service) filterConfig(ctx context.Context, src source) ([]string, error) {
	if !s.trusted(src.top) {
		return nil, nil
	}
	args, err := s.configArgs(ctx, src.dir, `^(filter|lfs)\.`)
	return append(args, "-c", "lfs.storage="+filepath.Join(src.common, "lfs")), err
}

// filters are the names of those that do something in the person's repository; none where they are trusted.
func (s *Service) filters(ctx context.Context, src source) (map[string]bool, error) {
	names := map[string]bool{}
	if src.gitDir == "" || s.trusted(src.top) {
		return names, nil
	}
	args, err := s.configArgs(ctx, src.dir, `^filter\..*\.(clean|smudge|process)$`)
	for _, arg := range args {
		if key, value, ok := strings.Cut(arg, "="); ok && value != "" {
			key = strings.TrimPrefix(key, "filter.")
			names[key[:strings.LastIndexByte(key, '.')]] = true
		}
	}
	return names, err
}

// unfiltered refuses to write a file whose content a filter would make.
func (w *rewriting) unfiltered(ctx context.Context, path string) (err error) {
	if w.filters == nil {
		if w.filters, err = w.s.filters(ctx, w.src); err != nil {
			return err
		}
	}
	if len(w.filters) == 0 {
		return nil
	}
	out, err := w.s.git(ctx, run{dir: w.src.top, args: []string{"check-attr", "-z", "filter", "--", path}})
	if err != nil {
		return err
	}
	if f := fields(out); len(f) == 3 && w.filters[f[2]] {
		return fmt.Errorf("%w: %s goes through the filter %q, which runs only in directories named by --trust-filters: use git in a terminal", ErrConflict, path, f[2])
	}
	return nil
}

// configArgs are the settings whose names match, as arguments of git.
func (s *Service) configArgs(ctx context.Context, dir, names string) (args []string, err error) {
	out, err := s.git(ctx, run{dir: dir, args: []string{"config", "-z", "--get-regexp", names}})
	if err != nil {
		if exited(err) {
			return nil, nil // none is set
		}
		return nil, err
	}
	for _, f := range fields(out) {
		name, value, valued := strings.Cut(f, "\n")
		if !valued {
			value = "true"
		}
		args = append(args, "-c", name+"="+value)
	}
	return args, nil
}
