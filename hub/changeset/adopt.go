package changeset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// Adopt copies another session's checkpoints of some directories, so that this session can compare
// them too. Content is hard-linked, not copied.
func (s *Service) Adopt(ctx context.Context, ws machine.Workspace, from string, dirs []string) error {
	for _, dir := range dirs {
		if err := s.repo(ws, dir).adopt(ctx, s.repo(machine.Workspace{Session: from}, dir)); err != nil {
			return fmt.Errorf("taking over checkpoints of %s: %w", dir, err)
		}
	}
	return nil
}

// adopt links the objects of another repository of the same directory. Objects never change, and
// the locks on both repositories keep packs from being removed. Objects added meanwhile belong to
// later checkpoints.
func (r *repo) adopt(ctx context.Context, from *repo) error {
	if _, err := os.Stat(from.git); errors.Is(err, fs.ErrNotExist) {
		return nil // it has no checkpoint yet
	}
	names := []string{r.git + keepLock, from.git + keepLock}
	slices.Sort(names) // a fixed order prevents deadlocks
	for _, name := range slices.Compact(names) {
		unlock, err := r.s.lock(ctx, name)
		if err != nil {
			return err
		}
		defer unlock()
	}
	for _, name := range []string{"HEAD", "config", "objects/info/alternates"} {
		if err := link(filepath.Join(from.git, name), filepath.Join(r.git, name), copyFile); err != nil {
			return err
		}
	}
	for _, d := range []string{"objects/pack", "refs/heads", "info"} {
		if err := os.MkdirAll(filepath.Join(r.git, d), 0o700); err != nil {
			return err
		}
	}
	err := r.linkObjects(filepath.Join(from.git, "objects"))
	return errors.Join(err, r.joinPacks(ctx, source{top: r.git}))
}

func (r *repo) linkObjects(objects string) error {
	var names, indexes []string // git considers a pack present once its index is
	err := filepath.WalkDir(objects, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(objects, path)
		switch {
		case err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "tmp_") || filepath.Dir(name) == "info":
		case filepath.Ext(name) == ".idx":
			indexes = append(indexes, name)
		default:
			names = append(names, name)
		}
		return err
	})
	for _, name := range append(names, indexes...) {
		err = errors.Join(err, link(filepath.Join(objects, name), filepath.Join(r.git, "objects", name), linkFile))
	}
	return err
}

// link links a file unless the target exists.
func link(from, to string, how func(from, to string) error) error {
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return how(from, to)
}

// linkFile copies if the file system has no hard links.
func linkFile(from, to string) error {
	if err := os.Link(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return copyFile(from, to)
}
