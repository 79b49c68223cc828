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

// Guests with a link to a part of a session get the same pages, limited to what their audience sees.

// Home returns the path of the first page of a session's part.
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

// ScopeOf returns the scope of a changeset in a review page's address; look.changeset reverses it.
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

// StateFor returns a channel's state as who sees it; nil if it is invisible or not loaded.
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

// partHead returns the head of the pages of a session's part: title and status only.
func partHead(who access.Principal, short string, s *ahp.SessionState) part.SessionHead {
	h := part.SessionHead{Short: short, Title: SessionTitle(s.Title), Status: StatusOf(s.Status, s.Activity),
		Activity: s.Activity, Silent: IsSilent(s.Activity), Only: "changes"}
	if who.Scope.IsChat() {
		h.Only, h.Chat = "chat", part.Tail(who.Scope.URI)
		if i := slices.IndexFunc(s.Chats, func(c ahp.ChatSummary) bool { return c.Resource == who.Scope.URI }); i >= 0 {
			h.Title = ChatTitle(s.Chats[i]) // s.Title is from the snapshot and never updated
		}
	}
	return h
}

// FilterVisible returns the channels that who sees.
func (st *Site) FilterVisible(who access.Principal, uris ...ahp.URI) (out []ahp.URI) {
	for _, u := range uris {
		if info, known := st.Hub.Info(u); known && who.Audience().Sees(info) {
			out = append(out, u)
		}
	}
	return out
}

// IsVisible reports whether who sees a terminal or a changeset, whether loaded or not.
func (st *Site) IsVisible(who access.Principal, uri, session ahp.URI, kind ahp.ChannelKind) bool {
	info, known := st.Hub.Info(uri)
	if !known {
		info = hub.ChannelInfo{URI: uri, Kind: kind, Session: session}
	}
	return who.Audience().Sees(info)
}

// TitleOf returns the title of a session or its part for guests of a link. A part does not reveal the
// session's title, which is made from the first message.
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

// ChangesTitle describes what a review page's scope compares.
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
