package changeset

import (
	"context"
	"fmt"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// Branch returns the merge base of the last commit and the default branch, by directory. Like Head,
// it is empty without a repository or before the first commit. It fails if it finds no default
// branch: a comparison with anything else would be mistaken for the branch's.
func (s *Service) Branch(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint, error) {
	return s.each(ctx, ws, dirs, func(r *repo) (machine.Tree, error) { return r.committed(ctx, r.s.branchTree) })
}

// defaults are the candidates for the default branch: the remote's HEAD, then the usual names.
var defaults = []string{"refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master",
	"refs/heads/main", "refs/heads/master", "refs/heads/trunk"}

// branchTree returns the tree of the merge base, "" without a commit.
func (s *Service) branchTree(ctx context.Context, src source) (string, error) {
	if head, err := s.headTree(ctx, src); head == "" || err != nil {
		return "", err
	}
	for _, ref := range defaults {
		commit, err := s.ask(ctx, src, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
		if err != nil {
			return "", err
		}
		if commit == "" {
			continue
		}
		base, err := s.ask(ctx, src, "merge-base", "HEAD", commit)
		if err != nil {
			return "", err
		}
		if base == "" {
			return "", fmt.Errorf("this branch has no commit in common with %s. Choose another scope",
				strings.TrimPrefix(ref, "refs/"))
		}
		return s.ask(ctx, src, "rev-parse", "--verify", "--quiet", base+"^{tree}")
	}
	return "", fmt.Errorf("this repository has no default branch. Set one with git remote set-head origin --auto, or " +
		"name a branch main")
}
