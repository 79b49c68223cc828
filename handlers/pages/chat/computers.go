package chat

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"path"
	"slices"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine/place"
	"github.com/ahphub/ahphub/hub/machines"
	"github.com/ahphub/ahphub/templ/page"
)

// machineOf returns the machine of a new session's form: the chosen one, else that of the agent or of the
// directory; "" is this server.
func machineOf(chosen url.Values) string {
	if chosen.Has("machine") {
		return chosen.Get("machine")
	}
	if id, _ := place.SplitProvider(chosen.Get("agent")); id != "" {
		return id
	}
	id, _, _ := place.SplitPath(chosen.Get("dir"))
	return id
}

// choosePlace fills in where a new session can run: the machines, and the directories and agents of the chosen
// one. It returns the directory as the hub spells it.
func (p *Pages) choosePlace(m *page.New, chosen url.Values, recent []string) (dir string) {
	var joined []machines.Status
	if p.machines != nil {
		joined = p.machines.List()
	}
	agents := p.Agents()
	m.Machine = machineOf(chosen)
	wanted := chosen.Get("dir")
	if !chosen.Has("machine") && m.Machine == "" && wanted == "" {
		m.Machine, wanted = p.leastLoaded(joined, agents, recent)
	}
	at := slices.IndexFunc(joined, func(s machines.Status) bool { return s.ID == m.Machine })
	if at < 0 || isClosed(joined[at], agents) != "" {
		m.Machine, at = "", -1
	}
	m.Computers = computers(joined, agents, p.ownLoad())
	for _, r := range recent {
		if id, there, err := place.SplitPath(r); err == nil && id == m.Machine {
			m.Recent = append(m.Recent, there)
		}
	}
	first := p.DefaultDir
	if at >= 0 {
		first = "/"
		for i, d := range joined[at].Report.Dirs {
			if i == 0 {
				first = d.Path
			}
			if !slices.Contains(m.Recent, d.Path) {
				m.Recent = append(m.Recent, d.Path)
			}
		}
	}
	if id, there, err := place.SplitPath(wanted); err == nil && id != "" {
		wanted = there
	}
	m.Dir = cmp.Or(wanted, site.FirstOf(m.Recent), first)
	m.Agents = agentsOf(agents, m.Machine)
	m.Agent = chooseAgent(m.Agents, chosen.Get("agent"))
	if dir, err := place.JoinPath(m.Machine, m.Dir); err == nil {
		return dir
	}
	return m.Dir
}

// leastLoaded returns the computer with the most free resources among those where the newest session's repository was
// used, and the directory there. "" is this server.
func (p *Pages) leastLoaded(joined []machines.Status, agents []ahp.AgentInfo, recent []string) (machine, dir string) {
	repository, best, seen := path.Base(site.FirstOf(recent)), machines.Report{}, map[string]bool{}
	for _, r := range recent {
		id, there, err := place.SplitPath(r)
		if err != nil || path.Base(there) != repository || seen[id] {
			continue
		}
		seen[id] = true
		load, open := p.ownLoad(), id == ""
		for _, s := range joined {
			if s.ID == id {
				load, open = s.Report, isClosed(s, agents) == ""
			}
		}
		if open && (dir == "" || hasMoreFree(load, best)) {
			machine, dir, best = id, there, load
		}
	}
	return machine, dir
}

// ownLoad returns this server's free resources.
func (p *Pages) ownLoad() machines.Report {
	if p.load == nil {
		return machines.Report{}
	}
	return p.load()
}

// hasMoreFree reports whether a has more idle cores than b, or as many and more free memory.
func hasMoreFree(a, b machines.Report) bool {
	free, other := math.Round(a.FreeCores()), math.Round(b.FreeCores())
	return free > other || free == other && a.FreeMemory > b.FreeMemory
}

// agentsOf returns the agents of a machine.
func agentsOf(all []ahp.AgentInfo, machine string) (list []ahp.AgentInfo) {
	for _, a := range all {
		if id, _ := place.SplitProvider(a.Provider); id == machine {
			list = append(list, a)
		}
	}
	return list
}

// chooseAgent returns the wanted agent, or the agent of the same name on this machine, or the first.
func chooseAgent(list []ahp.AgentInfo, wanted string) string {
	_, name := place.SplitProvider(wanted)
	for _, a := range list {
		if _, there := place.SplitProvider(a.Provider); a.Provider == wanted || there == name {
			return a.Provider
		}
	}
	if len(list) == 0 {
		return wanted
	}
	return list[0].Provider
}

// computers returns the computers where sessions can run; nil when there is only this server.
func computers(joined []machines.Status, agents []ahp.AgentInfo, own machines.Report) (list []page.Computer) {
	if len(joined) == 0 {
		return nil
	}
	list = []page.Computer{{Name: "This server", Note: cmp.Or(freeWords(own), "The computer that ahphub runs on")}}
	for _, s := range joined {
		list = append(list, page.Computer{ID: s.ID, Name: s.Name, Closed: isClosed(s, agents), Note: freeWords(s.Report)})
	}
	return list
}

// freeWords describes a computer's free resources; "" when unknown.
func freeWords(r machines.Report) string {
	if r.Cores == 0 || r.FreeMemory == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f of %d cores, %s memory free", r.FreeCores(), r.Cores, page.Gigabytes(r.FreeMemory))
}

// isClosed returns why a machine accepts no new sessions; "" when it does.
func isClosed(s machines.Status, agents []ahp.AgentInfo) string {
	switch {
	case !s.Online:
		return "Offline"
	case s.Draining:
		return "Takes no new sessions"
	case len(agentsOf(agents, s.ID)) == 0: // also shortly after connecting, before it reports its agents
		return "No agents found yet"
	}
	return ""
}

// machine is the machine of a session's agent.
type machine struct {
	registry *machines.Registry
	id       string
}

// machineOfAgent returns the machine of an agent; nil for agents of this server.
func (p *Pages) machineOfAgent(provider string) *machine {
	id, _ := place.SplitProvider(provider)
	if id == "" || p.machines == nil {
		return nil
	}
	return &machine{p.machines, id}
}

// away returns why the machine is unreachable, or "", and the machine that messages wait for; "" if it was revoked.
func (m *machine) away() (why, name string) {
	if m == nil {
		return "", ""
	}
	for _, s := range m.registry.List() {
		switch {
		case s.ID != m.id:
		case s.Online:
			return "", ""
		default:
			return s.Name + " is offline. This session can be read and reviewed. Messages wait, and are sent when " + s.Name + " is back.", s.Name
		}
	}
	return "The machine of this session was revoked. The session can be read and reviewed; start a new one to continue.", ""
}
