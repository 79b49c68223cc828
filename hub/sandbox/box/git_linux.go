package box

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/sandbox"
)

// addGit adds the git directory of a repository in whose worktree the session works. Everything that makes git run
// programs is read-only, and so are the data of other worktrees: git would run those programs outside.
func (l *layout) addGit(dir string, p *sandbox.Policy) error {
	for _, name := range []string{"hooks", "modules", "worktrees"} { // otherwise programs could create them
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	settings, err := os.ReadFile(filepath.Join(dir, "config"))
	if err != nil {
		return err
	}
	if err := l.bind("--bind", dir, p.Own); err != nil {
		return err
	}
	sealed := []string{"config", "hooks", "modules", "worktrees"}
	if bytes.Contains(bytes.ToLower(settings), []byte("worktreeconfig")) { // otherwise git does not read it
		if err := makeFile(filepath.Join(dir, "config.worktree")); err != nil {
			return err
		}
		sealed = append(sealed, "config.worktree")
	}
	// An unfinished rebase has commands that git runs when it continues. Without one, a placeholder cannot be created: git
	// would take it for a rebase.
	for _, name := range []string{"rebase-merge", "rebase-apply", "sequencer"} {
		if isThere(filepath.Join(dir, name)) {
			sealed = append(sealed, name)
		}
	}
	for _, name := range sealed {
		if err := l.bind("--ro-bind", filepath.Join(dir, name), p.Own); err != nil {
			return err
		}
	}
	return l.addGitWorktrees(filepath.Join(dir, "worktrees"), p)
}

// addGitWorktrees adds git's data of the worktrees in which the session works, with read-only settings.
func (l *layout) addGitWorktrees(dir string, p *sandbox.Policy) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		at := filepath.Join(dir, entry.Name())
		if !isWorktreeOf(at, p) {
			continue
		}
		if err := makeFile(filepath.Join(at, "config.worktree")); err != nil {
			return err
		}
		if err := l.bind("--bind", at, p.Own); err != nil {
			return err
		}
		for _, name := range []string{"gitdir", "commondir", "config.worktree"} {
			if err := l.bind("--ro-bind", filepath.Join(at, name), p.Own); err != nil {
				return err
			}
		}
	}
	return nil
}

// isWorktreeOf reports whether a policy's session works in the worktree whose git data is in kept.
func isWorktreeOf(kept string, p *sandbox.Policy) bool {
	top, err := os.ReadFile(filepath.Join(kept, "gitdir")) // its path; no box can write it
	if err != nil {
		return false
	}
	return slices.Contains(p.Write, followTopLink(strings.TrimSuffix(strings.TrimSpace(string(top)), "/.git")))
}

// makeFile creates an empty file if there is none.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}
