package changeset

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub/machine"
)

// counted holds git's counts for two versions of a file.
type counted struct {
	additions, deletions int
	binary               bool
	oldSize, newSize     int64
}

// versions names two versions of a file; a missing side is "". The path is included because
// attributes depend on it.
type versions struct{ path, old, new, oldMode, newMode string }

func versionsOf(f *machine.ChangedFile) versions {
	return versions{f.Path, f.OldOID, f.NewOID, f.OldMode, f.NewMode}
}

func countedOf(f *machine.ChangedFile) counted {
	return counted{f.Additions, f.Deletions, f.Binary, f.OldSize, f.NewSize}
}

func setCounted(f *machine.ChangedFile, c counted) {
	f.Additions, f.Deletions, f.Binary, f.OldSize, f.NewSize = c.additions, c.deletions, c.binary, c.oldSize, c.newSize
}

// mostCounted limits remembered comparisons of one directory; fewAsked limits the files that are
// passed to git by name.
const (
	mostCounted = 20_000
	fewAsked    = 200
)

// countKnown fills in remembered counts and returns the names of all other files.
func (r *repo) countKnown(files []machine.ChangedFile) (unknown []string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	had := r.s.counts[r.git]
	for i := range files {
		f := &files[i]
		if c, ok := had[versionsOf(f)]; ok {
			setCounted(f, c)
			continue
		}
		unknown = append(unknown, f.Path)
		if f.OldPath != "" {
			unknown = append(unknown, f.OldPath)
		}
	}
	return unknown
}

func (r *repo) rememberCounts(files []machine.ChangedFile) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	had := r.s.counts[r.git]
	if had == nil || len(had)+len(files) > mostCounted {
		had = map[versions]counted{}
		r.s.counts[r.git] = had
	}
	for i := range files {
		had[versionsOf(&files[i])] = countedOf(&files[i])
	}
}

// changedFiles lists the differences between two trees. It counts lines only for pairs of versions
// not compared before: after one file is written, only for that file.
func (r *repo) changedFiles(ctx context.Context, src source, from, to string) ([]machine.ChangedFile, error) {
	files, err := r.namesChanged(ctx, src, from, to)
	if err != nil {
		return nil, err
	}
	unknown := r.countKnown(files)
	if len(unknown) == 0 {
		return files, nil
	}
	if len(unknown) <= fewAsked {
		few, err := r.countTree(ctx, src, from, to, append([]string{"--"}, unknown...))
		if err != nil {
			return nil, err
		}
		r.rememberCounts(few)
		if len(r.countKnown(files)) == 0 {
			return files, nil
		}
	}
	if files, err = r.countTree(ctx, src, from, to, src.pathspec()); err == nil {
		r.rememberCounts(files)
	}
	return files, err
}

// namesChanged lists the differences between two trees without reading the work tree. Then it
// checks the attribute files that apply to them, which counting lines reads.
func (r *repo) namesChanged(ctx context.Context, src source, from, to string) ([]machine.ChangedFile, error) {
	stored := src
	stored.top = r.git
	files, err := r.diffTree(ctx, stored, from, to, src.pathspec())
	var paths []string
	for i := range files {
		files[i].Top = src.top
		paths = append(paths, files[i].Path)
	}
	return files, errors.Join(err, src.checkParents(paths))
}

func (r *repo) diffTree(ctx context.Context, src source, from, to string, pathspec []string,
	more ...string) ([]machine.ChangedFile, error) {
	args := []string{"diff-tree", "-r", "-z", "-M", "-l1000", "--raw", "--no-abbrev", "--no-ext-diff", "--no-textconv"}
	args = append(append(append(args, more...), from, to), pathspec...)
	out, err := r.trees(ctx, src, nil, args...)
	if err != nil {
		return nil, err
	}
	return parseDiff(fields(out), src.top)
}

// countTree lists the differences with lines and sizes.
func (r *repo) countTree(ctx context.Context, src source, from, to string,
	pathspec []string) ([]machine.ChangedFile, error) {
	files, err := r.diffTree(ctx, src, from, to, pathspec, "--numstat")
	if err != nil {
		return nil, err
	}
	return files, r.sizes(ctx, src, files)
}

func (s *Service) forgetCounts(r *repo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.counts, r.git)
}
