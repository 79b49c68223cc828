package changeset

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// Compare lists the differences between two checkpoints of a session, by directory and path. It
// skips a directory that only one of them has.
func (s *Service) Compare(ctx context.Context, ws machine.Workspace, from,
	to machine.Checkpoint) ([]machine.ChangedFile, error) {
	files := []machine.ChangedFile{}
	for _, new := range to.Trees {
		i := slices.IndexFunc(from.Trees, func(t machine.Tree) bool { return t.Dir == new.Dir && t.Top == new.Top })
		if i < 0 {
			continue
		}
		changed, err := s.repo(ws, new.Dir).compare(ctx, from.Trees[i], new)
		if err != nil {
			return nil, fmt.Errorf("comparing %s: %w", new.Dir, err)
		}
		files = append(files, changed...)
	}
	return files, nil
}

func (r *repo) compare(ctx context.Context, from, to machine.Tree) ([]machine.ChangedFile, error) {
	unlock, err := r.s.lock(ctx, r.git)
	if err != nil {
		return nil, err
	}
	defer unlock()
	files := []machine.ChangedFile{}
	if from.OID != to.OID {
		if files, err = r.changedFiles(ctx, source{top: to.Top, prefix: to.Prefix}, from.OID, to.OID); err != nil {
			return nil, err
		}
		if err := r.setGenerated(ctx, source{top: to.Top, prefix: to.Prefix}, files); err != nil {
			return nil, err
		}
	}
	files = append(files, skippedFiles(from, to)...)
	slices.SortFunc(files, func(a, b machine.ChangedFile) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// skippedFiles lists files that are not stored and whose size or time changed.
func skippedFiles(from, to machine.Tree) (files []machine.ChangedFile) {
	was := map[string]machine.SkippedFile{}
	for _, s := range from.SkippedBelow(to.Prefix) {
		was[s.Path] = s
	}
	for _, s := range to.Skipped {
		old, known := was[s.Path]
		delete(was, s.Path)
		if known && old.Size == s.Size && old.Time == s.Time {
			continue
		}
		f := machine.ChangedFile{Top: to.Top, Path: s.Path, Status: machine.FileAdded, NewMode: "100644",
			NewSize: s.Size, Binary: true, Skipped: s.Why}
		if known {
			f.Status, f.OldMode, f.OldSize = machine.FileModified, "100644", old.Size
		}
		files = append(files, f)
	}
	for _, s := range was {
		files = append(files, machine.ChangedFile{Top: to.Top, Path: s.Path, Status: machine.FileDeleted,
			OldMode: "100644", OldSize: s.Size, Binary: true, Skipped: s.Why})
	}
	return files
}

// parseDiff parses the output of --raw and --numstat with -z: all --raw records come first.
func parseDiff(in []string, top string) ([]machine.ChangedFile, error) {
	files, at := []machine.ChangedFile{}, map[string]int{}
	for len(in) > 0 {
		var err error
		if strings.HasPrefix(in[0], ":") {
			var f machine.ChangedFile
			if f, in, err = parseRaw(in); err == nil {
				f.Top = top
				at[f.Path] = len(files)
				files = append(files, f)
			}
		} else {
			in, err = parseNumstat(in, files, at)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

func parseRaw(in []string) (f machine.ChangedFile, rest []string, err error) {
	part := strings.Fields(strings.TrimPrefix(in[0], ":"))
	if len(part) != 5 || len(in) < 2 {
		return f, nil, fmt.Errorf("git wrote a record of a kind not known: %q", in[0])
	}
	f = machine.ChangedFile{OldMode: part[0], NewMode: part[1], OldOID: part[2], NewOID: part[3],
		Status: machine.FileStatus(part[4][0]), Path: in[1]}
	in = in[2:]
	if f.Status == machine.FileRenamed {
		if len(in) == 0 {
			return f, nil, fmt.Errorf("git wrote a renaming without its second name: %q", f.Path)
		}
		f.OldPath, f.Path, in = f.Path, in[0], in[1:]
	}
	if strings.Trim(f.OldMode, "0") == "" {
		f.OldMode, f.OldOID = "", ""
	}
	if strings.Trim(f.NewMode, "0") == "" {
		f.NewMode, f.NewOID = "", ""
	}
	return f, in, nil
}

func parseNumstat(in []string, files []machine.ChangedFile, at map[string]int) (rest []string, err error) {
	part := strings.SplitN(in[0], "\t", 3)
	if len(part) != 3 {
		return nil, fmt.Errorf("git wrote a count of a kind not known: %q", in[0])
	}
	path := part[2]
	rest = in[1:]
	if path == "" { // renamed: both names follow
		if len(rest) < 2 {
			return nil, fmt.Errorf("git wrote a count without its names: %q", in[0])
		}
		path, rest = rest[1], rest[2:]
	}
	i, known := at[path]
	if !known {
		return nil, fmt.Errorf("git counted lines of %q, which it did not list", path)
	}
	f := &files[i]
	if part[0] == "-" {
		f.Binary = true
		return rest, nil
	}
	if f.Additions, err = strconv.Atoi(part[0]); err == nil {
		f.Deletions, err = strconv.Atoi(part[1])
	}
	return rest, err
}

// sizes gets the size of every version in one run of git.
func (r *repo) sizes(ctx context.Context, src source, files []machine.ChangedFile) error {
	var ask bytes.Buffer
	for _, f := range files {
		for _, oid := range []string{f.OldOID, f.NewOID} {
			if oid != "" {
				fmt.Fprintln(&ask, oid)
			}
		}
	}
	if ask.Len() == 0 {
		return nil
	}
	out, err := r.trees(ctx, src, ask.Bytes(), "cat-file", "--batch-check=%(objectsize)")
	if err != nil {
		return err
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	next := func(oid string, size *int64) {
		if oid == "" || len(answers) == 0 {
			return
		}
		*size, _ = strconv.ParseInt(answers[0], 10, 64) // a submodule's commit is "missing": size 0
		answers = answers[1:]
	}
	for i := range files {
		next(files[i].OldOID, &files[i].OldSize)
		next(files[i].NewOID, &files[i].NewSize)
	}
	return nil
}
