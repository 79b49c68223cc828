package host

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Summaries returns the sessions that the caller may see, last modified first.
func (h *Host) Summaries(c core.Caller) []ahp.SessionSummary {
	list := h.visible(c)
	out := make([]ahp.SessionSummary, len(list))
	for i, e := range list {
		out[i] = c.Principal.Summary(e.Summary)
	}
	return out
}

// ProviderOf returns the name of a session's agent, also for disposed sessions; "" if it is
// unknown.
func (h *Host) ProviderOf(session ahp.URI) string {
	if e := h.core.Catalogue.Get(session); e != nil {
		return e.Summary.Provider
	}
	return ""
}

// Providers returns the names of the agents.
func (h *Host) Providers() []string { return h.agents.Names() }

// Summary returns a session's summary; ok is false for unknown and disposed ones.
func (h *Host) Summary(uri ahp.URI) (s ahp.SessionSummary, ok bool) {
	if e := h.core.Catalogue.Alive(uri); e != nil {
		return e.Summary, true
	}
	return ahp.SessionSummary{}, false
}

// SessionContext returns a session's branch and the sender of its last message, for lists.
func (h *Host) SessionContext(uri ahp.URI) (branch, by string) {
	if e := h.core.Catalogue.Alive(uri); e != nil {
		return e.Branch, e.By
	}
	return "", ""
}

func (h *Host) visible(c core.Caller) []*core.Entry {
	sees := c.Audience()
	return slices.DeleteFunc(h.core.Catalogue.List(false), func(e *core.Entry) bool {
		return !sees.Sees(hub.ChannelInfo{URI: e.Summary.Resource, Kind: ahp.ChannelSession,
			Session: e.Summary.Resource})
	})
}

// position is the content of a cursor: the last listed entry.
type position struct {
	ModifiedAt string  `json:"m"`
	Resource   ahp.URI `json:"r"`
}

func (p position) cursor() string {
	raw, _ := json.Marshal(p) // two strings always encode
	return base64.RawURLEncoding.EncodeToString(raw)
}

func parseCursor(s string) (p position, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || p.Resource == "" {
		return p, core.BadParams("cursor: unknown. Leave it out to start from the newest session")
	}
	return p, nil
}

// ListSessions handles listSessions. Without a limit it returns all sessions, since clients that
// set none do not fetch a second page.
func (h *Host) ListSessions(_ context.Context, c core.Caller,
	p ahp.ListSessionsParams) (ahp.ListSessionsResult, error) {
	if err := c.MayCall("listSessions", core.RootInfo); err != nil {
		return ahp.ListSessionsResult{}, err
	}
	list := h.visible(c)
	if p.Cursor != "" {
		at, err := parseCursor(p.Cursor)
		if err != nil {
			return ahp.ListSessionsResult{}, err
		}
		list = list[indexAfter(list, at):]
	}
	limit := len(list)
	if p.Limit != nil {
		if *p.Limit < 1 {
			return ahp.ListSessionsResult{}, core.BadParams("limit: %d is not allowed; ask for at least one session",
				*p.Limit)
		}
		limit = int(min(*p.Limit, int64(limit)))
	}
	res := ahp.ListSessionsResult{Items: make([]ahp.SessionSummary, limit)}
	for i, e := range list[:limit] {
		res.Items[i] = c.Principal.Summary(e.Summary)
	}
	if limit < len(list) {
		last := list[limit-1].Summary
		res.NextCursor = position{last.ModifiedAt, last.Resource}.cursor()
	}
	return res, nil
}

func indexAfter(list []*core.Entry, p position) int {
	i, found := slices.BinarySearchFunc(list, p, func(e *core.Entry, p position) int {
		return cmp.Or(-cmp.Compare(e.Summary.ModifiedAt, p.ModifiedAt), cmp.Compare(e.Summary.Resource, p.Resource))
	})
	if found {
		i++
	}
	return i
}

// IsProvisional reports whether a session has no content yet.
func (h *Host) IsProvisional(session ahp.URI) bool {
	e := h.core.Catalogue.Alive(session)
	return e != nil && e.Provisional
}

// Listed returns the sessions with content that the caller may see, last modified first.
func (h *Host) Listed(c core.Caller) []ahp.SessionSummary {
	list := h.visible(c)
	out := make([]ahp.SessionSummary, 0, len(list))
	for _, e := range list {
		if !e.Provisional {
			out = append(out, c.Principal.Summary(e.Summary))
		}
	}
	return out
}

// Keep keeps a session without content, for example after a link into it was created.
func (h *Host) Keep(session ahp.URI) error {
	return h.core.Hub.Do(func(tx *hub.Tx) { h.provisional.keepFor(tx, session) })
}
