package changeset

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Boxes runs git in the sandboxes of sessions.
type Boxes interface {
	Start(cmd *exec.Cmd, policy *sandbox.Policy) error
	Forget(session string) error // ends the sandbox and removes its files
}

// start starts git, in its box if it has one.
func (s *Service) start(cmd *exec.Cmd, r run) error {
	switch {
	case r.box == nil:
		return cmd.Start()
	case s.cfg.Boxes == nil:
		return errors.New("sandboxes are not set up on this server")
	}
	return s.cfg.Boxes.Start(cmd, r.box)
}

// boxOf returns the box in which git acts on a repository: the box of the session's programs if
// they can access the repository, otherwise one that adds this access. It is nil for a session
// without a sandbox, and for repositories whose hooks the owner trusts.
func (s *Service) boxOf(src source) *sandbox.Policy {
	p := src.sandbox
	if p == nil || s.trustsHooks(src.top) {
		return nil
	}
	in := func(path string) bool {
		return slices.ContainsFunc(slices.Concat(p.Write, p.Git), func(dir string) bool { return inside(path, dir) })
	}
	if in(src.top) && in(src.gitDir) && in(src.common) {
		return p
	}
	return s.boxAround(src)
}

// boxAround returns a second box for git. Compared with the session's box, it may also write the
// given directories and the repository's git directory, except for files that make git run
// programs.
func (s *Service) boxAround(src source, write ...string) *sandbox.Policy {
	if src.sandbox == nil || s.trustsHooks(src.top) {
		return nil
	}
	p := *src.sandbox
	p.Session += machine.GitBox
	p.Write = append(slices.Clone(p.Write), write...)
	p.Read = append(slices.Clone(p.Read), src.top)
	p.Git = slices.Clone(p.Git)
	// Landlock alone cannot seal parts of a git directory below a writable one: git could not
	// create locks in it.
	sealed := p.Mode != sandbox.Landlock || !slices.ContainsFunc(p.Write, func(dir string) bool {
		return inside(src.common, dir)
	})
	if !slices.Contains(p.Git, src.common) {
		p.Git = append(p.Git, src.common)
	}
	if !sealed {
		p.Git = nil
	}
	return &p
}

// endBox ends a box that boxAround made; other boxes belong to the session.
func (s *Service) endBox(p *sandbox.Policy) {
	if p != nil && s.cfg.Boxes != nil && strings.HasSuffix(p.Session, machine.GitBox) {
		_ = s.cfg.Boxes.Forget(p.Session) // the session's end removes the rest
	}
}

// trustsHooks reports whether the owner allows git to act on a repository outside of sandboxes.
func (s *Service) trustsHooks(top string) bool {
	return slices.ContainsFunc(s.cfg.TrustHooks, func(dir string) bool { return inside(top, filepath.Clean(dir)) })
}

// committer returns the identity that git is configured to commit with. It runs none of the
// repository's programs.
func (s *Service) committer(ctx context.Context, src source) (name, address string, err error) {
	out, err := s.git(ctx, run{of: src, dir: src.top, config: []string{"-c", "user.useConfigOnly=true"},
		args: []string{"var", "GIT_COMMITTER_IDENT"}})
	if err != nil {
		return "", "", err
	}
	name, rest, _ := strings.Cut(string(out), " <")
	address, _, _ = strings.Cut(rest, ">")
	return name, address, nil
}

// committerEnv passes an identity to git: the files that configure it may be missing in a box.
func committerEnv(name, address string) []string {
	return []string{"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + address}
}

// makeWorktree makes a worktree and its branch. In a sandbox, a box writes the files and runs the
// hook; outside, git only creates its own files.
func (s *Service) makeWorktree(ctx context.Context, src source, w machine.Worktree) error {
	box := s.boxAround(src, w.Dir)
	add := run{of: src, dir: src.top, acting: true,
		args: []string{"worktree", "add", "--quiet", "-b", w.Branch, "--", w.Dir, w.Base}}
	if box == nil {
		_, err := s.git(ctx, add)
		return err
	}
	add.acting, add.args = false, slices.Insert(add.args, 2, "--no-checkout")
	if _, err := s.git(ctx, add); err != nil {
		return err
	}
	defer s.endBox(box)
	none := strings.Repeat("0", src.hashLen())
	for _, args := range [][]string{{"reset", "--hard", "--quiet", "--no-recurse-submodules"},
		{"hook", "run", "--ignore-missing", "post-checkout", "--", none, w.Base, "1"}} {
		if _, err := s.git(ctx, run{of: src, dir: w.Dir, acting: true, box: box, args: args}); err != nil {
			return errors.Join(err, s.dropWorktree(context.WithoutCancel(ctx), src, w))
		}
	}
	return nil
}

// dropWorktree removes a worktree and its branch. It runs none of the repository's programs.
func (s *Service) dropWorktree(ctx context.Context, home source, w machine.Worktree) error {
	for _, args := range [][]string{{"worktree", "remove", "--force", "--", w.Dir}, {"branch", "--quiet", "-D", "--",
		w.Branch}} {
		if _, err := s.git(ctx, run{of: home, dir: home.top, args: args}); err != nil {
			return err
		}
	}
	return nil
}

// noKeys are parts of the messages of git and gpg about a failed signature.
var noKeys = []string{"failed to sign", "cannot run gpg", "secret key", "No agent running", "Couldn't load public key",
	"load private key"}

// message returns what git printed and, if a sandbox caused the failure, what to do.
func (e *gitError) message() string {
	has := func(word string) bool { return strings.Contains(e.stderr, word) }
	switch {
	case !e.boxed:
		return e.stderr
	case slices.ContainsFunc(noKeys, has):
		return e.stderr + "\nThe session's sandbox has no keys for signing. Commit in a terminal without a sandbox, let " +
			"Git run outside in this repository (--trust-hooks), or do not sign there: git config commit.gpgsign false"
	case has("Read-only file system"), has("Permission denied"):
		return e.stderr + "\nGit ran in the session's sandbox, which cannot write there. Use a terminal without a " +
			"sandbox, or let Git run outside in this repository (--trust-hooks)"
	}
	return e.stderr
}
