package site

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

// A guest whose link is for a part of a session sees pages made of what their audience sees: the same pages, cut down.

// Home returns the first page of a part of a session.
func Home(session ahp.URI, s access.Scope) string {
	base := "/s/" + core.ShortID(session)
	switch {
	case s.IsChat():
		return base + "/c/" + part.Tail(s.URI)
	case s.IsChangeset():
		return base + "/changes?scope=" + url.QueryEscape(ScopeOf(s.URI))
	}
	return base
}

// ScopeOf returns what the address of a review page calls a changeset; look.changeset is the way back.
func ScopeOf(changeset ahp.URI) string {
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

// StateFor returns a channel's state as who sees it; nil when they do not, or it sleeps.
func (st *Site) StateFor(who access.Principal, uri ahp.URI) ahp.State {
	info, known := st.Hub.Info(uri)
	state, _, awake := st.Hub.State(uri)
	if !known || !awake || !who.Audience().Sees(info) {
		return nil
	}
	return who.Audience().State(info, state)
}

// SessionFor returns a session as who sees it.
func (st *Site) SessionFor(who access.Principal, uri ahp.URI) *ahp.SessionState {
	s, _ := st.StateFor(who, uri).(*ahp.SessionState)
	if s == nil {
		s = &ahp.SessionState{}
	}
	return s
}

// partHead returns the head of the pages of a part of a session: what it is called and does. The rest is the session's.
func partHead(who access.Principal, short string, s *ahp.SessionState) part.SessionHead {
	h := part.SessionHead{Short: short, Title: SessionTitle(s.Title), Status: StatusOf(s.Status, s.Activity),
		Activity: s.Activity, Silent: IsSilent(s.Activity), Only: "changes"}
	if who.Scope.IsChat() {
		h.Only, h.Chat = "chat", part.Tail(who.Scope.URI)
		if i := slices.IndexFunc(s.Chats, func(c ahp.ChatSummary) bool { return c.Resource == who.Scope.URI }); i >= 0 {
			h.Title = ChatTitle(s.Chats[i]) // the session's, as it is called here, was written once
		}
	}
	return h
}

// FilterVisible leaves out channels that who does not see.
func (st *Site) FilterVisible(who access.Principal, uris ...ahp.URI) (out []ahp.URI) {
	for _, u := range uris {
		if info, known := st.Hub.Info(u); known && who.Audience().Sees(info) {
			out = append(out, u)
		}
	}
	return out
}

// IsVisible reports whether a terminal or a changeset, opened or not, is of the part that who sees.
func (st *Site) IsVisible(who access.Principal, uri, session ahp.URI, kind ahp.ChannelKind) bool {
	info, known := st.Hub.Info(uri)
	if !known {
		info = hub.ChannelInfo{URI: uri, Kind: kind, Session: session}
	}
	return who.Audience().Sees(info)
}

// TitleOf returns what a session or a part of it is called for those who come by a link: a part does not tell the
// session's title, which was made of what was said first.
func (st *Site) TitleOf(session ahp.URI, s access.Scope) string {
	sum, _ := st.Host.Summary(session)
	switch {
	case s.IsChat():
		return chatTitleIn(sum, s.URI)
	case s.IsChangeset():
		return ChangesTitle(sum, ScopeOf(s.URI))
	}
	return sum.Title
}

func chatTitleIn(sum ahp.SessionSummary, chat ahp.URI) string {
	for _, c := range sum.Chats {
		if c.Resource == chat && c.Title != "" {
			return c.Title
		}
	}
	return "Chat"
}

// ChangesTitle names what a scope of a review page compares.
func ChangesTitle(sum ahp.SessionSummary, scope string) string {
	switch kind, of, _ := strings.Cut(scope, "."); kind {
	case "session":
		return "Since the session began"
	case "uncommitted":
		return "Uncommitted"
	case "branch":
		return "On the branch"
	case "turn":
		return "One turn"
	case "compare":
		return "Between two turns"
	case "chat":
		id, of, _ := strings.Cut(of, ".")
		for _, c := range sum.Chats {
			if core.ShortID(c.Resource) == id {
				return chatTitleIn(sum, c.Resource) + ": " + strings.ToLower(ChangesTitle(sum, of))
			}
		}
	}
	return "Changes"
}

// A part of a session in a form or an address: "chat:<id>" or "changes:<scope>".
const (
	ChatPart    = "chat:"
	ChangesPart = "changes:"
)
