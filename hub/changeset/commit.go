package changeset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// Commit commits what is staged or, if nothing is, all of the given files. Hooks and filters run,
// and the committer is git's configured identity. A refused commit leaves the index unchanged.
// Errors: ErrConflict, *RefusedError.
func (s *Service) Commit(ctx context.Context, ws machine.Workspace, tops []machine.Tree, files []machine.ChangedFile,
	c machine.Commit) (machine.Committed, error) {
	if strings.TrimSpace(c.Message) == "" {
		return machine.Committed{}, fmt.Errorf("%w: the message is empty. Write what changed and why",
			machine.ErrConflict)
	}
	where, err := s.whereToCommit(ctx, ws, tops, files)
	if err != nil {
		return machine.Committed{}, err
	}
	var done machine.Committed
	_, err = s.repo(ws, where.Dir).onIndex(ctx, filesOf(where, files),
		func(w *rewriting, of []machine.ChangedFile) (int, error) {
			done, err = w.commit(ctx, of, c)
			return 0, err
		})
	return done, err
}

// whereToCommit finds the only repository with staged or, if there are none, with changed files.
func (s *Service) whereToCommit(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile) (machine.Tree, error) {
	var staged, changed []machine.Tree
	for _, t := range tops {
		src, x, err := s.repo(ws, t.Dir).readIndex(ctx)
		if err != nil {
			return machine.Tree{}, err
		}
		if src.gitDir == "" {
			continue
		}
		if len(x.files) > 0 {
			staged = append(staged, t)
		}
		if len(filesOf(t, files)) > 0 {
			changed = append(changed, t)
		}
	}
	if len(staged) == 0 {
		staged = changed
	}
	switch len(staged) {
	case 0:
		return machine.Tree{}, fmt.Errorf("%w: there is nothing to commit", machine.ErrConflict)
	case 1:
		return staged[0], nil
	}
	return machine.Tree{}, fmt.Errorf(
		"%w: several repositories have changes to commit. Stage the files of one of them", machine.ErrConflict)
}

func (w *rewriting) commit(ctx context.Context, files []machine.ChangedFile,
	c machine.Commit) (machine.Committed, error) {
	if busy := w.src.busy(); busy != "" {
		return machine.Committed{}, fmt.Errorf("%w: %s is in progress. Finish or abort it in a terminal, then commit",
			machine.ErrConflict, busy)
	}
	if err := w.stagedElsewhere(ctx); err != nil {
		return machine.Committed{}, err
	}
	env, err := w.author(ctx, c)
	if err != nil {
		return machine.Committed{}, err
	}
	n := len(w.index.files)
	if n > 0 {
		err = w.runCommit(ctx, c, env)
	} else {
		n, err = w.commitAll(ctx, files, c, env)
	}
	if err != nil {
		return machine.Committed{}, err
	}
	done := machine.Committed{Files: n}
	done.ID, done.Subject, err = w.lastCommit(ctx)
	if err == nil {
		done.Branch, err = w.s.ask(ctx, w.src, "symbolic-ref", "--quiet", "--short", "HEAD")
	}
	return done, err
}

// stagedElsewhere refuses to commit files that are not shown: a commit contains the whole index, a
// session only one directory.
func (w *rewriting) stagedElsewhere(ctx context.Context) error {
	if w.src.prefix == "" {
		return nil
	}
	whole := w.src
	whole.prefix = ""
	x, err := w.repo.index(ctx, whole)
	if err != nil {
		return err
	}
	for path := range x.files {
		if !under(path, w.src.prefix) {
			return fmt.Errorf("%w: %s is staged but outside of this directory. Unstage it, or commit in a terminal",
				machine.ErrConflict, path)
		}
	}
	return nil
}

// runCommit releases the lock of the session's repository: hooks may take minutes, and readers must
// not wait for them.
func (w *rewriting) runCommit(ctx context.Context, c machine.Commit, env []string) error {
	w.unlock()
	_, err := w.s.git(ctx, run{of: w.src, dir: w.src.top, stdin: []byte(c.Message), acting: true, slotless: true,
		patience: w.s.cfg.Hooks, env: env, box: w.s.boxOf(w.src),
		args: []string{"commit", "--quiet", "--file=-", "--cleanup=whitespace"}})
	return commitRefusal(err)
}

// commitAll commits files from a second index, as git commit -a does: the person's index changes
// only if the commit succeeds.
func (w *rewriting) commitAll(ctx context.Context, files []machine.ChangedFile, c machine.Commit,
	env []string) (n int, err error) {
	gitDir, err := w.openGitDir(ctx)
	if err != nil {
		return 0, err
	}
	defer gitDir.Close()
	if _, err := gitDir.Lstat(indexLock); err == nil {
		return 0, errLocked
	}
	before, err := readPlainIn(gitDir, "index")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	ours, err := w.newIndex(gitDir, before)
	if err != nil {
		return 0, err
	}
	defer ours.remove()
	beside := *w
	beside.indexFile = []string{"GIT_INDEX_FILE=" + ours.path}
	if n, err = beside.stage(ctx, files); err != nil {
		return 0, err
	}
	if err := w.runCommit(ctx, c, append(env, beside.indexFile...)); err != nil {
		return 0, err
	}
	if err := replaceIndex(gitDir, before, ours); err != nil {
		_, err = w.stage(ctx, files) // it changed during the commit: add the committed files to it
		return n, err
	}
	return n, nil
}

func commitRefusal(err error) error {
	var g *gitError
	if refused := refusal(err); !errors.As(err, &g) || errors.Is(refused, errLocked) {
		return refused
	}
	said := g.message()
	if said == "" {
		said = "It said nothing: most likely a hook ended with an error."
	}
	return &machine.RefusedError{Output: plain(said)}
}

// plain removes escape sequences and other control characters.
func plain(text string) string {
	var out strings.Builder
	escape := false
	for _, c := range text {
		switch {
		case c == 0x1b:
			escape = true
		case escape:
			escape = c == '[' || c == ';' || c >= '0' && c <= '9'
		case c >= ' ' && c != 0x7f || c == '\n' || c == '\t':
			out.WriteRune(c)
		}
	}
	return strings.ToValidUTF8(out.String(), "\uFFFD")
}

// author returns the author and committer for git's environment. It checks the committer first,
// because git's own message about a missing one is long.
func (w *rewriting) author(ctx context.Context, c machine.Commit) ([]string, error) {
	name, address, err := w.s.committer(ctx, w.src)
	if err != nil {
		if !hasExited(err) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: git has no author name and email. Run git config --global user.name and "+
			"user.email on the server", machine.ErrConflict)
	}
	email := c.Email
	if c.Guest && email == "" {
		email = localPart(c.Name) + "@" + hostName()
	}
	env := []string{"GIT_AUTHOR_NAME=" + c.Name, "GIT_AUTHOR_EMAIL=" + cmp.Or(email, address)}
	return append(env, committerEnv(name, address)...), nil
}

func (w *rewriting) lastCommit(ctx context.Context) (id, subject string, err error) {
	out, err := w.s.ask(ctx, w.src, "log", "-1", "--no-show-signature", "--format=%h %s")
	id, subject, _ = strings.Cut(out, " ")
	return id, subject, err
}

func hostName() string {
	if name, err := os.Hostname(); err == nil && name != "" {
		return name
	}
	return "localhost"
}

// localPart converts a name into the part of an address before the @.
func localPart(name string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_':
			return r
		case r == ' ':
			return '.'
		}
		return -1
	}, name)
	if out = strings.Trim(out, "."); out == "" {
		return "guest"
	}
	return out
}
