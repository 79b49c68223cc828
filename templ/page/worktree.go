package page

import "strings"

// Worktree is the page of a session's worktree; without one, Branch is "".
type Worktree struct {
	Base, Repo, Dir, Branch string
	Into, Commit            string // its origin; Into is "" when no branch was checked out
	Commits, Uncommitted    int    // distance from its origin
	Gone                    bool   // the directory was removed manually
	Done, Problem           string // result of the last action
	Force                   bool   // removal was refused, since it would lose changes
	Fresh                   string // address of the form for a new session with a worktree
}

func (w *Worktree) into() string {
	if w.Into == "" {
		return "a branch"
	}
	return w.Into
}

// from returns the branch and commit that the worktree was created from.
func (w *Worktree) from() string {
	commit := w.Commit[:min(len(w.Commit), 10)]
	if w.Into == "" {
		return commit
	}
	return w.Into + " at " + commit
}

// ready reports whether the worktree can be merged: everything is committed.
func (w *Worktree) ready() bool { return w.Commits > 0 && w.Uncommitted == 0 }

// lost describes what removing the worktree would lose.
func (w *Worktree) lost() string {
	var out []string
	if w.Uncommitted > 0 {
		out = append(out, count(w.Uncommitted, "uncommitted file", "uncommitted files"))
	}
	if w.Commits > 0 {
		out = append(out, count(w.Commits, "commit", "commits"))
	}
	if len(out) == 0 {
		return "work that is nowhere else"
	}
	return strings.Join(out, " and ")
}

// Merged describes a successful merge.
func Merged(commits int) string { return "Merged " + count(commits, "commit", "commits") + "." }
