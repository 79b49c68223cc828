package web

// audited lists the forms whose success is recorded in the audit. Signing in and joining record
// their own entries. Handlers add details with people.Detail.
var audited = map[string]string{
	"POST /s/{session}/share":                          "made a link",
	"POST /s/{session}/share/{link}/revoke":            "revoked a link",
	"POST /s/{session}/c/{chat}/tool":                  "answered an approval",
	"POST /s/{session}/t/{terminal}/input":             "typed in a terminal",
	"POST /s/{session}/t/{terminal}/claim":             "took, handed over or released a terminal",
	"POST /s/{session}/t/{terminal}/close":             "closed a terminal",
	"POST /new":                                        "made a session",
	"POST /s/{session}/archive":                        "archived or took back a session",
	"POST /s/{session}/delete":                         "deleted a session",
	"POST /deleted/{session}":                          "restored a session",
	"POST /s/{session}/customizations":                 "switched a customization on or off",
	"POST /s/{session}/customizations/server":          "started, stopped or trusted an MCP server",
	"POST /s/{session}/worktree":                       "merged or removed a work tree",
	"POST /s/{session}/changes/send":                   "sent comments to the agent",
	"POST /s/{session}/changes/op":                     "changed files by an operation",
	"POST /people/links/{link}/revoke":                 "revoked a link",
	"POST /files/{ask}":                                "answered a request for files",
	"POST /people/files/{grant}/revoke":                "revoked files",
	"POST /automations":                                "made an automation",
	"POST /automations/{automation}":                   "changed an automation",
	"POST /automations/{automation}/enabled":           "changed an automation",
	"POST /automations/{automation}/run":               "ran an automation",
	"POST /automations/{automation}/remove":            "removed an automation",
	"POST /automations/{automation}/runs/{run}/cancel": "cancelled a run of an automation",
	"POST /account/password":                           "changed the password",
	"POST /account/tokens":                             "made a token",
	"POST /account/tokens/{token}/revoke":              "revoked a token",
	"POST /account/passkeys":                           "made a passkey",
	"POST /account/passkeys/{key}/remove":              "removed a passkey",
	"POST /people/invite":                              "invited somebody",
	"POST /people/members/{member}":                    "changed somebody's rights",
	"POST /people/members/{member}/remove":             "removed somebody",
	"POST /people/browsers/{browser}":                  "signed a browser out",
	"POST /people/signout":                             "signed out everywhere else",
	"GET /audit.jsonl":                                 "exported the audit",

	"POST /s/{session}/title":                          "renamed a session",
	"POST /s/{session}/c/{chat}/settings":              "changed a chat's settings",
	"POST /s/{session}/suggestions":                    "changed files by a suggestion",
	"POST /s/{session}/verdict":                        "gave or took back a verdict",
	"POST /s/{session}/t":                              "opened a terminal",
	"POST /settings/notifications":                     "chose what they are told",
	"POST /settings/notifications/mail":                "asked for mail of notifications",
	"POST /settings/notifications/mail/verify":         "verified an address for mail",
	"POST /settings/notifications/hooks":               "made a webhook",
	"POST /settings/notifications/hooks/{hook}/test":   "tested a webhook",
	"POST /settings/notifications/hooks/{hook}/remove": "removed a webhook",
	"POST /unsubscribe":                                "ended the mail of notifications",
}

const (
	inTimeline = "it is in the session's timeline, with who did it"
	theirOwn   = "it is kept for the visitor alone"
	written    = "it writes for itself"
)

// notAudited lists the forms that change something and are not in audited, with the reason.
var notAudited = map[string]string{
	"POST /signin":                 written,
	"POST /signin/password":        written,
	"POST /signin/passkey":         written,
	"POST /signin/passkey/begin":   "nobody is signed in by asking",
	"POST /signin/oidc":            "nobody is signed in by asking",
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
