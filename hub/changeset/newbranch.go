package changeset

import (
	"context"
	"fmt"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// CreateBranch creates a branch at HEAD in each repository of the directories and checks it out;
// files and index do not change. If the branch exists in one of them, it creates none.
func (s *Service) CreateBranch(ctx context.Context, ws machine.Workspace, tops []machine.Tree, name string) error {
	var at []*rewriting
	for _, t := range tops {
		w, done, err := s.repo(ws, t.Dir).rewriting(ctx)
		if err != nil {
			return err
		}
		defer done()
		if w.src.gitDir == "" {
			continue
		}
		if err := w.newBranchName(ctx, name); err != nil {
			return err
		}
		at = append(at, w)
	}
	if len(at) == 0 {
		return fmt.Errorf("%w: there is no git repository here", machine.ErrConflict)
	}
	made := map[string]bool{} // two directories may share a work tree
	for _, w := range at {
		if made[w.src.gitDir] {
			continue
		}
		made[w.src.gitDir] = true
		if _, err := w.act(ctx, nil, "switch", "--quiet", "--no-track", "--create", name); err != nil {
			return err
		}
	}
	return nil
}

func (w *rewriting) newBranchName(ctx context.Context, name string) error {
	if strings.HasPrefix(name, "-") || strings.ContainsRune(name, 0) || name == "HEAD" {
		return fmt.Errorf("%w: %q cannot be the name of a branch", machine.ErrConflict, name)
	}
	if _, err := w.s.theirs(ctx, w.src, "check-ref-format", "refs/heads/"+name); err != nil {
		if !hasExited(err) {
			return err
		}
		return fmt.Errorf("%w: %q cannot be the name of a branch. Use letters, digits, dashes and slashes, as in "+
			"fix/typo",
			machine.ErrConflict, name)
	}
	if there, err := w.s.ask(ctx, w.src, "rev-parse", "--verify", "--quiet", "--end-of-options",
		"refs/heads/"+name); err != nil || there != "" {
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: the branch %s already exists. Choose another name", machine.ErrConflict, name)
	}
	return nil
}
