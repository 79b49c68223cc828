package site

import (
	"context"
	"path/filepath"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// railRoom renders the rail, the column of sessions. Sessions are announced by notifications of root, which are
// not replayed, so every change and every resume renders it again.
type railRoom struct {
	live.Redraw
	st *Site
}

// NewRailRoom opens "rail".
func (st *Site) NewRailRoom(_ context.Context, who access.Principal, _ []string) (live.Room, error) {
	r := &railRoom{st: st}
	r.Draw = func(live.States) []live.Patch {
		return []live.Patch{live.Replace("rail-list", part.RailList(st.railItems(core.Caller{Principal: who}), ""))}
	}
	return r, nil
}

// Channels implements live.Room. Notifications arrive on root.
func (r *railRoom) Channels() []ahp.URI { return []ahp.URI{ahp.RootURI} }

// Watch pings once a minute, to update ages, and when a client requests files.
func (r *railRoom) Watch(ping func()) (stop func()) {
	return r.st.WatchRail(ping)
}

// WatchRail pings once a minute, to update ages, and when a client requests files; for a room's Watch.
func (st *Site) WatchRail(ping func()) (stop func()) {
	clock, files := live.PingEvery(time.Minute, ping), st.watchFiles(ping)
	return func() { clock(); files() }
}

const mostRail = 60 // sessions in the rail; the inbox has the rest

// railItems lists unarchived sessions: first those that need an answer, then running ones, then the newest.
func (st *Site) railItems(c core.Caller) []part.RailItem {
	out := append([]part.RailItem{}, st.fileRail(c)...)
	for _, g := range st.GroupSessions(c) {
		if g.Name == "Archived" {
			continue
		}
		for _, s := range g.Sessions {
			if len(out) == mostRail {
				return out
			}
			out = append(out, st.railItem(c.Principal, s, g.Name))
		}
	}
	return out
}

func (st *Site) railItem(who access.Principal, s ahp.SessionSummary, group string) part.RailItem {
	it := part.RailItem{Short: core.ShortID(s.Resource), Title: SessionTitle(s.Title), Agent: st.AgentName(s.Provider),
		Status: st.StatusFor(who, s), Group: group, Unread: !s.Status.Has(ahp.SessionStatusIsRead),
		Age: part.Age(s.ModifiedAt, st.Now())}
	if s.Changes != nil {
		it.Add, it.Del = OrZero(s.Changes.Additions), OrZero(s.Changes.Deletions)
	}
	return it
}

// SessionGroup is a group of sessions in the inbox.
type SessionGroup struct {
	Name     string
	Sessions []ahp.SessionSummary
}

// GroupSessions groups sessions by what they need from a person.
func (st *Site) GroupSessions(c core.Caller) []SessionGroup {
	g := []SessionGroup{{Name: NeedsYou}, {Name: "Running"}, {Name: "To review"}, {Name: "Idle"}, {Name: "Archived"}}
	for _, s := range st.Host.Listed(c) {
		i := st.groupOf(c.Principal, s)
		g[i].Sessions = append(g[i].Sessions, s)
	}
	return g
}

func (st *Site) groupOf(who access.Principal, s ahp.SessionSummary) int {
	switch s.Status.Activity() {
	case ahp.SessionStatusInputNeeded:
		if !st.NeedsAnswerOf(who, s.Resource) {
			return 1
		}
		return 0
	case ahp.SessionStatusInProgress:
		return 1
	}
	switch {
	case s.Status.Has(ahp.SessionStatusIsArchived):
		return 4
	case s.Changes != nil && OrZero(s.Changes.Files) > 0 && !s.Status.Has(ahp.SessionStatusIsRead):
		return 2
	case s.Status.Activity() == ahp.SessionStatusError && !s.Status.Has(ahp.SessionStatusIsRead):
		return 2
	}
	return 3
}

const NeedsYou = "Needs you"

// FileAsks returns the requests that the caller may answer.
func (st *Site) FileAsks(c core.Caller) (out []page.FileAsk) {
	if !c.Has(access.RightManage) {
		return nil
	}
	for _, a := range st.Files.FileAsks() {
		it := page.FileAsk{ID: a.ID, Name: a.Name, Client: a.Client, Path: a.Path, Dir: a.Dir, Write: a.Write,
			Repository: a.Repository}
		if as, ok := core.FilePath(a.URI); ok && as != a.Path {
			it.As = as
		}
		out = append(out, it)
	}
	return out
}

// fileRail links the rail to the requests for files.
func (st *Site) fileRail(c core.Caller) (out []part.RailItem) {
	for _, a := range st.FileAsks(c) {
		out = append(out, part.RailItem{Href: "/#files-" + a.ID, Title: a.Name + ": " + filepath.Base(a.Path),
			Group: NeedsYou, Unread: true, Status: part.Status{Icon: "need", Word: "Asks to " + AskVerb(a.Write),
				Class: "need"}})
	}
	return out
}

// AskVerb returns the verb for a client's request for files.
func AskVerb(write bool) string {
	if write {
		return "write"
	}
	return "read"
}

// watchFiles pings when a client requests files, or a request was answered; for a room's Watch.
func (st *Site) watchFiles(ping func()) (stop func()) {
	changed, cancel := st.Files.WatchFiles()
	return live.PingOn(changed, cancel, ping)
}
