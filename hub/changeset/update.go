package changeset

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ahphub/ahphub/hub/machine"
)

// update brings the private index up to date with the files, and returns those not stored. Three
// concurrent runs of git, each over all files, find what to write.
func (r *repo) update(ctx context.Context, src source) ([]machine.SkippedFile, error) {
	var dropped, changed, fresh []string
	var skipped []machine.SkippedFile
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { dropped, err = r.nowIgnored(gctx, src); return err })
	g.Go(func() (err error) { changed, err = r.changed(gctx, src); return err })
	g.Go(func() (err error) { fresh, skipped, err = r.untracked(gctx, src); return err })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := r.drop(ctx, src, dropped); err != nil {
		return nil, err
	}
	changed = slices.DeleteFunc(changed, func(path string) bool { return slices.Contains(dropped, path) })
	unread, err := r.store(ctx, src, append(changed, fresh...))
	return bySkippedPath(append(skipped, unread...)), err
}

// store brings paths of the private index up to date, and returns unreadable files.
func (r *repo) store(ctx context.Context, src source, paths []string) (unread []machine.SkippedFile, err error) {
	paths, hidden := behindLinks(src.top, paths)
	if err := r.drop(ctx, src, hidden); err != nil {
		return nil, err
	}
	if err := src.checkParents(paths); err != nil {
		return nil, err
	}
	var list bytes.Buffer
	for _, path := range paths {
		if r.leadsElsewhere(ctx, src, path) {
			unread = append(unread, machine.SkippedFile{Path: path, Why: elsewhere})
			continue
		}
		if why := r.s.unreadable(filepath.Join(src.top, filepath.FromSlash(path))); why != "" {
			unread = append(unread, machine.SkippedFile{Path: path, Why: why})
			continue
		}
		list.WriteString(path)
		list.WriteByte(0)
	}
	if list.Len() == 0 {
		return unread, nil
	}
	_, err = r.write(ctx, src, list.Bytes(), "update-index", "--add", "--remove", "--replace", "-z", "--stdin")
	return unread, err
}

// leadsElsewhere reports whether a path is a nested repository whose commit is not shown.
func (r *repo) leadsElsewhere(ctx context.Context, src source, path string) bool {
	full := filepath.Join(src.top, filepath.FromSlash(path))
	info, err := os.Lstat(full)
	return err == nil && info.IsDir() && r.s.nestedElsewhere(ctx, src, r.ws, full)
}

func bySkippedPath(list []machine.SkippedFile) []machine.SkippedFile {
	slices.SortFunc(list, func(a, b machine.SkippedFile) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// nowIgnored lists stored untracked files that are ignored now. Files in the user's index stay,
// ignored or not.
func (r *repo) nowIgnored(ctx context.Context, src source) ([]string, error) {
	list := append([]string{"ls-files", "-z", "--cached", "--ignored", "--exclude-standard"}, src.pathspec()...)
	out, err := r.run(ctx, src, nil, list...)
	if err != nil || len(out) == 0 || src.gitDir == "" {
		return fields(out), err
	}
	theirs, err := r.theirIndex(ctx, src, list...)
	if err != nil {
		return nil, err
	}
	tracked := map[string]bool{}
	for _, path := range fields(theirs) {
		tracked[path] = true
	}
	return slices.DeleteFunc(fields(out), func(path string) bool { return tracked[path] }), nil
}

// drop removes files from the private index.
func (r *repo) drop(ctx context.Context, src source, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := r.write(ctx, src, []byte(strings.Join(paths, "\x00")+"\x00"), "update-index", "--force-remove", "-z",
		"--stdin")
	return err
}

// changed lists tracked files that may differ from the index. Only a submodule's commit counts: to
// find changes inside, git would run itself there.
func (r *repo) changed(ctx context.Context, src source) ([]string, error) {
	args := []string{"diff-files", "-z", "--name-only", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"}
	out, err := r.run(ctx, src, nil, append(args, src.pathspec()...)...)
	if err != nil {
		return nil, err
	}
	paths := fields(out)
	slices.Sort(paths)
	return slices.Compact(paths), nil // conflicts are listed twice
}

// pathspec limits a command to the session's directory.
func (src source) pathspec() []string {
	if src.prefix == "" {
		return nil
	}
	return []string{"--", src.prefix}
}

// untracked lists files that git neither tracks nor ignores: those to store, and those only listed.
func (r *repo) untracked(ctx context.Context, src source) (paths []string, skipped []machine.SkippedFile, err error) {
	args := []string{"ls-files", "-z", "--others", "--exclude-standard"}
	out, err := r.run(ctx, src, nil, append(args, src.pathspec()...)...)
	if err != nil {
		return nil, nil, err
	}
	paths, skipped = r.affordable(src, fields(out))
	return paths, skipped, nil
}

// affordable splits new files into those to store and those only listed.
func (r *repo) affordable(src source, fresh []string) (paths []string, skipped []machine.SkippedFile) {
	budget, ignored := r.s.cfg.UntrackedBytes, r.s.ignored(src)
	for _, path := range fresh {
		if slices.ContainsFunc(ignored, func(d string) bool { return d == "." || under(path, d) }) {
			continue
		}
		info, err := os.Lstat(filepath.Join(src.top, filepath.FromSlash(path)))
		if err != nil {
			continue // gone meanwhile
		}
		why := r.tooMuch(path, info, budget, len(paths))
		if why == "" {
			budget -= info.Size()
			paths = append(paths, path)
		} else if len(skipped) < mostSkipped {
			skipped = append(skipped, machine.SkippedFile{Path: strings.TrimSuffix(path, "/"), Size: info.Size(),
				Time: info.ModTime().UnixNano(), Why: why})
		}
	}
	return paths, skipped
}

// under reports whether a path with slashes is dir or below it.
func under(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

const mostSkipped = 1000

func (r *repo) tooMuch(path string, info fs.FileInfo, budget int64, files int) string {
	c := r.s.cfg
	switch {
	case strings.HasSuffix(path, "/"):
		return ownRepository
	case info.Size() > c.FileBytes:
		return fmt.Sprintf("larger than %d MB", c.FileBytes>>20)
	case info.Size() > budget:
		return fmt.Sprintf("more than %d MB of untracked files", c.UntrackedBytes>>20)
	case files >= c.UntrackedFiles:
		return fmt.Sprintf("more than %d untracked files", c.UntrackedFiles)
	}
	return ""
}

const mayNotBeRead = "may not be read"

// unreadable returns why a file is not stored: git would fail for all files, or the file must stay
// private.
func (s *Service) unreadable(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "" // gone: git handles it, like a link or a directory
	}
	if kind := special(info.Mode()); kind != "" {
		return kind
	}
	if !info.Mode().IsRegular() {
		return ""
	}
	f, err := openPlain(path)
	if err != nil {
		return mayNotBeRead
	}
	f.Close()
	if s.cfg.Closed != nil && s.cfg.Closed(info) {
		return mayNotBeRead
	}
	return ""
}
