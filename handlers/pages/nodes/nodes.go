// Package nodes serves the page of a cluster's nodes.
package nodes

import (
	"context"
	"net/http"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/cluster/manage"
	"github.com/ahphub/ahphub/templ/page"
)

// Status returns the newest status of the cluster; false before there is one.
type Status func() (manage.Status, bool)

// Pages are the pages of nodes.
type Pages struct {
	*site.Site
	status Status // nil: this server is no node of a cluster
}

// New makes the page of a cluster's status.
func New(s *site.Site, status Status) *Pages { return &Pages{s, status} }

// Show serves GET /nodes.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request) error {
	if p.status == nil {
		return site.NotFound("This server isn't part of a cluster.")
	}
	w.Header().Set("Cache-Control", "no-store")
	m := page.Nodes{Frame: p.Frame(r, "Nodes", "settings")}
	m.Frame.Styles = append(m.Frame.Styles, "css/people.css")
	who := access.FromContext(r.Context())
	rail, err := p.Live.Draw(r.Context(), who, "rail", func(live.Room, live.States) {})
	if err != nil {
		return err
	}
	list, err := p.Live.Draw(r.Context(), who, "nodes", func(live.Room, live.States) { m.List = p.list() })
	if err != nil {
		return err
	}
	m.Frame.Live = live.Query(rail, list)
	return site.Send(w, http.StatusOK, page.NodesPage(m))
}

// list describes the newest status.
func (p *Pages) list() (m page.NodeList) {
	s, ok := p.status()
	if !ok {
		return page.NodeList{Tolerates: 1} // the hub has begun this moment
	}
	m.Tolerates, m.Warning = s.Tolerates, site.Sentence(s.Warning)
	lead := ""
	for _, n := range s.Nodes {
		if n.Leads {
			lead = n.Version
		}
	}
	for _, n := range s.Nodes {
		one := page.Node{Name: n.ID, Address: n.Address, Leads: n.Leads, Reads: n.Reads, Joining: !n.Votes && !n.Reads,
			Version: n.Version, Update: n.Error == "" && n.Version != lead, Expires: n.Expires, Problem: n.Error}
		if n.IsTrailing() {
			one.Behind = int(n.Behind)
		}
		m.Nodes = append(m.Nodes, one)
	}
	return m
}

// redrawEvery is how often an open page is compared with the newest status.
const redrawEvery = time.Second

// room draws the nodes.
type room struct{ live.Redraw }

// NewRoom opens "nodes".
func (p *Pages) NewRoom(_ context.Context, who access.Principal, rest []string) (live.Room, error) {
	if p.status == nil || !who.Has(access.RightManage) || len(rest) != 0 {
		return nil, live.ErrNoRoom
	}
	r := &room{}
	r.Draw = func(live.States) []live.Patch {
		return []live.Patch{live.Replace("nodes", page.NodeListPart(p.list()))}
	}
	return r, nil
}

// Channels of the room.
func (r *room) Channels() []ahp.URI { return []ahp.URI{ahp.RootURI} }

// Watch pings at an interval.
func (r *room) Watch(ping func()) (stop func()) { return live.PingEvery(redrawEvery, ping) }
