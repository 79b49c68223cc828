package changeset

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// source is the user's side: the location of a directory's repository, and the parts of its
// configuration that affect how the user's git reads files.
type source struct {
	dir    string
	top    string // the work tree, or dir itself
	prefix string // dir below top, with slashes
	gitDir string // "" when there is no repository
	common string // where objects and info are, shared between work trees
	format string // sha1 or sha256
	config []string

	sandbox  *sandbox.Policy // of the session, for a person's action; nil: none
	boxed    bool            // the session's programs are in a sandbox
	settings []setting
	found    layout
	stamp    string // of the settings, taken before reading
}

// setting is one line of git's configuration.
type setting struct {
	key    string // section and name in lower case
	value  string
	origin string // as in file:/path
}

// locate finds the repository around a directory of a session. A directory without one is its own
// top. It refuses a repository in which git would wait for a special file, or that leads out of the
// session's directories.
func (s *Service) locate(ctx context.Context, ws machine.Workspace, dir string) (source, error) {
	src := source{dir: dir, top: dir, format: "sha1", sandbox: ws.Sandbox, boxed: ws.Sandboxed}
	if info, err := os.Stat(dir); err != nil {
		return src, err
	} else if !info.IsDir() {
		return src, errors.New("not a directory")
	}
	l, err := findLayout(dir)
	if err != nil {
		return src, err
	}
	a, err := s.admit(ctx, ws, l)
	if err != nil || l.top == "" {
		return src, err
	}
	return a.read(ctx, src, l)
}

// read reads the configuration of an admitted repository.
func (a *admission) read(ctx context.Context, src source, l layout) (source, error) {
	none, s := src, a.s
	src.top, src.prefix, src.gitDir, src.common = l.top, relSlash(l.top, l.dir), l.gitDir, l.common
	src.found, src.stamp = l, l.settingsStamp()
	out, err := s.theirs(ctx, src, "config", "-z", "--list", "--show-origin")
	if err != nil {
		if !hasExited(err) {
			return src, err
		}
		return none, nil // git does not consider it a repository
	}
	src.settings = parseSettings(fields(out))
	if err := a.worktree(&src, l); err != nil {
		return src, err
	}
	if _, set := src.own("core.worktree"); !set && src.ownValue("core.bare") == "true" {
		return none, nil
	}
	if f := src.ownValue("extensions.objectformat"); f != "" {
		src.format = f
	}
	src.config = src.args(isReader)
	src.config = append(src.config, s.filterConfig(ctx, src)...)
	return src, src.checkTop()
}

// worktree moves the top to the core.worktree of the settings, if git may go there.
func (a *admission) worktree(src *source, l layout) error {
	set, ok := src.own("core.worktree")
	if !ok {
		return nil
	}
	top, err := filepath.EvalSymlinks(joinPath(l.gitDir, set.value))
	if err != nil || top == l.top {
		return err
	}
	if err := a.pass(strings.TrimPrefix(set.origin, "file:"), top); err != nil {
		return err
	}
	src.top, src.prefix = top, relSlash(top, l.dir)
	return nil
}

// parseSettings parses the output of git config -z --list --show-origin: pairs of an origin and a
// name with a value.
func parseSettings(in []string) (out []setting) {
	for ; len(in) >= 2; in = in[2:] {
		if in[0] == "command line:" {
			continue // set by our own arguments
		}
		key, value, valued := strings.Cut(in[1], "\n")
		if !valued {
			value = "true"
		}
		out = append(out, setting{key, value, in[0]})
	}
	return out
}

// value returns the effective value of a setting, "" if it is not set.
func (src source) value(key string) string {
	for _, s := range slices.Backward(src.settings) {
		if s.key == key {
			return s.value
		}
	}
	return ""
}

// own returns a value from the repository's own file without includes: for the location of a
// repository, git reads no other.
func (src source) own(key string) (_ setting, set bool) {
	from := []string{"file:" + filepath.Join(src.common, "config")}
	if src.gitDir != src.common {
		if strings.HasPrefix(key, "core.") {
			from = nil // applies to the main work tree
		}
	}
	from = append(from, "file:"+filepath.Join(src.gitDir, "config.worktree"))
	for _, s := range slices.Backward(src.settings) {
		if s.key == key && slices.Contains(from, s.origin) {
			return s, true
		}
	}
	return setting{}, false
}

func (src source) ownValue(key string) string {
	set, _ := src.own(key)
	return set.value
}

// args returns the settings whose names count, as arguments of git.
func (src source) args(counts func(key string) bool) (args []string) {
	for _, s := range src.settings {
		if counts(s.key) {
			args = append(args, "-c", s.key+"="+s.value)
		}
	}
	return args
}

// readers are the settings that affect how files are read; none names a program.
var readers = []string{"autocrlf", "eol", "excludesfile", "ignorecase", "precomposeunicode", "filemode", "symlinks",
	"checkstat", "trustctime", "sparsecheckout", "sparsecheckoutcone"}

func isReader(key string) bool {
	name, ok := strings.CutPrefix(key, "core.")
	return ok && slices.Contains(readers, name)
}

// theirs runs git on the user's repository at the location found before; git does not search for
// one.
func (s *Service) theirs(ctx context.Context, src source, args ...string) ([]byte, error) {
	return s.git(ctx, run{of: src, dir: src.top, args: args,
		env: []string{"GIT_DIR=" + src.gitDir, "GIT_COMMON_DIR=" + src.common, "GIT_WORK_TREE=" + src.top}})
}

// ask runs git on the user's repository for one line; "" if git fails, or without a repository.
func (s *Service) ask(ctx context.Context, src source, args ...string) (string, error) {
	if src.gitDir == "" {
		return "", nil
	}
	out, err := s.theirs(ctx, src, args...)
	if err != nil && hasExited(err) {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// headTree returns the tree of the last commit, "" without one.
func (s *Service) headTree(ctx context.Context, src source) (string, error) {
	return s.ask(ctx, src, "rev-parse", "--verify", "--quiet", "HEAD^{tree}")
}

// ignored returns the directories below top that are not read, with slashes.
func (s *Service) ignored(src source) (out []string) {
	for _, d := range s.ignoredDirs() {
		if rel, err := filepath.Rel(src.top, d); err == nil && filepath.IsLocal(rel) {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

func (s *Service) ignoredDirs() []string {
	if s.cfg.Ignore == nil {
		return nil
	}
	return s.cfg.Ignore()
}
