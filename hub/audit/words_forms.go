package audit

import (
	"context"
	"maps"

	"github.com/ahphub/ahphub/hub/access"
)

// form is a form whose success is written down, in words. A handler says more by Detail.
type form struct {
	what string
	kind Kind
}

// forms are the forms that are written down, besides signing in and joining, which write for themselves.
var forms = map[string]form{
	"POST /s/{session}/share":                          {"made a link", Inside},
	"POST /s/{session}/share/{link}/revoke":            {"revoked a link", Inside},
	"POST /s/{session}/c/{chat}/tool":                  {"answered an approval", Carried},
	"POST /s/{session}/t/{terminal}/input":             {"typed in a terminal", Carried},
	"POST /s/{session}/t/{terminal}/claim":             {"took, handed over or released a terminal", Inside},
	"POST /s/{session}/t/{terminal}/close":             {"closed a terminal", Inside},
	"POST /new":                                        {"made a session", Inside},
	"POST /s/{session}/archive":                        {"archived or took back a session", Inside},
	"POST /s/{session}/delete":                         {"deleted a session", Outside},
	"POST /deleted/{session}":                          {"restored a session", Inside},
	"POST /s/{session}/customizations":                 {"switched a customization on or off", Inside},
	"POST /s/{session}/customizations/server":          {"started, stopped or trusted an MCP server", Inside},
	"POST /s/{session}/worktree":                       {"merged or removed a work tree", Outside},
	"POST /s/{session}/changes/send":                   {"sent comments to the agent", Inside},
	"POST /s/{session}/changes/op":                     {"changed files by an operation", Outside},
	"POST /people/links/{link}/revoke":                 {"revoked a link", Inside},
	"POST /files/{ask}":                                {"answered a request for files", Outside},
	"POST /people/files/{grant}/revoke":                {"revoked files", Outside},
	"POST /automations":                                {"made an automation", Inside},
	"POST /automations/{automation}":                   {"changed an automation", Inside},
	"POST /automations/{automation}/enabled":           {"changed an automation", Inside},
	"POST /automations/{automation}/run":               {"ran an automation", Inside},
	"POST /automations/{automation}/remove":            {"removed an automation", Inside},
	"POST /automations/{automation}/runs/{run}/cancel": {"cancelled a run of an automation", Inside},
	"POST /account/password":                           {"changed the password", Inside},
	"POST /account/tokens":                             {"made a token", Inside},
	"POST /account/tokens/{token}/revoke":              {"revoked a token", Inside},
	"POST /account/passkeys":                           {"made a passkey", Inside},
	"POST /account/passkeys/{key}/remove":              {"removed a passkey", Inside},
	"POST /people/invite":                              {"invited somebody", Inside},
	"POST /people/members/{member}":                    {"changed somebody's rights", Inside},
	"POST /people/members/{member}/remove":             {"removed somebody", Inside},
	"POST /people/browsers/{browser}":                  {"signed a browser out", Inside},
	"POST /people/signout":                             {"signed out everywhere else", Inside},
	"GET /audit.jsonl":                                 {"exported the audit", Outside},

	"POST /s/{session}/title":                          {"renamed a session", Inside},
	"POST /s/{session}/c/{chat}/settings":              {"changed a chat's settings", Inside},
	"POST /s/{session}/suggestions":                    {"changed files by a suggestion", Outside},
	"POST /s/{session}/verdict":                        {"gave or took back a verdict", Inside},
	"POST /s/{session}/t":                              {"opened a terminal", Inside},
	"POST /settings/notifications":                     {"chose what they are told", Inside},
	"POST /settings/notifications/mail":                {"asked for mail of notifications", Outside},
	"POST /settings/notifications/mail/verify":         {"verified an address for mail", Inside},
	"POST /settings/notifications/hooks":               {"made a webhook", Inside},
	"POST /settings/notifications/hooks/{hook}/test":   {"tested a webhook", Outside},
	"POST /settings/notifications/hooks/{hook}/remove": {"removed a webhook", Inside},
	"POST /unsubscribe":                                {"ended the mail of notifications", Inside},
}

const (
	theirOwn = "it is kept for the visitor alone"
	written  = "it writes for itself"
)

// notForms are the forms that change something and are not in forms, and why.
var notForms = map[string]string{
	"POST /signin":                 written,
	"POST /signin/password":        written,
	"POST /signin/passkey":         written,
	"POST /signin/passkey/begin":   "no one is signed in by asking",
	"POST /signin/oidc":            "no one is signed in by asking",
	"POST /signout":                written,
	"POST /j":                      written,
	"POST /invite":                 written,
	"POST /account/passkeys/begin": "nothing is made by asking",

	"POST /settings/theme":                 theirOwn,
	"POST /settings/notifications/browser": theirOwn,
	"POST /s/{session}/mute":               theirOwn,
	"POST /s/{session}/threads/seen":       theirOwn,
	"POST /s/{session}/changes/drafts":     theirOwn,

	"POST /s/{session}/retry":                   inTimeline,
	"POST /s/{session}/c/{chat}/message":        inTimeline,
	"POST /s/{session}/c/{chat}/fork":           inTimeline,
	"POST /s/{session}/c/{chat}/stop":           inTimeline,
	"POST /s/{session}/c/{chat}/resume":         inTimeline,
	"POST /s/{session}/c/{chat}/background":     inTimeline,
	"POST /s/{session}/c/{chat}/input":          inTimeline,
	"POST /s/{session}/c/{chat}/answer":         inTimeline,
	"POST /s/{session}/c/{chat}/queue/edit":     inTimeline,
	"POST /s/{session}/c/{chat}/queue/up":       inTimeline,
	"POST /s/{session}/c/{chat}/queue/remove":   inTimeline,
	"POST /s/{session}/changes/reviewed":        inTimeline,
	"POST /s/{session}/threads/{thread}/{verb}": inTimeline,
	"POST /s/{session}/t/{terminal}/rename":     inTimeline,
	"POST /s/{session}/t/{terminal}/clear":      inTimeline,
	"POST /s/{session}/t/exited":                "what it takes away has ended already",
}

// BeginForm is Begin for a form, by its method and route. A form that is not audited has a nil call.
func (l *Log) BeginForm(ctx context.Context, who access.Principal, route, path string) (context.Context, *Call, error) {
	f, audited := forms[route]
	if !audited {
		return ctx, nil, nil
	}
	return l.Begin(ctx, f.kind, Entry{Who: who.ID, Name: who.Name, What: f.what, On: path})
}

// Forms returns the words of each form that is written down, and of each that is not, why.
func Forms() (audited, not map[string]string) {
	audited = map[string]string{}
	for route, f := range forms {
		audited[route] = f.what
	}
	return audited, maps.Clone(notForms)
}
