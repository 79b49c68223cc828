package changeset

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const keepLock = "#keep"

// keep packs the objects of a tree that the last kept one lacks, including those borrowed from the
// user, so that the private repository is complete if theirs is pruned or removed. It has a
// separate lock: the first pack of a large repository takes long and must not delay other work.
func (r *repo) keep(ctx context.Context, tree string) error {
	unlock, err := r.s.lock(ctx, r.git+keepLock)
	if err != nil {
		return err
	}
	defer unlock()
	mark := filepath.Join(r.git, "kept")
	had, _ := os.ReadFile(mark) // without a mark, everything is packed
	last := strings.TrimSpace(string(had))
	if last == tree {
		return nil
	}
	revs := tree + "\n"
	if last != "" {
		revs += "^" + last + "\n"
	}
	src := source{top: r.git}
	_, err = r.pack(ctx, src, []byte(revs), "--revs", "--missing=allow-any", "--quiet", "--threads=1", "--window=0",
		filepath.Join(r.git, "objects", "pack", "pack"))
	if err != nil {
		return err
	}
	if err := r.prune(ctx, src); err != nil {
		return err
	}
	if err := os.WriteFile(mark, []byte(tree+"\n"), 0o600); err != nil {
		return err
	}
	return r.joinPacks(ctx, src)
}

// prune removes loose objects that are packed now, and empty directories. The lock excludes
// writers, which would miss a removed directory.
func (r *repo) prune(ctx context.Context, src source) error {
	unlock, err := r.s.lock(ctx, r.git)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = r.run(ctx, src, nil, "prune-packed", "--quiet")
	return err
}

// pack runs in the background, with a longer timeout.
func (r *repo) pack(ctx context.Context, src source, stdin []byte, args ...string) ([]byte, error) {
	return r.s.git(ctx, r.on(src, run{stdin: stdin, args: append([]string{"pack-objects"}, args...),
		patience: r.s.cfg.Timeout}))
}

const mostPacks = 30

// joinPacks merges packs into one, because git searches them one after the other.
func (r *repo) joinPacks(ctx context.Context, src source) error {
	dir := filepath.Join(r.git, "objects", "pack")
	indexes, err := filepath.Glob(filepath.Join(globEscape(dir), "pack-*.idx"))
	if err != nil || len(indexes) <= mostPacks {
		return err
	}
	var names []byte
	for _, idx := range indexes {
		names = append(names, strings.TrimSuffix(filepath.Base(idx), ".idx")+".pack\n"...)
	}
	out, err := r.pack(ctx, src, names, "--stdin-packs", "--quiet", "--threads=1", "--window=0",
		filepath.Join(dir, "pack"))
	if err != nil {
		return err
	}
	joined := "pack-" + strings.TrimSpace(string(out))
	for _, idx := range indexes {
		if base := strings.TrimSuffix(idx, ".idx"); filepath.Base(base) != joined {
			err = errors.Join(err, os.Remove(idx), os.Remove(base+".pack"), removeIfThere(base+".rev"))
		}
	}
	return err
}

func removeIfThere(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
