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
	"GET /":     RightRead,
	"GET /live": RightRead,
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
