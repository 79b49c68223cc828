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

// filtered names the filter a path goes through in the person's repository, "" for none that does anything.
func (s *Service) filtered(ctx context.Context, src source, path string) (string, error) {
	if src.gitDir == "" || s.trusted(src.top) {
		return "", nil
	}
	out, err := s.git(ctx, run{dir: src.top, args: []string{"check-attr", "-z", "filter", "--", path}})
	if err != nil {
		return "", err
	}
	f := fields(out)
	if len(f) != 3 || slices.Contains([]string{"unspecified", "unset", "set", ""}, f[2]) {
		return "", nil
	}
	for _, kind := range []string{"clean", "smudge", "process"} {
		if v, err := s.ask(ctx, src, "config", "--get", "filter."+f[2]+"."+kind); err != nil || v != "" {
			return f[2], err
		}
	}
	return "", nil
}

// unfiltered refuses to write a file whose content a filter would make.
func (r *repo) unfiltered(ctx context.Context, src source, path string) error {
	name, err := r.s.filtered(ctx, src, path)
	if err != nil || name == "" {
		return err
	}
	return fmt.Errorf("%w: %s goes through the filter %q, which runs only in directories named by --trust-filters: use git in a terminal", ErrConflict, path, name)
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
