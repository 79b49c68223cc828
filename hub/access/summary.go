package access

import (
	"cmp"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Summary returns a session's entry in lists as the principal sees it.
func (p Principal) Summary(s ahp.SessionSummary) ahp.SessionSummary {
	if a, ok := p.Audience().(scopeAudience); ok {
		return a.summary(s)
	}
	if p.Role != RoleOwner {
		s.Origin = nil
	}
	return s
}

func (a scopeAudience) summary(s ahp.SessionSummary) ahp.SessionSummary {
	out := ahp.SessionSummary{Resource: s.Resource, Provider: s.Provider, Title: changesetTitle,
		Status:             ahp.SessionStatusIdle,
		WorkingDirectories: s.WorkingDirectories, CreatedAt: s.CreatedAt, ModifiedAt: s.ModifiedAt}
	if c := a.chatIn(s.Chats); c != nil {
		out.Title, out.Changes, out.DefaultChat = cmp.Or(c.Title, untitledChat), c.Changes, c.Resource
		out.Chats = []ahp.SessionChatSummary{*c}
		if c.Status != nil {
			out.Status = *c.Status
		}
	}
	return out
}

func (a scopeAudience) chatIn(list []ahp.SessionChatSummary) *ahp.SessionChatSummary {
	i := slices.IndexFunc(list, func(c ahp.SessionChatSummary) bool { return c.Resource == a.scope.URI })
	if i < 0 || !a.scope.IsChat() {
		return nil
	}
	return &list[i]
}

// Notification implements hub.Cutter: it cuts notifications about the host's list down to the
// scope.
func (a scopeAudience) Notification(params any) any {
	switch n := params.(type) {
	case ahp.SessionAddedParams:
		n.Summary = a.summary(n.Summary)
		return n
	case ahp.SessionSummaryChangedParams:
		c := a.chatIn(n.Changes.Chats)
		if c == nil {
			return nil
		}
		now := a.summary(ahp.SessionSummary{Resource: n.Session, Chats: n.Changes.Chats})
		n.Changes = ahp.PartialSessionSummary{Title: &now.Title, Status: &now.Status, Changes: now.Changes,
			Chats: now.Chats, ModifiedAt: n.Changes.ModifiedAt}
		return n
	case ahp.SessionRemovedParams:
		return n
	}
	return nil
}
