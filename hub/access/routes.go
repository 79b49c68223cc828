package access

import (
	"fmt"

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

	"GET /s/{session}":                    RightRead,
	"GET /s/{session}/c/{chat}":           RightRead,
	"GET /s/{session}/changes":            RightRead,
	"GET /s/{session}/threads":            RightRead,
	"GET /s/{session}/t":                  RightRead,
	"GET /s/{session}/t/{terminal}":       RightRead,
	"GET /s/{session}/t/{terminal}/frame": RightRead,
	"GET /s/{session}/share":              RightManage,
}

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
