package site

import (
	"cmp"
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/worktrees"
	"github.com/ahphub/ahphub/hub/machine/place"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// sessionRoom renders the head of all pages of a session: title, status, counts, open requests. The viewers
// have a separate room.
type sessionRoom struct {
	live.Redraw
	st    *Site
	who   access.Principal // any one of the audience, all of whom see the result
	uri   ahp.URI
	short string
}

// NewSessionRoom opens "session:<short>".
func (st *Site) NewSessionRoom(ctx context.Context, who access.Principal, rest []string) (live.Room, error) {
	if len(rest) != 1 {
		return nil, live.ErrGone
	}
	uri, ok := st.Host.SessionByShort(rest[0])
	if !ok {
		return nil, live.ErrGone
	}
	if err := st.Prepare(ctx, who, uri); err != nil {
		return nil, err
	}
	r := &sessionRoom{st: st, who: who, uri: uri, short: rest[0]}
	r.Draw = r.draw
	return r, nil
}

// Channels implements live.Room.
func (s *sessionRoom) Channels() []ahp.URI { return []ahp.URI{s.uri} }

// Watch pings when a verdict changes. While the room has readers, the host keeps the branch current.
func (s *sessionRoom) Watch(ping func()) (stop func()) {
	unwatch, unfollow := s.st.WatchReview(s.uri, ping), s.st.Branches.FollowBranch(s.uri)
	return func() { unwatch(); unfollow() }
}

// draw renders every region of the head.
func (s *sessionRoom) draw(v live.States) []live.Patch {
	state, _ := v[s.uri].(*ahp.SessionState)
	if state == nil {
		return nil
	}
	h := s.st.head(s.who, s.short, s.uri, state)
	if !s.who.Scope.IsWhole() {
		return []live.Patch{
			live.Replace("title", part.TitlePart(h)),
			live.Replace("status", part.StatusPart(h)),
			live.Replace("attention", part.AttentionPart(part.AttentionOf(state.InputNeeded, h.Base()))),
		}
	}
	return []live.Patch{
		live.Replace("title", part.TitlePart(h)),
		live.Replace("status", part.StatusPart(h)),
		live.Replace("branch", part.BranchPart(h)),
		live.Replace("wide", part.WidePart(h)),
		live.Replace("counts", part.CountsPart(h)),
		live.Replace("verdicts", part.VerdictsPart(h.Base(), h.Verdicts)),
		live.Replace("verdict-list", part.VerdictList(h.Base(), s.st.Verdicts(s.uri, state.WorkingDirectories))),
		live.Replace("attention", part.AttentionPart(part.AttentionOf(state.InputNeeded, h.Base()))),
		live.Replace("chats", page.ChatsPart(ChatLinks(state, h.Base(), ""))),
	}
}

// head returns the head of a session's pages. Counts come from the summary, which the host updates.
func (st *Site) head(who access.Principal, short string, uri ahp.URI, s *ahp.SessionState) part.SessionHead {
	if !who.Scope.IsWhole() {
		h := partHead(who, short, s)
		h.Answers = st.answerers(s.InputNeeded)
		return h
	}
	h := part.SessionHead{Short: short, Title: SessionTitle(s.Title), Status: StatusOf(s.Status, s.Activity),
		Activity: s.Activity, Silent: IsSilent(s.Activity), Archived: s.Status.Has(ahp.SessionStatusIsArchived), Verdicts: st.StandingVerdicts(uri),
		Answers: st.answerers(s.InputNeeded)}
	b := worktrees.ReadBranch(s.Meta)
	h.Branch, h.Detached = b.Name, b.Detached
	_, h.Worktree = worktrees.Of(s)
	h.Wide = st.Files.IsWide(s.WorkingDirectories)
	if sum, ok := st.Host.Summary(uri); ok {
		h.Status = StatusOf(sum.Status, sum.Activity)
		if c := sum.Changes; c != nil {
			h.Add, h.Del, h.Files = OrZero(c.Additions), OrZero(c.Deletions), OrZero(c.Files)
		}
		if sum.Annotations != nil {
			h.Threads = sum.Annotations.AnnotationCount
		}
	}
	return h
}

// SessionTitle returns a session's title; a new session has none yet.
func SessionTitle(title string) string {
	if title == "" {
		return "New session"
	}
	return title
}

// ChatLinks lists the chats of a session for links to them.
func ChatLinks(s *ahp.SessionState, base, current string) (out []page.ChatLink) {
	for _, c := range s.Chats {
		if c.Interactivity == ahp.ChatInteractivityHidden {
			continue
		}
		title := c.Title
		if title == "" {
			title = "Chat"
		}
		out = append(out, page.ChatLink{Href: base + "/c/" + part.Tail(c.Resource), Title: title,
			Status: StatusOf(c.Status, c.Activity), Current: c.Resource == current})
	}
	return out
}

// Sees reports whether who may see a channel of a session.
func Sees(who access.Principal, uri, session ahp.URI, kind ahp.ChannelKind) bool {
	return who.Audience().Sees(hub.ChannelInfo{URI: uri, Kind: kind, Session: session})
}

// SessionState returns a session's state; an empty one if it is not loaded.
func (st *Site) SessionState(uri ahp.URI) *ahp.SessionState {
	s, _ := hub.StateOf[*ahp.SessionState](st.Hub, uri)
	if s == nil {
		s = &ahp.SessionState{}
	}
	return s
}

// ChatByID finds a chat of a session by the end of its URI; "" finds the default chat.
func ChatByID(s *ahp.SessionState, id string) (ahp.URI, bool) {
	if s == nil {
		return "", false
	}
	if id == "" && s.DefaultChat != "" {
		return s.DefaultChat, true
	}
	for _, c := range s.Chats {
		if id == "" || part.Tail(c.Resource) == id {
			return c.Resource, true
		}
	}
	return "", false
}

// ChatTitle returns a chat's title; a new chat has none yet.
func ChatTitle(c ahp.ChatSummary) string {
	if c.Title == "" {
		return "Chat"
	}
	return c.Title
}

// VisitByShort returns a visit to a session, if who may see it.
func (st *Site) VisitByShort(who access.Principal, short string) (Visit, error) {
	uri, ok := st.Host.SessionByShort(short)
	if !ok || !Sees(who, uri, uri, ahp.ChannelSession) {
		return Visit{}, live.ErrGone
	}
	return Visit{Who: who, Session: uri, Short: short}, nil
}

// AgentName returns an agent's display name; "" is the default agent.
func (st *Site) AgentName(provider string) string {
	for i, a := range st.Agents() {
		if a.Provider == provider || provider == "" && i == 0 {
			return cmp.Or(a.DisplayName, a.Provider)
		}
	}
	if machine, _ := st.MachineOf(provider); machine != "" { // not connected since the server started, or revoked
		_, there := place.SplitProvider(provider)
		return there + " on " + machine
	}
	return provider
}

// Agents lists the agents of the host.
func (st *Site) Agents() []ahp.AgentInfo {
	if root, ok := hub.StateOf[*ahp.RootState](st.Hub, ahp.RootURI); ok {
		return root.Agents
	}
	return nil
}

// HasOnlyShell reports whether no agent besides Shell was found.
func (st *Site) HasOnlyShell() bool {
	all := st.Agents()
	return len(all) == 1 && all[0].Provider == "shell"
}

// FindChat returns the current state of the chat in a request's path.
func (st *Site) FindChat(r *http.Request) (Visit, *ahp.ChatState, error) {
	v, err := st.FindVisit(r)
	if err != nil {
		return v, nil, err
	}
	if err := st.Prepare(r.Context(), v.Who, v.Session); err != nil {
		return v, nil, err
	}
	uri, ok := ChatByID(st.SessionState(v.Session), chi.URLParam(r, "chat"))
	if !ok {
		return v, nil, NotFound("Chat not found in this session.")
	}
	if err := st.Prepare(r.Context(), v.Who, uri); err != nil {
		return v, nil, err
	}
	chat, ok := hub.StateOf[*ahp.ChatState](st.Hub, uri)
	if !ok {
		return v, nil, live.ErrGone
	}
	return v, chat, nil
}
