package access

import (
	"fmt"
	"maps"
	"slices"
)

// routeRights maps each authenticated route, by method and pattern, to the right it needs. A form's
// action is checked by MayAct in addition, by the host; the middleware checks that guests visit
// only pages of their own {session}.
var routeRights = map[string]Right{
	"GET /":                RightRead,
	"GET /live":            RightRead,
	"GET /help":            RightRead,
	"GET /new":             RightManage,
	"POST /new":            RightManage,
	"GET /settings":        RightManage,
	"POST /settings/theme": RightRead, // sets a cookie of the visitor

	"POST /files/{ask}": RightManage,  // answers a client's request for files
	"POST /filters":     RightAccount, // the visitor's own

	"GET /deleted":                                     RightManage,
	"POST /deleted/{session}":                          RightManage,
	"POST /s/{session}/delete":                         RightManage,
	"GET /automations":                                 RightManage,
	"GET /automations/new":                             RightManage,
	"GET /automations/preview":                         RightManage,
	"POST /automations":                                RightManage,
	"GET /automations/{automation}":                    RightManage,
	"GET /automations/{automation}/edit":               RightManage,
	"POST /automations/{automation}":                   RightManage,
	"POST /automations/{automation}/enabled":           RightManage,
	"POST /automations/{automation}/run":               RightManage,
	"POST /automations/{automation}/remove":            RightManage,
	"POST /automations/{automation}/runs/{run}/cancel": RightManage,

	"GET /settings/notifications":                       RightRead, // the visitor's own
	"POST /settings/notifications":                      RightRead,
	"POST /settings/notifications/browser":              RightRead,
	"GET /notifications/stream":                         RightRead,
	"POST /settings/notifications/mail":                 RightAccount,
	"POST /settings/notifications/mail/verify":          RightAccount,
	"POST /settings/notifications/hooks":                RightAccount,
	"POST /settings/notifications/push":                 RightAccount,
	"POST /settings/notifications/push/{device}/test":   RightAccount,
	"POST /settings/notifications/push/{device}/remove": RightAccount,
	"POST /settings/notifications/push/key":             RightManage,
	"POST /settings/notifications/hooks/{hook}/test":    RightAccount,
	"POST /settings/notifications/hooks/{hook}/remove":  RightAccount,

	"GET /settings/secrets":                  RightManage, // the owner's
	"GET /settings/secrets.json":             RightManage,
	"POST /settings/secrets":                 RightManage,
	"POST /settings/secrets/rotate":          RightManage,
	"POST /settings/secrets/{secret}/grant":  RightManage,
	"POST /settings/secrets/{secret}/remove": RightManage,

	"GET /usage":          RightAccount, // the visitor's own; the owner's page has everyone's
	"GET /usage.csv":      RightAccount,
	"POST /usage/budgets": RightManage,

	"GET /nodes": RightManage,

	"GET /machines":                        RightManage,
	"POST /machines/tokens":                RightManage,
	"POST /machines/tokens/{token}/remove": RightManage,
	"POST /machines/{machine}/rename":      RightManage,
	"POST /machines/{machine}/drain":       RightManage,
	"POST /machines/{machine}/revoke":      RightManage,

	"GET /account":                        RightAccount,
	"POST /account/password":              RightAccount,
	"POST /account/tokens":                RightAccount,
	"POST /account/tokens/{token}/revoke": RightAccount,
	"POST /account/passkeys/begin":        RightAccount,
	"POST /account/passkeys":              RightAccount,
	"POST /account/passkeys/{key}/remove": RightAccount,

	"POST /people/files/{grant}/revoke":    RightManage,
	"GET /people":                          RightManage,
	"POST /people/signout":                 RightManage,
	"POST /people/browsers/{browser}":      RightManage,
	"POST /people/links/{link}/revoke":     RightManage,
	"POST /people/invite":                  RightManage,
	"POST /people/members/{member}":        RightManage,
	"POST /people/members/{member}/remove": RightManage,
	"GET /audit":                           RightManage,
	"GET /audit.jsonl":                     RightManage,

	"GET /s/{session}":                                     RightRead,
	"POST /s/{session}/mute":                               RightRead,    // only for the visitor
	"POST /s/{session}/pin":                                RightAccount, // only for the visitor
	"POST /s/{session}/labels":                             RightManage,  // for everyone who sees the session
	"POST /s/{session}/retry":                              RightManage,
	"POST /s/{session}/t/login":                            RightManage,
	"POST /s/{session}/title":                              RightManage,
	"POST /s/{session}/archive":                            RightManage,
	"GET /s/{session}/customizations":                      RightManage,
	"GET /s/{session}/customizations/file":                 RightManage,
	"POST /s/{session}/customizations":                     RightManage,
	"POST /s/{session}/customizations/server":              RightManage,
	"GET /s/{session}/worktree":                            RightManage,
	"POST /s/{session}/worktree":                           RightManage,
	"GET /s/{session}/c/{chat}":                            RightRead,
	"GET /s/{session}/c/{chat}/text":                       RightRead,
	"GET /s/{session}/c/{chat}/edits/{call}":               RightRead,
	"GET /s/{session}/c/{chat}/edits/{call}/file/{file}":   RightRead,
	"POST /s/{session}/c/{chat}/message":                   RightPrompt,
	"POST /s/{session}/c/{chat}/settings":                  RightManage,
	"GET /s/{session}/c/{chat}/complete":                   RightPrompt,
	"GET /s/{session}/c/{chat}/log":                        RightManage,
	"GET /s/{session}/c/{chat}/attachments/{turn}/{n}":     RightRead,
	"GET /s/{session}/c/{chat}/pictures/{turn}/{part}/{n}": RightRead,
	"POST /s/{session}/c/{chat}/fork":                      RightPrompt,
	"POST /s/{session}/c/{chat}/stop":                      RightPrompt,
	"POST /s/{session}/c/{chat}/resume":                    RightPrompt,
	"POST /s/{session}/c/{chat}/background":                RightPrompt,
	"POST /s/{session}/c/{chat}/input":                     RightPrompt,
	"POST /s/{session}/c/{chat}/answer":                    RightPrompt,
	"POST /s/{session}/c/{chat}/queue/edit":                RightPrompt,
	"POST /s/{session}/c/{chat}/queue/up":                  RightPrompt,
	"POST /s/{session}/c/{chat}/queue/remove":              RightPrompt,
	"POST /s/{session}/c/{chat}/tool":                      RightApprove,

	"GET /s/{session}/changes":                  RightRead,
	"GET /s/{session}/changes/file/{file}":      RightRead,
	"GET /s/{session}/changes/context":          RightRead,
	"GET /s/{session}/changes/image":            RightRead,
	"GET /s/{session}/changes/place":            RightRead,
	"POST /s/{session}/changes/reviewed":        RightReview,
	"POST /s/{session}/changes/op":              RightManage,
	"POST /s/{session}/changes/drafts":          RightComment,
	"GET /s/{session}/threads":                  RightRead,
	"POST /s/{session}/threads/seen":            RightRead, // records what the visitor has read, only for the visitor
	"POST /s/{session}/threads/{thread}/{verb}": RightComment,
	"GET /s/{session}/threads.md":               RightRead,
	"POST /s/{session}/verdict":                 RightReview,
	"POST /s/{session}/suggestions":             RightManage, // writes files, as reverting does

	"GET /s/{session}/t":                               RightRead,
	"POST /s/{session}/t":                              RightType,
	"GET /s/{session}/t/{terminal}":                    RightRead,
	"GET /s/{session}/t/{terminal}/frame":              RightRead,
	"GET /s/{session}/t/{terminal}/stream":             RightRead,
	"GET /s/{session}/t/{terminal}/commands/{command}": RightRead,
	"POST /s/{session}/t/{terminal}/rename":            RightType,
	"POST /s/{session}/t/{terminal}/clear":             RightType,
	"POST /s/{session}/t/exited":                       RightType,
	"POST /s/{session}/t/{terminal}/claim":             RightType,
	"POST /s/{session}/t/{terminal}/input":             RightType,
	"POST /s/{session}/t/{terminal}/close":             RightType,

	"GET /s/{session}/share":                RightManage,
	"POST /s/{session}/share":               RightManage,
	"POST /s/{session}/share/{link}/revoke": RightManage,
}

// Routes lists the rows of the table in the form MayVisit takes.
func Routes() []string { return slices.Sorted(maps.Keys(routeRights)) }

// routeScopes names the routes open to a principal who sees a part of a session. A route without a
// row is closed to them: its page shows all of a session, or its form changes it. The handler
// checks whether the chat, terminal or changeset it names is in scope.
var routeScopes = map[string]scopes{
	"GET /":                inChat | inChangeset, // redirects to the part
	"GET /live":            inChat | inChangeset,
	"GET /help":            inChat | inChangeset,
	"POST /settings/theme": inChat | inChangeset,

	"GET /settings/notifications":          inChat | inChangeset, // the visitor's own
	"POST /settings/notifications":         inChat | inChangeset,
	"POST /settings/notifications/browser": inChat | inChangeset,
	"GET /notifications/stream":            inChat | inChangeset, // each notice is checked
	"POST /s/{session}/mute":               inChat | inChangeset,

	"GET /s/{session}": inChat | inChangeset, // redirects to the part

	"GET /s/{session}/c/{chat}":                            inChat,
	"GET /s/{session}/c/{chat}/text":                       inChat,
	"GET /s/{session}/c/{chat}/edits/{call}":               inChat,
	"GET /s/{session}/c/{chat}/edits/{call}/file/{file}":   inChat,
	"GET /s/{session}/c/{chat}/complete":                   inChat,
	"GET /s/{session}/c/{chat}/attachments/{turn}/{n}":     inChat,
	"GET /s/{session}/c/{chat}/pictures/{turn}/{part}/{n}": inChat,
	"POST /s/{session}/c/{chat}/message":                   inChat,
	"POST /s/{session}/c/{chat}/stop":                      inChat,
	"POST /s/{session}/c/{chat}/resume":                    inChat,
	"POST /s/{session}/c/{chat}/background":                inChat,
	"POST /s/{session}/c/{chat}/input":                     inChat,
	"POST /s/{session}/c/{chat}/answer":                    inChat,
	"POST /s/{session}/c/{chat}/queue/edit":                inChat,
	"POST /s/{session}/c/{chat}/queue/up":                  inChat,
	"POST /s/{session}/c/{chat}/queue/remove":              inChat,
	"POST /s/{session}/c/{chat}/tool":                      inChat,

	"GET /s/{session}/t":                               inChat,
	"GET /s/{session}/t/{terminal}":                    inChat,
	"GET /s/{session}/t/{terminal}/frame":              inChat,
	"GET /s/{session}/t/{terminal}/stream":             inChat,
	"GET /s/{session}/t/{terminal}/commands/{command}": inChat,
	"POST /s/{session}/t/{terminal}/rename":            inChat,
	"POST /s/{session}/t/{terminal}/clear":             inChat,
	"POST /s/{session}/t/{terminal}/claim":             inChat,
	"POST /s/{session}/t/{terminal}/input":             inChat,
	"POST /s/{session}/t/{terminal}/close":             inChat,

	"GET /s/{session}/changes":                  inChat | inChangeset,
	"GET /s/{session}/changes/file/{file}":      inChat | inChangeset,
	"GET /s/{session}/changes/context":          inChat | inChangeset,
	"GET /s/{session}/changes/image":            inChat | inChangeset,
	"GET /s/{session}/changes/place":            inChat | inChangeset,
	"POST /s/{session}/changes/reviewed":        inChat | inChangeset,
	"POST /s/{session}/changes/drafts":          inChat | inChangeset,
	"GET /s/{session}/threads":                  inChat | inChangeset,
	"POST /s/{session}/threads/seen":            inChat | inChangeset,
	"POST /s/{session}/threads/{thread}/{verb}": inChat | inChangeset,
	"GET /s/{session}/threads.md":               inChat | inChangeset,
}

// socketRights maps the routes of the protocol's WebSocket to the right to open it with a token.
// MayCall checks each method called on it.
var socketRights = map[string]Right{
	// for editors that are configured with only host and port; without an upgrade and a token it
	// serves the page
	"/":    RightRead,
	"/ahp": RightRead,
}

// MayConnect reports why p may not open the protocol's WebSocket at a route; nil when it may.
func MayConnect(p Principal, route string) error {
	need, ok := socketRights[route]
	if !ok {
		return &Denied{rightHost, fmt.Sprintf("no AHP socket is served at %s: use / or /ahp", route)}
	}
	if !p.Has(need) {
		return p.deny(need)
	}
	return nil
}

// MayVisit reports why p may not visit a route, named by method and pattern as in "GET
// /s/{session}/changes"; nil when it may.
func MayVisit(p Principal, route string) error {
	need, ok := routeRights[route]
	if !ok {
		return &Denied{rightHost, fmt.Sprintf("no access rule covers %s", route)}
	}
	if !p.IsKnown() {
		return &Denied{need, "sign in first"}
	}
	if !p.Scope.isIn(routeScopes[route]) {
		return &Denied{need, "your link only covers part of this session. Ask the owner for full access"}
	}
	if !p.Has(need) {
		return p.deny(need)
	}
	return nil
}

// roomScopes names the live rooms of pages, by the first word of a room's name, with the parts of a
// session whose guests may follow them too. The room of a part is rendered from what its audience
// sees.
var roomScopes = map[string]scopes{
	"rail":           0,
	"machines":       0, // only for principals that may manage: the room checks
	"nodes":          0, // only for principals that may manage: the room checks
	"customizations": 0, // only for principals that may manage: the room checks
	"inbox":          0,
	"automations":    0,
	"automation":     0,
	"session":        inChat | inChangeset,
	"people":         inChat | inChangeset,
	"chat":           inChat,
	"changes":        inChat | inChangeset,
	"terminals":      inChat,
	"terminal":       inChat,
}

// MayFollow reports why p may not follow a live room of this kind; nil when it may. Opening the
// room checks whether its chat, terminal or changeset is in scope.
func MayFollow(p Principal, kind string) error {
	where, ok := roomScopes[kind]
	if !ok {
		return &Denied{rightHost, fmt.Sprintf("no access rule covers the room %s", kind)}
	}
	if !p.IsKnown() {
		return &Denied{RightRead, "sign in first"}
	}
	if !p.Scope.isIn(where) {
		return &Denied{RightRead, "your link only covers part of this session. Ask the owner for full access"}
	}
	if !p.Has(RightRead) {
		return p.deny(RightRead)
	}
	return nil
}

// Rooms lists the kinds of live rooms in the form MayFollow takes.
func Rooms() []string { return slices.Sorted(maps.Keys(roomScopes)) }
