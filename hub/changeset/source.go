package changeset

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// source is the user's side: where a directory's repository is, and what of its configuration matters for reading
// files the way the user's git does.
type source struct {
	dir    string
	top    string // the work tree, or dir itself
	prefix string // dir below top, with slashes
	gitDir string // "" when there is no repository
	common string // where objects and info are, shared between work trees
	format string // sha1 or sha256
	config []string
}

// locate asks git about a directory. One that is no work tree is looked at as it is.
func (s *Service) locate(ctx context.Context, dir string) (source, error) {
	src := source{dir: dir, top: dir, format: "sha1"}
	if info, err := os.Stat(dir); err != nil {
		return src, err
	} else if !info.IsDir() {
		return src, errors.New("not a directory")
	}
	out, err := s.git(ctx, run{dir: dir, args: []string{"rev-parse", "--path-format=absolute",
		"--show-toplevel", "--git-dir", "--git-common-dir", "--show-object-format", "--show-prefix"}})
	if err != nil {
		if !exited(err) {
			return src, err
		}
		return src, nil // no repository, a bare one, or inside of .git
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) < 4 || len(lines) > 5 {
		return src, errors.New("the path of this repository has a line break in it")
	}
	src.top, src.gitDir, src.common, src.format = lines[0], lines[1], lines[2], lines[3]
	if len(lines) == 5 {
		src.prefix = strings.TrimSuffix(lines[4], "/")
	}
	src.config, err = s.readConfig(ctx, src)
	return src, err
}

// readers are the settings that decide how files are read; none of them names a program.
const readers = `^core\.(autocrlf|eol|excludesfile|ignorecase|precomposeunicode|filemode|symlinks|checkstat|trustctime|sparsecheckout|sparsecheckoutcone)$`

// readConfig is what decides how the files of a repository are read.
func (s *Service) readConfig(ctx context.Context, src source) ([]string, error) {
	args, err := s.configArgs(ctx, src.dir, readers)
	if err != nil {
		return nil, err
	}
	filters, err := s.filterConfig(ctx, src)
	return append(args, filters...), err
}

// headTree is the tree of the last commit, "" when there is none.
func (s *Service) headTree(ctx context.Context, src source) (string, error) {
	if src.gitDir == "" {
		return "", nil
	}
	out, err := s.git(ctx, run{dir: src.dir, args: []string{"rev-parse", "--verify", "--quiet", "HEAD^{tree}"}})
	if err != nil && exited(err) {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// ignored are directories below top that are not looked at, as paths with slashes.
func (s *Service) ignored(src source) (out []string) {
	if s.cfg.Ignore == nil {
		return nil
	}
	for _, d := range s.cfg.Ignore() {
		if rel, err := filepath.Rel(src.top, d); err == nil && filepath.IsLocal(rel) {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}
