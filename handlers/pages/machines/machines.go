// Package machines serves the page of machines: the computers on which sessions run.
package machines

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/machines"
	"github.com/ahphub/ahphub/templ/page"
)

const path = "/machines"

// Pages are the pages of machines.
type Pages struct {
	*site.Site
	registry *machines.Registry // nil: there are none
	version  string             // of ahphub
}

// New returns the pages of a registry. The version is that of ahphub.
func New(s *site.Site, registry *machines.Registry, version string) *Pages {
	return &Pages{s, registry, version}
}

// With wraps h to answer 404 on a hub without machines.
func (p *Pages) With(h site.Handler) site.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if p.registry == nil {
			return site.NotFound("Machines are turned off on this server.")
		}
		w.Header().Set("Cache-Control", "no-store")
		return h(w, r)
	}
}

// Show serves GET /machines.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request) error {
	return p.send(w, r, http.StatusOK, page.Machines{})
}

func (p *Pages) send(w http.ResponseWriter, r *http.Request, status int, m page.Machines) error {
	m.Frame = p.Frame(r, "Machines", "settings")
	m.Frame.Styles = append(m.Frame.Styles, "css/people.css")
	who := access.FromContext(r.Context())
	rail, err := p.Live.Draw(r.Context(), who, "rail", func(live.Room, live.States) {})
	if err != nil {
		return err
	}
	list, err := p.Live.Draw(r.Context(), who, "machines", func(live.Room, live.States) { m.List = p.list() })
	if err != nil {
		return err
	}
	m.Frame.Live = live.Query(rail, list)
	return site.Send(w, status, page.MachinesPage(m))
}

// list returns the machines and tokens of the registry.
func (p *Pages) list() page.MachineList {
	m := page.MachineList{Now: p.Now()}
	for _, s := range p.registry.List() {
		m.Machines = append(m.Machines, describe(s, p.version))
	}
	for _, t := range p.registry.Tokens() {
		m.Tokens = append(m.Tokens, page.MachineToken{ID: t.ID, Created: t.Created, Expires: t.Expires})
	}
	return m
}

// describe returns the page's model of a machine. For an offline machine, it leaves out current load and memory.
func describe(s machines.Status, version string) page.Machine {
	m := page.Machine{ID: s.ID, Name: s.Name, Online: s.Online, Draining: s.Draining, Since: s.Since, Joined: s.Joined,
		Version: s.Report.Version, System: system(s.Report), Cores: s.Report.Cores, Memory: s.Report.Memory,
		Sandbox: s.Report.Sandbox, Refused: site.Sentence(s.Refused)}
	if v := s.Report.Version; v != "" && v != version {
		m.Update = version
	}
	if s.Online {
		m.Load, m.FreeMemory = strconv.FormatFloat(s.Report.Load, 'f', 1, 64), s.Report.FreeMemory
	}
	for _, dir := range s.Report.Dirs {
		d := page.MachineDir{Path: dir.Path}
		if s.Online && dir.Free > 0 {
			d.Free = page.Gigabytes(dir.Free)
		}
		m.Dirs = append(m.Dirs, d)
	}
	for _, a := range s.Report.Agents {
		m.Agents = append(m.Agents, page.MachineAgent{Name: cmp.Or(a.Version, a.Name), State: string(a.State),
			Note: a.Note})
	}
	return m
}

func system(r machines.Report) string { return strings.Trim(r.OS+" "+r.Arch, " ") }

// MakeToken creates a token. Its text is shown only in this answer.
func (p *Pages) MakeToken(w http.ResponseWriter, r *http.Request) error {
	text, _, err := p.registry.NewToken(r.Context(), access.FromContext(r.Context()).ID)
	if err != nil {
		return p.finish(w, r, err)
	}
	return p.send(w, r, http.StatusOK, page.Machines{New: "ahphub join " + p.Address(r) + " --token " + text})
}

// RemoveToken invalidates a token.
func (p *Pages) RemoveToken(w http.ResponseWriter, r *http.Request) error {
	return p.finish(w, r, p.registry.RemoveToken(r.Context(), chi.URLParam(r, "token")))
}

// Rename renames a machine.
func (p *Pages) Rename(w http.ResponseWriter, r *http.Request) error {
	name := r.PostFormValue("name")
	err := p.registry.Rename(r.Context(), chi.URLParam(r, "machine"), name)
	if err == nil {
		audit.Detail(r.Context(), name)
	}
	return p.finish(w, r, err)
}

// Drain sets whether a machine gets new sessions.
func (p *Pages) Drain(w http.ResponseWriter, r *http.Request) error {
	draining := r.PostFormValue("draining") == "on"
	audit.Detail(r.Context(), map[bool]string{true: "no new sessions", false: "new sessions again"}[draining])
	return p.finish(w, r, p.registry.SetDraining(r.Context(), chi.URLParam(r, "machine"), draining))
}

// Revoke removes a machine from the hub.
func (p *Pages) Revoke(w http.ResponseWriter, r *http.Request) error {
	m, err := p.registry.Revoke(r.Context(), chi.URLParam(r, "machine"))
	if m.Name != "" {
		audit.Detail(r.Context(), m.Name)
	}
	return p.finish(w, r, err)
}

// finish answers a form; a refusal is shown on the page.
func (p *Pages) finish(w http.ResponseWriter, r *http.Request, err error) error {
	switch {
	case err == nil:
		return site.FinishForm(w, r, path)
	case machines.IsRefused(err):
		return p.send(w, r, http.StatusUnprocessableEntity, page.Machines{Error: site.Sentence(err.Error())})
	}
	return err
}

// redrawEvery keeps the ages on open pages current.
const redrawEvery = 30 * time.Second

// room renders the machines and the unused tokens.
type room struct {
	live.Redraw
	p *Pages
}

// NewRoom opens "machines".
func (p *Pages) NewRoom(_ context.Context, who access.Principal, rest []string) (live.Room, error) {
	if p.registry == nil || !who.Has(access.RightManage) || len(rest) != 0 {
		return nil, live.ErrNoRoom
	}
	r := &room{p: p}
	r.Draw = func(live.States) []live.Patch {
		return []live.Patch{live.Replace("machines", page.MachineListPart(p.list()))}
	}
	return r, nil
}

// Channels implements live.Room.
func (r *room) Channels() []ahp.URI { return []ahp.URI{ahp.RootURI} }

// Watch pings when a machine connects, disconnects or changes, and every redrawEvery.
func (r *room) Watch(ping func()) (stop func()) {
	changed, cancel := r.p.registry.Watch()
	stopOn, stopEvery := live.PingOn(changed, cancel, ping), live.PingEvery(redrawEvery, ping)
	return func() { stopOn(); stopEvery() }
}
