package changeset

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// keep packs what a tree holds that the last kept one does not, the user's objects included, so that the private
// repository stands alone when theirs is pruned or gone.
func (r *repo) keep(ctx context.Context, tree string) error {
	unlock, err := r.s.lock(ctx, r.git)
	if err != nil {
		return err
	}
	defer unlock()
	mark := filepath.Join(r.git, "kept")
	had, _ := os.ReadFile(mark) // none: everything is packed
	last := strings.TrimSpace(string(had))
	if last == tree {
		return nil
	}
	revs := tree + "\n"
	if last != "" {
		revs += "^" + last + "\n"
	}
	src := source{top: r.git}
	_, err = r.run(ctx, src, []byte(revs), "pack-objects", "--revs", "--missing=allow-any", "--quiet", "--threads=1", "--window=0",
		filepath.Join(r.git, "objects", "pack", "pack"))
	if err != nil {
		return err
	}
	if _, err := r.run(ctx, src, nil, "prune-packed", "--quiet"); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(tree+"\n"), 0o600)
}
