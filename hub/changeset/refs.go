package changeset

import (
	"context"
	"fmt"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// Refs lists up to most branches and tags of the repository around dir whose names contain query,
// newest first. Without a repository it returns none.
func (s *Service) Refs(ctx context.Context, ws machine.Workspace, dir, query string, most int) ([]machine.Ref, error) {
	ctx, done := s.reading(ctx)
	defer done()
	src, err := s.locate(ctx, ws, dir)
	if err != nil || src.gitDir == "" {
		return nil, err
	}
	out, err := s.theirs(ctx, src, "for-each-ref", "--sort=-committerdate",
		"--format=%(refname:short)%00%(committerdate:relative)%00%(subject)", "refs/heads", "refs/remotes", "refs/tags")
	if err != nil {
		return nil, err
	}
	refs, query := []machine.Ref{}, strings.ToLower(query)
	for line := range strings.Lines(string(out)) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(part) != 3 || strings.HasSuffix(part[0], "/HEAD") || !strings.Contains(strings.ToLower(part[0]), query) {
			continue
		}
		about := strings.Join(nonEmpty(part[1], part[2]), ": ")
		if refs = append(refs, machine.Ref{Name: part[0], About: about}); len(refs) == most {
			break
		}
	}
	return refs, nil
}

func nonEmpty(list ...string) (out []string) {
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// commitOf resolves a name to a commit; "" is HEAD. Error: ErrConflict, with what is missing.
func (s *Service) commitOf(ctx context.Context, src source, name string) (string, error) {
	spec := name
	if name == "" {
		spec = "HEAD"
	}
	oid, err := s.ask(ctx, src, "rev-parse", "--verify", "--quiet", "--end-of-options", spec+"^{commit}")
	switch {
	case err != nil:
		return "", err
	case oid == "" && name != "":
		return "", fmt.Errorf("%w: the repository in %s has no branch, tag or commit %q", machine.ErrConflict, src.top,
			name)
	case oid == "":
		return "", fmt.Errorf("%w: the repository in %s has no commits yet. Make one first", machine.ErrConflict,
			src.top)
	}
	return oid, nil
}
