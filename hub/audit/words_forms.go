package audit

import (
	"context"
	"maps"

	"github.com/ahphub/ahphub/hub/access"
)

// form is a form whose success is audited, in words. Handlers add more by Detail.
type form struct {
	what string
	kind Kind
}

// forms are the audited forms, except signing in and joining, which write their own entries.
var forms = map[string]form{
	"POST /s/{session}/share":                          {"created a link", Inside},
	"POST /s/{session}/share/{link}/revoke":            {"revoked a link", Inside},
	"POST /s/{session}/c/{chat}/tool":                  {"answered an approval", Carried},
	"POST /s/{session}/t/{terminal}/input":             {"typed in a terminal", Carried},
	"POST /s/{session}/t/{terminal}/claim":             {"took, gave or released control of a terminal", Inside},
	"POST /s/{session}/t/{terminal}/close":             {"closed a terminal", Inside},
	"POST /new":                                        {"created a session", Inside},
	"POST /s/{session}/archive":                        {"archived or unarchived a session", Inside},
	"POST /s/{session}/delete":                         {"deleted a session", Outside},
	"POST /deleted/{session}":                          {"restored a session", Inside},
	"POST /s/{session}/customizations":                 {"turned a customization on or off", Inside},
	"POST /s/{session}/customizations/server":          {"started, stopped or trusted an MCP server", Inside},
	"POST /s/{session}/worktree":                       {"merged or removed a worktree", Outside},
	"POST /s/{session}/changes/op":                     {"changed files with an operation", Outside},
	"POST /people/links/{link}/revoke":                 {"revoked a link", Inside},
	"POST /files/{ask}":                                {"answered a request for files", Outside},
	"POST /people/files/{grant}/revoke":                {"revoked file access", Outside},
	"POST /automations":                                {"created an automation", Inside},
	"POST /automations/{automation}":                   {"changed an automation", Inside},
	"POST /automations/{automation}/enabled":           {"changed an automation", Inside},
	"POST /automations/{automation}/run":               {"ran an automation", Inside},
	"POST /automations/{automation}/remove":            {"removed an automation", Inside},
	"POST /automations/{automation}/runs/{run}/cancel": {"cancelled a run of an automation", Inside},
	"POST /account/password":                           {"changed the password", Inside},
	"POST /account/tokens":                             {"created a token", Inside},
	"POST /account/tokens/{token}/revoke":              {"revoked a token", Inside},
	"POST /account/passkeys":                           {"created a passkey", Inside},
	"POST /account/passkeys/{key}/remove":              {"removed a passkey", Inside},
	"POST /people/invite":                              {"invited a member", Inside},
	"POST /people/members/{member}":                    {"changed a member's role", Inside},
	"POST /people/members/{member}/remove":             {"removed a member", Inside},
	"POST /people/browsers/{browser}":                  {"signed out a browser", Inside},
	"POST /people/signout":                             {"signed out everywhere else", Inside},
	"GET /audit.jsonl":                                 {"exported the audit log", Outside},

	"POST /s/{session}/title":                           {"renamed a session", Inside},
	"POST /s/{session}/labels":                          {"changed the labels of a session", Inside},
	"POST /s/{session}/c/{chat}/settings":               {"changed a chat's settings", Inside},
	"POST /s/{session}/suggestions":                     {"applied a suggestion", Outside},
	"POST /s/{session}/verdict":                         {"submitted or dismissed a review", Inside},
	"POST /s/{session}/t":                               {"opened a terminal", Inside},
	"POST /s/{session}/t/login":                         {"opened a terminal to log in to the agent", Inside},
	"POST /settings/notifications":                      {"changed notification settings", Inside},
	"POST /settings/notifications/mail":                 {"changed email notifications", Outside},
	"POST /settings/notifications/mail/verify":          {"verified an email address", Inside},
	"POST /settings/notifications/hooks":                {"created a webhook", Inside},
	"POST /settings/notifications/hooks/{hook}/test":    {"tested a webhook", Outside},
	"POST /settings/notifications/hooks/{hook}/remove":  {"removed a webhook", Inside},
	"POST /settings/notifications/push":                 {"enabled push notifications on a device", Inside},
	"POST /settings/notifications/push/key":             {"replaced the key for push notifications", Inside},
	"POST /settings/notifications/push/{device}/test":   {"tested push notifications", Outside},
	"POST /settings/notifications/push/{device}/remove": {"removed a device from push notifications", Inside},
	"POST /usage/budgets":                               {"changed the budgets", Inside},
	"GET /usage.csv":                                    {"exported usage", Outside},
	"POST /machines/tokens":                             {"created a token for a machine", Inside},
	"POST /machines/tokens/{token}/remove":              {"removed a token for a machine", Inside},
	"POST /machines/{machine}/rename":                   {"renamed a machine", Inside},
	"POST /machines/{machine}/drain":                    {"changed whether a machine gets new sessions", Inside},
	"POST /machines/{machine}/revoke":                   {"revoked a machine", Inside},
	"POST /settings/secrets":                            {"saved a secret", Inside},
	"POST /settings/secrets/rotate":                     {"rotated the key of secrets", Outside},
	"POST /settings/secrets/{secret}/grant":             {"changed where a secret is available", Inside},
	"POST /settings/secrets/{secret}/remove":            {"removed a secret", Inside},
	"POST /unsubscribe":                                 {"unsubscribed from email", Inside},
}

const (
	theirOwn = "only the visitor sees it"
	written  = "it writes for itself"
)

// notForms maps the other forms that change something to why they are not audited.
var notForms = map[string]string{
	"POST /signin":                 written,
	"POST /signin/password":        written,
	"POST /signin/passkey":         written,
	"POST /signin/passkey/begin":   "a request signs no one in",
	"POST /signin/oidc":            "a request signs no one in",
	"POST /signout":                written,
	"POST /j":                      written,
	"POST /invite":                 written,
	"POST /account/passkeys/begin": "a request creates nothing",

	"POST /settings/theme":                 theirOwn,
	"POST /settings/notifications/browser": theirOwn,
	"POST /s/{session}/mute":               theirOwn,
	"POST /s/{session}/pin":                theirOwn,
	"POST /filters":                        theirOwn,
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

// BeginForm calls Begin for a form, given its method and route. An unaudited form has a nil Call.
func (l *Log) BeginForm(ctx context.Context, who access.Principal, route, path string) (context.Context, *Call, error) {
	f, audited := forms[route]
	if !audited {
		return ctx, nil, nil
	}
	return l.Begin(ctx, f.kind, Entry{Who: who.ID, Name: who.Name, What: f.what, On: path})
}

// Forms returns the words of each audited form, and for each other one, why it is not audited.
func Forms() (audited, not map[string]string) {
	audited = map[string]string{}
	for route, f := range forms {
		audited[route] = f.what
	}
	return audited, maps.Clone(notForms)
}
