package customs

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/customs"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// customSections are the sections of the page, in order.
var customSections = []page.CustomSection{
	{ID: "custom-servers", Title: "MCP servers",
		Hint:  "Servers that give the agent extra tools. Turning one off stops it.",
		Empty: "None. Declare servers in .mcp.json in a working directory, or in mcp.json in ahphub's data directory."},
	{ID: "custom-rules", Title: "Rules",
		Hint: "Instructions for every session. Agents read these files directly, so turning one off here may not " +
			"stop them.", Empty: "None. AGENTS.md in a working directory is read by most agents."},
	{ID: "custom-skills", Title: "Skills",
		Hint:  "Knowledge that agents look up when relevant. Agents read these files directly.",
		Empty: "None. Put one in .agents/skills/<name>/SKILL.md."},
	{ID: "custom-agents", Title: "Agents",
		Hint: "Roles that an agent can take or delegate to. Agents read these files directly.", Empty: "None."},
	{ID: "custom-prompts", Title: "Prompts", Hint: "Commands to call by name. Agents read these files directly.",
		Empty: "None."},
	{ID: "custom-hooks", Title: "Hooks",
		Hint: "Commands that an agent runs on certain events. The agent runs them; ahphub neither starts nor stops " +
			"them.", Empty: "None."},
	{ID: "custom-plugins", Title: "Plugins",
		Hint: "Bundles of all of these, in .agents/plugins or published by a connected client. Turning one off " +
			"affects everything in it.", Empty: "None."},
}

var sectionOf = map[ahp.ChildCustomizationType]int{"mcpServer": 0, "rule": 1, "skill": 2, "agent": 3, "prompt": 4,
	"hook": 5}

const pluginSection = 6

// customDraw builds the page's model of one session.
type customDraw struct {
	base    string
	home    string // the user's directory
	s       *ahp.SessionState
	decided map[string]customs.Decisions
	servers map[string]customs.ServerDetail
	out     *page.Customizations
}

func (p *Pages) customView(v site.Visit, s *ahp.SessionState) *page.Customizations {
	d := customDraw{base: "/s/" + v.Short, home: p.Customs.Home(), s: s, decided: p.Customs.ListDecisions(v.Session, s),
		servers: p.Customs.ServerDetails(true, v.Session),
		out: &page.Customizations{Base: "/s/" + v.Short, Agent: p.AgentName(s.Provider),
			Given: p.Host.UsesServers(s.Provider), Over: p.Customs.HasMore(v.Session)}}
	d.out.Sections = append(d.out.Sections, customSections...)
	for _, c := range s.Customizations {
		d.top(c)
	}
	return d.out
}

func (d *customDraw) top(c ahp.Customization) {
	switch x := c.Value.(type) {
	case *ahp.McpServerCustomization:
		d.bare(x)
	case *ahp.DirectoryCustomization:
		g := page.CustomGroup{Name: d.place(x.URI), Problem: loadProblem(x.Load), Switch: d.toggle(x.ID, x.Name,
			x.Enabled, "")}
		d.rows(&g, x.Children, x.Enabled, g.Name, false)
		d.add(sectionOf[x.Contents], g)
	case *ahp.PluginCustomization:
		on := ahp.Enabled(x.Enablement)
		g := page.CustomGroup{Name: x.Name, Note: strings.TrimSpace(x.Version + " " + d.whose(x)),
			Problem: loadProblem(x.Load), Switch: d.toggle(x.ID, x.Name, on, "")}
		d.rows(&g, x.Children, on, x.Name, true)
		d.add(pluginSection, g)
	}
}

func (d *customDraw) add(section int, g page.CustomGroup) {
	d.out.Sections[section].Groups = append(d.out.Sections[section].Groups, g)
}

// bare adds a server outside of plugins; servers of one file form a group.
func (d *customDraw) bare(m *ahp.McpServerCustomization) {
	name, row := d.place(m.URI), d.server(m, true, "")
	groups := d.out.Sections[0].Groups
	if n := len(groups); n > 0 && groups[n-1].Name == name {
		groups[n-1].Rows = append(groups[n-1].Rows, row)
		return
	}
	d.add(0, page.CustomGroup{Name: name, Rows: []page.CustomRow{row}})
}

func (d *customDraw) whose(x *ahp.PluginCustomization) string {
	if x.ClientID != "" {
		for _, c := range d.s.ActiveClients {
			if c.ClientID == x.ClientID && c.DisplayName != "" {
				return "from " + c.DisplayName
			}
		}
		return "from a connected client"
	}
	return d.place(x.URI)
}

// place returns a short path: relative to a working directory or to the home directory.
func (d *customDraw) place(uri ahp.URI) string {
	path, ok := core.FilePath(uri)
	if !ok {
		return uri
	}
	for _, w := range d.s.WorkingDirectories {
		dir, _ := core.FilePath(w)
		if path == dir {
			return "./"
		}
		if rel, ok := strings.CutPrefix(path, dir+"/"); ok && dir != "" {
			return rel
		}
	}
	if rel, ok := strings.CutPrefix(path, d.home+"/"); ok && d.home != "" {
		return "~/" + rel
	}
	return part.FilePath(uri)
}

func (d *customDraw) toggle(id, name string, on bool, within string) *page.CustomSwitch {
	t := &page.CustomSwitch{Base: d.base, ID: id, Name: name, On: on, Within: within}
	switch was := d.decided[id]; {
	case was.Session != nil:
		t.Scope = "session"
	case was.Workspace != nil:
		t.Scope = "workspace"
	case was.All != nil:
		t.Scope = "all"
	}
	return t
}

// rows adds the entries of a container; mixed means that they are of several kinds.
func (d *customDraw) rows(g *page.CustomGroup, list []ahp.ChildCustomization, on bool, name string, mixed bool) {
	within := ""
	if !on {
		within = name
	}
	for _, c := range list {
		row := d.row(c, on, within)
		if mixed {
			row.Kind = kindWord(c)
		}
		if row.Problem != "" {
			g.Problem = "" // shown in its row
		}
		g.Rows = append(g.Rows, row)
	}
}

func (d *customDraw) row(c ahp.ChildCustomization, outer bool, within string) page.CustomRow {
	entry := func(id, name, about string, on *bool, meta ahp.Meta) page.CustomRow {
		return page.CustomRow{Name: name, About: about, Problem: note(meta, "ahphub/problem"), Href: d.base +
			"/customizations/file?" + url.Values{"id": {id}}.Encode(),
			Switch: d.toggle(id, name, on == nil || *on, within)}
	}
	switch x := c.Value.(type) {
	case *ahp.AgentCustomization:
		r := entry(x.ID, x.Name, x.Description, x.Enabled, x.Meta)
		r.Facts = facts("model ", x.Model, "tools ", strings.Join(x.Tools, ", "), "", notBy(x.DisableModelInvocation,
			x.DisableUserInvocation))
		return r
	case *ahp.SkillCustomization:
		r := entry(x.ID, x.Name, x.Description, x.Enabled, x.Meta)
		r.Facts = facts("", notBy(x.DisableModelInvocation, x.DisableUserInvocation))
		return r
	case *ahp.PromptCustomization:
		return entry(x.ID, x.Name, x.Description, x.Enabled, x.Meta)
	case *ahp.RuleCustomization:
		r := entry(x.ID, x.Name, x.Description, x.Enabled, x.Meta)
		always := ""
		if x.AlwaysApply != nil && *x.AlwaysApply {
			always = "always applies"
		}
		r.Facts = facts("", always, "for ", strings.Join(x.Globs, ", "))
		return r
	case *ahp.HookCustomization:
		r := entry(x.ID, x.Name, note(x.Meta, "ahphub/about"), x.Enabled, x.Meta)
		r.Href = ""
		return r
	case *ahp.McpServerCustomization:
		return d.server(x, outer, within)
	}
	return page.CustomRow{Name: "Unknown type of entry"}
}

func facts(pairs ...string) (out []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, pairs[i]+pairs[i+1])
		}
	}
	return out
}

func notBy(model, user *bool) string {
	switch {
	case model != nil && *model:
		return "only when a person calls it"
	case user != nil && *user:
		return "only when the agent calls it"
	}
	return ""
}

func note(m ahp.Meta, key string) (s string) {
	_ = json.Unmarshal(m[key], &s) // written by the host, or by a client, which may send anything
	return s
}

func kindWord(c ahp.ChildCustomization) string {
	switch c.Value.(type) {
	case *ahp.AgentCustomization:
		return "agent"
	case *ahp.SkillCustomization:
		return "skill"
	case *ahp.PromptCustomization:
		return "prompt"
	case *ahp.RuleCustomization:
		return "rule"
	case *ahp.HookCustomization:
		return "hook"
	case *ahp.McpServerCustomization:
		return "MCP server"
	}
	return ""
}

func loadProblem(l *ahp.CustomizationLoadState) string {
	if l == nil {
		return ""
	}
	switch x := l.Value.(type) {
	case *ahp.CustomizationErrorState:
		return x.Message
	case *ahp.CustomizationDegradedState:
		return x.Message
	}
	return ""
}

// server returns the row of a server, with its state.
func (d *customDraw) server(m *ahp.McpServerCustomization, outer bool, within string) page.CustomRow {
	on := ahp.Enabled(m.Enablement)
	row := page.CustomRow{Name: m.Name, Switch: d.toggle(m.ID, m.Name, on, within)}
	detail, known := d.servers[m.ID]
	s := &page.CustomServer{Base: d.base, ID: m.ID, Trusted: true, Own: detail.Place == "own"}
	serverState(s, m.State)
	if !known {
		s.Own, row.Server = true, s // a client's server: the client runs it
		return row
	}
	if detail.Digest == "" { // the server cannot be started
		row.Problem, row.Switch = s.Why, nil
		return row
	}
	s.Trusted, s.By, s.Digest, s.Command, s.Dir, s.Sets, s.Reads = detail.Trusted, detail.By, detail.Digest,
		detail.Command, detail.Dir, detail.Sets, detail.Reads
	for _, t := range detail.Tools {
		s.Tools = append(s.Tools, page.CustomTool{Name: t.Name, Title: t.Title, About: t.Description})
	}
	_, stopped := m.State.Value.(*ahp.McpServerStoppedState)
	s.CanStart = on && outer && !s.CanStop
	if stopped && !detail.Trusted {
		s.State = "Not started"
	}
	row.Server = s
	return row
}

func serverState(s *page.CustomServer, state ahp.McpServerState) {
	switch x := state.Value.(type) {
	case *ahp.McpServerStartingState:
		s.State, s.Class, s.Icon, s.CanStop = "Starting", "run", "running", true
		if x.Blocking != nil && *x.Blocking {
			s.State = "Starting; messages are waiting"
		}
	case *ahp.McpServerReadyState:
		s.State, s.Class, s.Icon, s.CanStop = "Ready", "good", "done", true
	case *ahp.McpServerAuthRequiredState:
		s.State, s.Class, s.Icon = "Sign-in needed", "need", "need"
		s.Why = "It needs a token for " + x.Resource.Resource +
			". A client such as an editor can provide one with authenticate."
		if x.Description != "" {
			s.Why += " It reported: " + x.Description
		}
	case *ahp.McpServerErrorState:
		s.State, s.Class, s.Icon, s.Why = "Failed", "bad", "error", site.Sentence(x.Error.Message)
	default:
		s.State, s.Class, s.Icon = "Stopped", "idle", "idle"
	}
}
