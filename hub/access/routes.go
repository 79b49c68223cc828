package access

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// routeRights names the right to visit each route that asks who is there, by method and
// pattern. A form's action is asked of MayAct besides, by the host; that somebody visits
// only pages of their session is the middleware's check of {session}.
var routeRights = map[string]Right{
	"GET /":                RightRead,
	"GET /live":            RightRead,
	"GET /help":            RightRead,
	"GET /new":             RightManage,
	"POST /new":            RightManage,
	"GET /settings":        RightManage,
	"POST /settings/theme": RightRead, // a cookie of the visitor's own

	"GET /account":                        RightManage,
	"POST /account/password":              RightManage,
	"POST /account/tokens":                RightManage,
	"POST /account/tokens/{token}/revoke": RightManage,
	"POST /account/passkeys/begin":        RightManage,
	"POST /account/passkeys":              RightManage,
	"POST /account/passkeys/{key}/remove": RightManage,

	"GET /people":                      RightManage,
	"POST /people/signout":             RightManage,
	"POST /people/browsers/{browser}":  RightManage,
	"POST /people/links/{link}/revoke": RightManage,
	"GET /audit":                       RightManage,
	"GET /audit.jsonl":                 RightManage,

	"GET /s/{session}":                                   RightRead,
	"POST /s/{session}/retry":                            RightManage,
	"POST /s/{session}/title":                            RightManage,
	"POST /s/{session}/archive":                          RightManage,
	"GET /s/{session}/worktree":                          RightManage,
	"POST /s/{session}/worktree":                         RightManage,
	"GET /s/{session}/c/{chat}":                          RightRead,
	"GET /s/{session}/c/{chat}/edits/{call}":             RightRead,
	"GET /s/{session}/c/{chat}/edits/{call}/file/{file}": RightRead,
	"POST /s/{session}/c/{chat}/message":                 RightPrompt,
	"POST /s/{session}/c/{chat}/settings":                RightManage,
	"GET /s/{session}/c/{chat}/complete":                 RightPrompt,
	"GET /s/{session}/c/{chat}/attachments/{turn}/{n}":   RightRead,
	"POST /s/{session}/c/{chat}/fork":                    RightPrompt,
	"POST /s/{session}/c/{chat}/stop":                    RightPrompt,
	"POST /s/{session}/c/{chat}/resume":                  RightPrompt,
	"POST /s/{session}/c/{chat}/background":              RightPrompt,
	"POST /s/{session}/c/{chat}/input":                   RightPrompt,
	"POST /s/{session}/c/{chat}/answer":                  RightPrompt,
	"POST /s/{session}/c/{chat}/queue/edit":              RightPrompt,
	"POST /s/{session}/c/{chat}/queue/up":                RightPrompt,
	"POST /s/{session}/c/{chat}/queue/remove":            RightPrompt,
	"POST /s/{session}/c/{chat}/tool":                    RightApprove,

	"GET /s/{session}/changes":                  RightRead,
	"GET /s/{session}/changes/file/{file}":      RightRead,
	"GET /s/{session}/changes/context":          RightRead,
	"GET /s/{session}/changes/image":            RightRead,
	"GET /s/{session}/changes/place":            RightRead,
	"POST /s/{session}/changes/reviewed":        RightReview,
	"POST /s/{session}/changes/op":              RightManage,
	"POST /s/{session}/changes/drafts":          RightComment,
	"POST /s/{session}/changes/send":            RightPrompt,
	"GET /s/{session}/threads":                  RightRead,
	"POST /s/{session}/threads/seen":            RightRead, // what the visitor has read, kept for them alone
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

// Routes lists the rows of the table, as MayVisit takes them.
func Routes() []string { return slices.Sorted(maps.Keys(routeRights)) }

// MayVisit tells whether p may visit a route, named by method and pattern as in
// "GET /s/{session}/changes".
func MayVisit(p Principal, route string) error {
	need, ok := routeRights[route]
	if !ok {
		return &Denied{rightHost, fmt.Sprintf("nobody has decided who may visit %s", route)}
	}
	ch := hub.ChannelInfo{Kind: ahp.ChannelSession, Session: p.Session}
	return p.may(need, ch)
}
