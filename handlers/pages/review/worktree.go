package review

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/worktrees"
	"github.com/ahphub/ahphub/templ/page"
)

// ShowWorktree serves the page of a session's worktree.
func (p *Pages) ShowWorktree(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	var m page.Worktree
	switch n := atoi(r.URL.Query().Get("n")); r.URL.Query().Get("done") {
	case "merge":
		m.Done = page.Merged(n)
	case "remove":
		m.Done = "The worktree and its branch have been removed."
	}
	return p.sendWorktree(w, r, v, http.StatusOK, m)
}

func (p *Pages) sendWorktree(w http.ResponseWriter, r *http.Request, v site.Visit, status int, m page.Worktree) error {
	if err := p.Prepare(r.Context(), v.Who, v.Session); err != nil {
		return err
	}
	s := p.SessionState(v.Session)
	m.Base, m.Fresh = "/s/"+v.Short, freshWorktree(s)
	if t, ok := worktrees.Of(s); ok {
		m.Repo, m.Dir, m.Branch, m.Into, m.Commit = t.Repo, t.Dir, t.Branch, t.Into, t.Base
		if err := p.stands(r, v, &m); err != nil {
			return err
		}
	}
	f := p.StyledFrame(r, v, "Worktree", "worktree")
	mark, err := p.Live.Draw(r.Context(), v.Who, "session:"+v.Short, func(live.Room, live.States) {})
	if err != nil {
		return err
	}
	f.Live = live.Query(mark)
	if err := p.ShowPeople(r.Context(), v, &f, ""); err != nil {
		return err
	}
	return site.Send(w, status, page.WorktreePage(f, &m))
}

// stands adds how far a worktree is from its origin.
func (p *Pages) stands(r *http.Request, v site.Visit, m *page.Worktree) error {
	st, err := p.Worktrees.Standing(r.Context(), p.CallerOf(r.Context()), v.Session)
	if err != nil {
		if f := site.Classify(err); f.Status == http.StatusConflict { // show git's reason on the page
			m.Problem = cmp.Or(m.Problem, f.Text)
			return nil
		}
		return err
	}
	m.Commits, m.Uncommitted, m.Gone = st.Commits, st.Uncommitted, st.Gone
	m.Force = m.Force && (m.Into == "" || m.Commits+m.Uncommitted > 0)
	return nil
}

// freshWorktree returns the address of the form for a new session in a separate worktree.
func freshWorktree(s *ahp.SessionState) string {
	q := url.Values{"config.isolation": {"worktree"}}
	if t, ok := worktrees.Of(s); ok {
		q.Set("dir", t.Repo)
	} else if len(s.WorkingDirectories) > 0 {
		dir, _ := core.FilePath(s.WorkingDirectories[0])
		q.Set("dir", dir)
	}
	return "/new?" + q.Encode()
}

// ChangeWorktree merges or removes the worktree. The page shows git's refusals.
func (p *Pages) ChangeWorktree(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	var m page.Worktree
	to := "/s/" + v.Short + "/worktree?done="
	switch do := r.PostFormValue("do"); do {
	case "merge":
		var n int
		n, err = p.Worktrees.Merge(r.Context(), p.CallerOf(r.Context()), v.Session)
		to += "merge&n=" + strconv.Itoa(n)
	case "remove", "discard":
		err = p.Worktrees.Remove(r.Context(), p.CallerOf(r.Context()), v.Session, do == "discard")
		to, m.Force = to+"remove", do == "remove"
	default:
		return site.BadRequest("Choose an action: merge, remove or discard.")
	}
	if err == nil {
		return site.FinishForm(w, r, to)
	}
	f := site.Classify(err)
	if f.Status != http.StatusConflict || site.IsFragment(r) {
		return err
	}
	m.Problem = f.Text
	return p.sendWorktree(w, r, v, http.StatusConflict, m)
}
