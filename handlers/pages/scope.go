package pages

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/part"
)

// Somebody who came by a link for a part of a session sees pages made of what their audience does: the same pages, cut down.

// Home is the first page of a part of a session.
func Home(session ahp.URI, s access.Scope) string {
	base := "/s/" + core.ShortID(session)
	switch {
	case s.IsChat():
		return base + "/c/" + part.Tail(s.URI)
	case s.IsChangeset():
		return base + "/changes?scope=" + url.QueryEscape(scopeOf(s.URI))
	}
	return base
}

// scopeOf is what the address of a review page calls a changeset; look.changeset is the way back.
func scopeOf(changeset ahp.URI) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(changeset, "ahp-changeset:/"), "/")
	kind, rest, _ := strings.Cut(rest, "/")
	switch kind {
	case "turn":
		return "turn." + unescaped(rest)
	case "compare":
		from, to, _ := strings.Cut(rest, "/")
		return "compare." + unescaped(from) + ".." + unescaped(to)
	case "chat":
		chat, of, _ := strings.Cut(rest, "/")
		return "chat." + chat + "." + of
	}
	return kind
}

func unescaped(s string) string {
	out, err := url.PathUnescape(s)
	if err != nil {
		return s
	}
	return out
}

// seen is a channel's state as somebody sees it; nil when they do not, or it sleeps.
func (p *Pages) seenState(who access.Principal, uri ahp.URI) ahp.State {
	info, known := p.Hub.Info(uri)
	st, _, awake := p.Hub.State(uri)
	if !known || !awake || !who.Audience().Sees(info) {
		return nil
	}
	return who.Audience().State(info, st)
}

// sessionFor is a session as somebody sees it.
func (p *Pages) sessionFor(who access.Principal, uri ahp.URI) *ahp.SessionState {
	s, _ := p.seenState(who, uri).(*ahp.SessionState)
	if s == nil {
		s = &ahp.SessionState{}
	}
	return s
}

// partHead is the head of the pages of a part of a session: what it is called and does. The rest is the session's.
func partHead(who access.Principal, short string, s *ahp.SessionState) part.SessionHead {
	h := part.SessionHead{Short: short, Title: titleOf(s.Title), Status: activityStatus(s.Status, s.Activity), Activity: s.Activity, Only: "changes"}
	if who.Scope.IsChat() {
		h.Only, h.Chat = "chat", part.Tail(who.Scope.URI)
		if i := slices.IndexFunc(s.Chats, func(c ahp.ChatSummary) bool { return c.Resource == who.Scope.URI }); i >= 0 {
			h.Title = chatTitle(s.Chats[i]) // the session's, as it is called here, was written once
		}
	}
	return h
}

// followable leaves out channels that somebody does not see.
func (p *Pages) followable(who access.Principal, uris ...ahp.URI) (out []ahp.URI) {
	for _, u := range uris {
		if info, known := p.Hub.Info(u); known && who.Audience().Sees(info) {
			out = append(out, u)
		}
	}
	return out
}

// owned tells whether a terminal or a changeset, opened or not, is of the part that somebody sees.
func (p *Pages) owned(who access.Principal, uri, session ahp.URI, kind ahp.ChannelKind) bool {
	info, known := p.Hub.Info(uri)
	if !known {
		info = hub.ChannelInfo{URI: uri, Kind: kind, Session: session}
	}
	return who.Audience().Sees(info)
}

// TitleOf is what a session or a part of it is called for those who come by a link: a part does not tell the session's
// title, which was made of what was said first.
func (p *Pages) TitleOf(session ahp.URI, s access.Scope) string {
	sum, _ := p.Host.Summary(session)
	switch {
	case s.IsChat():
		return chatCalled(sum, s.URI)
	case s.IsChangeset():
		return changesCalled(sum, scopeOf(s.URI))
	}
	return sum.Title
}

func chatCalled(sum ahp.SessionSummary, chat ahp.URI) string {
	for _, c := range sum.Chats {
		if c.Resource == chat && c.Title != "" {
			return c.Title
		}
	}
	return "Chat"
}

// changesCalled names what a scope of a review page compares.
func changesCalled(sum ahp.SessionSummary, scope string) string {
	switch kind, of, _ := strings.Cut(scope, "."); kind {
	case "session":
		return "Since the session began"
	case "uncommitted":
		return "Not committed"
	case "branch":
		return "On the branch"
	case "turn":
		return "Of one turn"
	case "compare":
		return "Between two turns"
	case "chat":
		id, of, _ := strings.Cut(of, ".")
		for _, c := range sum.Chats {
			if core.ShortID(c.Resource) == id {
				return chatCalled(sum, c.Resource) + ": " + strings.ToLower(changesCalled(sum, of))
			}
		}
	}
	return "Changes"
}
