package page

import "strings"

// Worktree is the page of a session's worktree; Branch is "" when it has none.
type Worktree struct {
	Base, Repo, Dir, Branch string
	Into, Commit            string // where it was made from; Into is "" when no branch was checked out
	Commits, Uncommitted    int    // how far it is from there
	Gone                    bool   // the directory was removed by hand
	Done, Problem           string // how the last try went
	Force                   bool   // removing was refused, because something would be lost
	Fresh                   string // address of the form of a new session with a worktree
}

func (w *Worktree) into() string {
	if w.Into == "" {
		return "a branch"
	}
	return w.Into
}

// from is the branch and commit that the worktree was created from.
func (w *Worktree) from() string {
	commit := w.Commit[:min(len(w.Commit), 10)]
	if w.Into == "" {
		return commit
	}
	return w.Into + " at " + commit
}

// ready reports whether merging is what is left to do.
func (w *Worktree) ready() bool { return w.Commits > 0 && w.Uncommitted == 0 }

// lost is what removing it would lose.
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

// Merged says that merging went well.
func Merged(commits int) string { return "Merged " + count(commits, "commit", "commits") + "." }
