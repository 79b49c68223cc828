package threads

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// CommitSuggestions applies suggestions like ApplySuggestions and commits their files: one commit
// by the caller, with the suggestions' authors as co-authors. If git refuses, the files are
// restored. Additional errors: -32011 files are staged already, or git refused.
func (p *Part) CommitSuggestions(ctx context.Context, c core.Caller, session ahp.URI, refs []SuggestionRef) error {
	list, err := p.findSuggestions(ctx, c, session, refs)
	if err != nil {
		return err
	}
	repos, dirs := p.cfg.Repositories, p.core.LocalDirs(session)
	switch n, err := repos.Staged(ctx, session, dirs); {
	case err != nil:
		return ahp.Errorf(ahp.CodeInternalError, "the repository cannot be read: %v", err)
	case n > 0:
		return ahp.Errorf(ahp.CodeConflict,
			"nothing was changed: files are staged already and would be committed too. Commit or unstage them, or "+
				"apply to the working tree")
	}
	undo, err := p.writeSuggestions(ctx, session, list)
	if err != nil {
		return err
	}
	paths := make([]string, len(list))
	for i, a := range list {
		paths[i] = a.path
	}
	done, err := repos.CommitFiles(ctx, session, dirs, paths, machine.Commit{Message: commitMessage(c, list),
		Name: c.Name})
	p.cfg.Refresh(session)
	if err != nil {
		return ahp.Errorf(ahp.CodeConflict, "nothing was committed: %v", errors.Join(err,
			repos.TakeBack(context.WithoutCancel(ctx), session, undo)))
	}
	return p.resolveApplied(ctx, c, session, list, fmt.Sprintf("Committed the suggestion as %s.", done.ID))
}

// commitMessage names the files and the co-authors.
func commitMessage(c core.Caller, list []applied) string {
	var names, coauthors []string
	for _, a := range list {
		names = append(names, filepath.Base(a.path))
		if st, ok := core.ReadStamp(a.entry.Meta); ok && st.By.ID != c.ID {
			coauthors = append(coauthors, coAuthor(st.By.ID, st.By.Name))
		}
	}
	what := "a suggestion"
	if len(list) > 1 {
		what = fmt.Sprintf("%d suggestions", len(list))
	}
	names = sortedSet(names)
	where := strings.Join(names, ", ")
	if len(names) > 3 {
		where = fmt.Sprintf("%d files", len(names))
	}
	m := "Apply " + what + " from review to " + where + "\n"
	if coauthors = sortedSet(coauthors); len(coauthors) > 0 {
		m += "\n" + strings.Join(coauthors, "\n") + "\n"
	}
	return m
}

func sortedSet(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// coAuthor returns a co-author line. The hub knows no addresses, so it uses one that cannot exist.
func coAuthor(id, name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' {
			return -1
		}
		return r
	}, name)
	local := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '.'
	}, strings.ToLower(id))
	return fmt.Sprintf("Co-authored-by: %s <%s@ahphub.invalid>", name, local)
}
