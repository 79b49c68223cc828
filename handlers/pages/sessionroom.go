package pages

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

func init() { roomKinds["session"] = newSessionRoom }

// sessionRoom draws the head that all pages of a session share: title, status, counts, what waits. Who is here has a
// room of its own.
type sessionRoom struct {
	p     *Pages
	who   access.Principal // anybody of the audience: it is shown to all of them
	uri   ahp.URI
	short string
	drawn map[string]string // HTML by element id
}

// newSessionRoom opens "session:<short>".
func newSessionRoom(p *Pages, ctx context.Context, who access.Principal, rest []string) (Room, error) {
	if len(rest) != 1 {
		return nil, errGone
	}
	uri, ok := p.Host.SessionByShort(rest[0])
	if !ok {
		return nil, errGone
	}
	if err := p.prepare(ctx, who, uri); err != nil {
		return nil, err
	}
	return &sessionRoom{p: p, who: who, uri: uri, short: rest[0]}, nil
}

// Channels of the room.
func (s *sessionRoom) Channels() []ahp.URI { return []ahp.URI{s.uri} }

// Watch pings when somebody decides. While anybody looks the branch is kept current.
func (s *sessionRoom) Watch(ping func()) (stop func()) {
	unwatch, unfollow := s.p.watchDesk(s.uri, ping), s.p.Host.FollowBranch(s.uri)
	return func() { unwatch(); unfollow() }
}

// Opened notes what the first page has.
func (s *sessionRoom) Opened(v States) {
	s.drawn = map[string]string{}
	for _, p := range s.Whole(v) {
		s.drawn[p.id] = p.html
	}
}

// Whole draws every region of the head.
func (s *sessionRoom) Whole(v States) []Patch {
	state, _ := v[s.uri].(*ahp.SessionState)
	if state == nil {
		return nil
	}
	h := s.p.head(s.who, s.short, s.uri, state)
	if !s.who.Scope.Whole() {
		return []Patch{
			Replace("title", part.TitlePart(h)),
			Replace("status", part.StatusPart(h)),
			Replace("attention", part.AttentionPart(part.AttentionOf(state.InputNeeded, h.Base()))),
		}
	}
	return []Patch{
		Replace("title", part.TitlePart(h)),
		Replace("status", part.StatusPart(h)),
		Replace("branch", part.BranchPart(h)),
		Replace("wide", part.WidePart(h)),
		Replace("counts", part.CountsPart(h)),
		Replace("verdicts", part.VerdictsPart(h.Base(), h.Verdicts)),
		Replace("verdict-list", part.VerdictList(h.Base(), s.p.verdicts(s.uri, state.WorkingDirectories))),
		Replace("attention", part.AttentionPart(part.AttentionOf(state.InputNeeded, h.Base()))),
		Replace("chats", page.ChatsPart(chatLinks(state, h.Base(), ""))),
	}
}

// Changed sends the regions that look different now.
func (s *sessionRoom) Changed(v States, _ News) (out []Patch) {
	for _, p := range s.Whole(v) {
		if s.drawn[p.id] != p.html {
			s.drawn[p.id] = p.html
			out = append(out, p)
		}
	}
	return out
}

// head is what stands at the top of a session's pages. Counts come from the summary, which the host keeps.
func (p *Pages) head(who access.Principal, short string, uri ahp.URI, s *ahp.SessionState) part.SessionHead {
	if !who.Scope.Whole() {
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

// sees tells whether somebody may see a channel of a session.
func sees(who access.Principal, uri, session ahp.URI, kind ahp.ChannelKind) bool {
	return who.Audience().Sees(hub.ChannelInfo{URI: uri, Kind: kind, Session: session})
}
