package pages

import (
	"context"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// sessionRoom draws the head that all pages of a session share: title, status, counts, what waits. Who is here has a
// room of its own.
type sessionRoom struct {
	live.Redraw
	p     *Pages
	who   access.Principal // one of the audience: it is shown to all of them
	uri   ahp.URI
	short string
}

// newSessionRoom opens "session:<short>".
func (p *Pages) newSessionRoom(ctx context.Context, who access.Principal, rest []string) (live.Room, error) {
	if len(rest) != 1 {
		return nil, live.ErrGone
	}
	uri, ok := p.Host.SessionByShort(rest[0])
	if !ok {
		return nil, live.ErrGone
	}
	if err := p.prepare(ctx, who, uri); err != nil {
		return nil, err
	}
	r := &sessionRoom{p: p, who: who, uri: uri, short: rest[0]}
	r.Draw = r.draw
	return r, nil
}

// Channels of the room.
func (s *sessionRoom) Channels() []ahp.URI { return []ahp.URI{s.uri} }

// Watch pings when a verdict changes. While the room has readers the branch is kept current.
func (s *sessionRoom) Watch(ping func()) (stop func()) {
	unwatch, unfollow := s.p.watchDesk(s.uri, ping), s.p.Host.FollowBranch(s.uri)
	return func() { unwatch(); unfollow() }
}

// draw draws every region of the head.
func (s *sessionRoom) draw(v live.States) []live.Patch {
	state, _ := v[s.uri].(*ahp.SessionState)
	if state == nil {
		return nil
	}
	h := s.p.head(s.who, s.short, s.uri, state)
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
		live.Replace("verdict-list", part.VerdictList(h.Base(), s.p.verdicts(s.uri, state.WorkingDirectories))),
		live.Replace("attention", part.AttentionPart(part.AttentionOf(state.InputNeeded, h.Base()))),
		live.Replace("chats", page.ChatsPart(chatLinks(state, h.Base(), ""))),
	}
}

// head returns what stands at the top of a session's pages. Counts come from the summary, which the host keeps.
func (p *Pages) head(who access.Principal, short string, uri ahp.URI, s *ahp.SessionState) part.SessionHead {
	if !who.Scope.IsWhole() {
		h := partHead(who, short, s)
		h.Answers = p.answerers(s.InputNeeded)
		return h
	}
	h := part.SessionHead{Short: short, Title: titleOf(s.Title), Status: activityStatus(s.Status, s.Activity), Activity: s.Activity,
		Archived: s.Status.Has(ahp.SessionStatusIsArchived), Verdicts: p.standing(uri), Answers: p.answerers(s.InputNeeded)}
	b := host.ReadBranch(s.Meta)
	h.Branch, h.Detached = b.Name, b.Detached
	_, h.Worktree = host.WorktreeOf(s)
	h.Wide = host.IsWide(s.WorkingDirectories)
	if sum, ok := p.Host.Summary(uri); ok {
		h.Status = activityStatus(sum.Status, sum.Activity)
		if c := sum.Changes; c != nil {
			h.Add, h.Del, h.Files = number(c.Additions), number(c.Deletions), number(c.Files)
		}
		if sum.Annotations != nil {
			h.Threads = sum.Annotations.AnnotationCount
		}
	}
	return h
}

func titleOf(title string) string {
	if title == "" {
		return "New session"
	}
	return title
}

func number(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

func chatLinks(s *ahp.SessionState, base, current string) (out []page.ChatLink) {
	for _, c := range s.Chats {
		if c.Interactivity == ahp.ChatInteractivityHidden {
			continue
		}
		title := c.Title
		if title == "" {
			title = "Chat"
		}
		out = append(out, page.ChatLink{Href: base + "/c/" + part.Tail(c.Resource), Title: title, Status: activityStatus(c.Status, c.Activity), Current: c.Resource == current})
	}
	return out
}

// sees reports whether who may see a channel of a session.
func sees(who access.Principal, uri, session ahp.URI, kind ahp.ChannelKind) bool {
	return who.Audience().Sees(hub.ChannelInfo{URI: uri, Kind: kind, Session: session})
}
