package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// worktree is the page of a session's work tree.
func (p *Pages) worktree(w http.ResponseWriter, r *http.Request) error {
	v, err := p.visit(r)
	if err != nil {
		return err
	}
	var m page.Worktree
	switch n := atoi(r.URL.Query().Get("n")); r.URL.Query().Get("done") {
	case "merge":
		m.Done = page.Merged(n)
	case "remove":
		m.Done = "The work tree and its branch are gone."
	}
	return p.sendWorktree(w, r, v, http.StatusOK, m)
}

func (p *Pages) sendWorktree(w http.ResponseWriter, r *http.Request, v visit, status int, m page.Worktree) error {
	if err := p.prepare(r.Context(), v.who, v.session); err != nil {
		return err
	}
	s := p.sessionState(v.session)
	m.Base, m.Fresh = "/s/"+v.short, freshWorktree(s)
	if t, ok := host.WorktreeOf(s); ok {
		m.Repo, m.Dir, m.Branch, m.Into, m.Commit = t.Repo, t.Dir, t.Branch, t.Into, t.Base
		if err := p.stands(r, v, &m); err != nil {
			return err
		}
	}
	f := p.reviewFrame(r, v, "Work tree", "worktree")
	mark, err := p.Live.Draw(r.Context(), v.who, "session:"+v.short, func(live.Room, live.States) {})
	if err != nil {
		return err
	}
	f.Live = live.Query(mark)
	if err := p.gather(r.Context(), v, &f, ""); err != nil {
		return err
	}
	return send(w, status, page.WorktreePage(f, &m))
}

// stands fills in how far a work tree is from where it came from.
func (p *Pages) stands(r *http.Request, v visit, m *page.Worktree) error {
	st, err := p.Host.WorktreeStanding(r.Context(), p.caller(r.Context()), v.session)
	if err != nil {
		if f := classify(err); f.status == http.StatusConflict { // git cannot tell, and says why
			m.Problem = cmp.Or(m.Problem, f.text)
			return nil
		}
		return err
	}
	m.Commits, m.Uncommitted, m.Gone = st.Commits, st.Uncommitted, st.Gone
	m.Force = m.Force && (m.Into == "" || m.Commits+m.Uncommitted > 0)
	return nil
}

// freshWorktree is the form of a new session that works beside this one, in a work tree of its own.
func freshWorktree(s *ahp.SessionState) string {
	q := url.Values{"config.isolation": {"worktree"}}
	if t, ok := host.WorktreeOf(s); ok {
		q.Set("dir", t.Repo)
	} else if len(s.WorkingDirectories) > 0 {
		q.Set("dir", part.FilePath(s.WorkingDirectories[0]))
	}
	return "/new?" + q.Encode()
}

// worktreeAct merges or removes it. What git says no to is shown on the page.
func (p *Pages) worktreeAct(w http.ResponseWriter, r *http.Request) error {
	v, err := p.visit(r)
	if err != nil {
		return err
	}
	var m page.Worktree
	to := "/s/" + v.short + "/worktree?done="
	switch do := r.PostFormValue("do"); do {
	case "merge":
		var n int
		n, err = p.Host.MergeWorktree(r.Context(), p.caller(r.Context()), v.session)
		to += "merge&n=" + strconv.Itoa(n)
	case "remove", "discard":
		err = p.Host.RemoveWorktree(r.Context(), p.caller(r.Context()), v.session, do == "discard")
		to, m.Force = to+"remove", do == "remove"
	default:
		return errBadRequest("Say what to do: merge, remove or discard.")
	}
	if err == nil {
		return done(w, r, to)
	}
	f := classify(err)
	if f.status != http.StatusConflict || fragment(r) {
		return err
	}
	m.Problem = f.text
	return p.sendWorktree(w, r, v, http.StatusConflict, m)
}
