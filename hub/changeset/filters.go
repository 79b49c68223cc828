package changeset

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// isTrusted reports whether the owner allows the filters of a repository to run for reading.
func (s *Service) isTrusted(top string) bool {
	return slices.ContainsFunc(s.cfg.TrustFilters, func(dir string) bool { return inside(top, filepath.Clean(dir)) })
}

// filterConfig returns the filters in the person's configuration, as arguments; none for a
// repository that is not trusted. Git LFS looks for objects in the person's repository.
// The programs of a sandboxed session can write the repository's own configuration, so only the
// person's counts.
func (s *Service) filterConfig(ctx context.Context, src source) []string {
	if !s.isTrusted(src.top) {
		return nil
	}
	if src.boxed || src.sandbox != nil {
		out, err := s.git(ctx, run{of: src, dir: string(filepath.Separator), env: []string{"GIT_DIR=" + os.DevNull},
			args: []string{"config", "-z", "--list", "--show-origin"}})
		if err != nil {
			return nil // none is known to be the person's
		}
		src.settings = parseSettings(fields(out))
	}
	args := src.args(func(key string) bool {
		return strings.HasPrefix(key, "filter.") ||
			strings.HasPrefix(key, "lfs.")
	})
	return append(args, "-c", "lfs.storage="+filepath.Join(src.common, "lfs"))
}

// filters returns the names of active filters in the person's repository that do not run for reading.
func (s *Service) filters(src source) map[string]bool {
	names := map[string]bool{}
	for _, set := range src.settings {
		rest, ok := strings.CutPrefix(set.key, "filter.")
		i := strings.LastIndexByte(rest, '.')
		if ok && i >= 0 && set.value != "" && slices.Contains([]string{"clean", "smudge", "process"}, rest[i+1:]) {
			names[rest[:i]] = true
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { // trusted
		return slices.ContainsFunc(src.config, func(arg string) bool { return strings.HasPrefix(arg, "filter."+name+".") })
	})
	return names
}

// checkUnfiltered refuses to write a file whose content passes through a filter.
func (w *rewriting) checkUnfiltered(ctx context.Context, path string) (err error) {
	if w.filters == nil {
		w.filters = w.s.filters(w.src)
	}
	if len(w.filters) == 0 {
		return nil
	}
	out, err := w.s.theirs(ctx, w.src, "check-attr", "-z", "filter", "--", path)
	if err != nil {
		return err
	}
	if f := fields(out); len(f) == 3 && w.filters[f[2]] {
		return fmt.Errorf("%w: %s uses the filter %q, which only runs in directories named by --trust-filters. Use "+
			"git in a terminal", machine.ErrConflict, path, f[2])
	}
	return nil
}
