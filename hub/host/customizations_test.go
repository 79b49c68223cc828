package host

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/customs"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

// shelf is a computer with customizations and MCP servers that a test controls.
type shelf struct {
	*dialer

	mu    sync.Mutex
	found map[string]machine.CustomFound // by directory
	tells map[string]func()
}

func (s *shelf) Look(_ context.Context, r machine.CustomRoot) machine.CustomFound {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found[r.Dir]
}

func (s *shelf) Follow(r machine.CustomRoot, tell func()) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tells[r.Dir] = tell
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.tells, r.Dir)
	}
}

func (s *shelf) ReadPlugin(context.Context, machine.CustomRoot, string) (g machine.CustomGroup, ok bool) {
	return g, false
}

func (s *shelf) ReadText(context.Context, machine.CustomRoot, string, int64) (string, bool, error) {
	return "", false, errors.New("there are no files")
}

// shelfMachine is this computer with a shelf.
type shelfMachine struct {
	machine.Machine
	shelf *shelf
}

func (m shelfMachine) Customs() machine.Customs { return m.shelf }

func (s *shelf) put(dir string, f machine.CustomFound) {
	s.mu.Lock()
	s.found[dir] = f
	tell := s.tells[dir]
	s.mu.Unlock()
	if tell != nil {
		tell()
	}
	synctest.Wait()
}

// dialer creates connections that a test controls.
type dialer struct {
	mu    sync.Mutex
	fails error
	conns []*fakeConn
}

func (d *dialer) Dial(_ context.Context, s machine.ServerSpec) (machine.ServerConn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fails != nil {
		return nil, d.fails
	}
	c := &fakeConn{spec: s, changed: make(chan struct{}, 1), done: make(chan struct{}),
		tools: `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`}
	d.conns = append(d.conns, c)
	return c, nil
}

type fakeConn struct {
	spec    machine.ServerSpec
	tools   string
	changed chan struct{}
	done    chan struct{}
	once    sync.Once
}

func (c *fakeConn) Do(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
	if method != "tools/list" {
		return nil, errors.New("only tools are listed")
	}
	return json.RawMessage(c.tools), nil
}
func (c *fakeConn) Has(string) bool          { return true }
func (c *fakeConn) Changed() <-chan struct{} { return c.changed }
func (c *fakeConn) Done() <-chan struct{}    { return c.done }
func (c *fakeConn) Err() error               { return errors.New("it went away") }
func (c *fakeConn) Close()                   { c.once.Do(func() { close(c.done) }) }

// toolFake is an agent that uses MCP servers.
type toolFake struct{ *fake }

func (toolFake) UsesTools() bool { return true }

// inCustomWorld runs a test with a session whose directory and home contain what the test puts
// there.
func inCustomWorld(t *testing.T, f func(w *world, s *shelf, d *dialer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d, a, data := &dialer{}, &fake{}, t.TempDir()
		s := &shelf{dialer: d, found: map[string]machine.CustomFound{}, tells: map[string]func(){}}
		w := newWorld(t, Config{Agents: map[string]agent.Backend{"fake": toolFake{a}}, Home: "/home/ana",
			DataDir: data, Machine: shelfMachine{localtest.New(t, data), s},
			ToolServers: func(token string) []agent.MCPServer { return []agent.MCPServer{{Name: "host", URL: token}} }},
			hub.Config{})
		w.agent = a
		defer w.stop()
		f(w, s, d)
	})
}

func skills(dir string, names ...string) machine.CustomFound {
	g := machine.CustomGroup{ID: "dir:" + dir, Path: dir, Name: filepath.Base(dir), Contents: machine.CustomSkill,
		Entries: []machine.CustomEntry{}}
	for _, n := range names {
		g.Entries = append(g.Entries, machine.CustomEntry{ID: "skill:" + n, Kind: machine.CustomSkill, Name: n,
			Path: dir + "/" + n})
	}
	return machine.CustomFound{Groups: []machine.CustomGroup{g}}
}

func server(name string, argv ...string) machine.CustomEntry {
	return machine.CustomEntry{ID: "mcp:" + name, Kind: machine.CustomServer, Name: name, Path: "/app/.mcp.json",
		Line: 2, Command: &machine.ServerCommand{Argv: argv}}
}

func (w *world) customization(id string) any {
	for _, c := range w.session().Customizations {
		if c.ID() == id {
			return c.Value
		}
		for _, x := range c.Children() {
			if x.ID() == id {
				return x.Value
			}
		}
	}
	return nil
}

func (w *world) isOn(id string) bool {
	switch v := w.customization(id).(type) {
	case *ahp.SkillCustomization:
		return v.Enabled == nil || *v.Enabled
	case *ahp.DirectoryCustomization:
		return v.Enabled
	case *ahp.PluginCustomization:
		return ahp.Enabled(v.Enablement)
	case *ahp.McpServerCustomization:
		return ahp.Enabled(v.Enablement)
	}
	w.t.Fatalf("there is no %s", id)
	return false
}

func forSession(on bool) ahp.CustomizationEnablement {
	return ahp.CustomizationEnablement{Value: &ahp.CustomizationSessionEnablement{Enabled: on}}
}

func forAll(on bool) ahp.CustomizationEnablement {
	return ahp.CustomizationEnablement{Value: &ahp.CustomizationGlobalEnablement{Enabled: on}}
}

func (w *world) forWorkspace(on bool) ahp.CustomizationEnablement {
	return ahp.CustomizationEnablement{Value: &ahp.CustomizationWorkspaceEnablement{URI: core.FileURI(w.dir),
		Enabled: on}}
}

func toggled(id string, list ...ahp.CustomizationEnablement) *ahp.SessionCustomizationToggledAction {
	return &ahp.SessionCustomizationToggledAction{ID: id, Enablement: list}
}

// AHP requirements 145, 146 and 148: the tree is the host's, and only changes are sent again.
func TestTreeFollowsFilesOnDisk(t *testing.T) {
	inCustomWorld(t, func(w *world, s *shelf, _ *dialer) {
		s.put(w.dir, skills(w.dir+"/.claude/skills", "one"))
		s.put("/home/ana", skills("/home/ana/.claude/skills"))
		c := w.create()
		list := w.session().Customizations
		if len(list) != 2 || len(list[0].Children()) != 1 || list[1].Children() == nil || len(list[1].Children()) != 0 {
			t.Fatalf("the tree is %+v", asJSON(t, list))
		}
		if d := list[0].Value.(*ahp.DirectoryCustomization); !d.Writable || d.Contents != "skill" ||
			d.URI != core.FileURI(w.dir+"/.claude/skills") || !d.Enabled {
			t.Errorf("a directory is %+v", d)
		}
		if list[1].Value.(*ahp.DirectoryCustomization).Writable {
			t.Error("clients may write into the home directory")
		}
		c.news()
		s.put(w.dir, skills(w.dir+"/.claude/skills", "one", "two"))
		if got := c.news(); !slices.Equal(got, []string{"session/customizationUpdated"}) {
			t.Errorf("one more skill sends %v", got)
		}
		if w.customization("skill:one") == nil || w.customization("skill:two") == nil {
			t.Error("an update does not say all of its children")
		}
		s.put(w.dir, machine.CustomFound{})
		if got := c.news(); !slices.Equal(got, []string{"session/customizationsChanged"}) ||
			len(w.session().Customizations) != 1 {
			t.Errorf("a directory that is gone sends %v", got)
		}
		s.put(w.dir, machine.CustomFound{})
		if got := c.news(); len(got) != 0 {
			t.Errorf("nothing new sends %v", got)
		}
		c.converged()
	})
}

func TestEntryNamesItsProblem(t *testing.T) {
	inCustomWorld(t, func(w *world, s *shelf, _ *dialer) {
		found := skills(w.dir+"/.claude/skills", "one", "two", "three")
		found.Groups[0].Entries[1].Problem = "its head is no YAML"
		found.Groups[0].Entries[2].Problem = "has no description"
		found.Groups = append(found.Groups, machine.CustomGroup{ID: "p", Path: w.dir + "/p", Name: "p", Plugin: true,
			Problem: "cannot be read", Entries: []machine.CustomEntry{}})
		s.put(w.dir, found)
		w.create()
		d := w.session().Customizations[0].Value.(*ahp.DirectoryCustomization)
		if l, ok := d.Load.Value.(*ahp.CustomizationDegradedState); !ok ||
			l.Message != "two its head is no YAML; and 1 more" {
			t.Errorf("the directory is %+v", d.Load.Value)
		}
		if x := d.Children[1].Value.(*ahp.SkillCustomization); string(
			x.Meta[customs.ProblemKey]) != `"its head is no YAML"` {
			t.Errorf("the entry says %s", x.Meta)
		}
		if l, ok := w.session().Customizations[1].Value.(*ahp.PluginCustomization).Load.Value.(*ahp.CustomizationErrorState); !ok || l.Message != "cannot be read" {
			t.Error("a plugin that cannot be read is not an error")
		}
	})
}

// AHP requirement 149.
func TestDecisionReachesItsScope(t *testing.T) {
	inCustomWorld(t, func(w *world, s *shelf, _ *dialer) {
		s.put(w.dir, skills(w.dir+"/.claude/skills", "one"))
		s.put("/home/ana", skills("/home/ana/.claude/skills", "home"))
		c := w.create()
		const second ahp.URI = "ahp-session:/two"
		elsewhere := t.TempDir()
		w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: second,
			WorkingDirectories: []ahp.URI{core.FileURI(w.dir)}}))
		w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: "ahp-session:/three",
			WorkingDirectories: []ahp.URI{core.FileURI(elsewhere)}}))
		synctest.Wait()
		on := func(session ahp.URI, id string) bool {
			st, _ := hub.StateOf[*ahp.SessionState](w.hub, session)
			for _, g := range st.Customizations {
				for _, x := range g.Children() {
					if x.ID() == id {
						v := x.Value.(*ahp.SkillCustomization)
						return v.Enabled == nil || *v.Enabled
					}
				}
			}
			t.Fatalf("%s has no %s", session, id)
			return false
		}
		want := func(what string, one, two, three bool) {
			t.Helper()
			synctest.Wait()
			if got := [3]bool{on(session, "skill:home"), on(second, "skill:home"),
				on("ahp-session:/three", "skill:home")}; got != [3]bool{one, two, three} {
				t.Errorf("%s: it is on in %v", what, got)
			}
		}
		c.do(session, toggled("skill:home", forSession(false)))
		want("off in the session", false, true, true)
		c.do(session, toggled("skill:home", w.forWorkspace(false)))
		want("off in the workspace", false, false, true)
		c.do(session, toggled("skill:home", forAll(false), forSession(true)))
		want("on in the session, off everywhere", true, false, false)
		if a := w.host.Customs.ListDecisions(session, w.session())["skill:home"]; a.Session == nil || !*a.Session ||
			a.Workspace != nil || a.All == nil || *a.All {
			t.Errorf("decided is %+v", a)
		}
		c.do(session, toggled("skill:home"))
		want("nothing is decided", true, true, true)

		c.do(session, toggled("dir:"+w.dir+"/.claude/skills", forSession(false)))
		if w.isOn("dir:" + w.dir + "/.claude/skills") {
			t.Error("a directory cannot be switched off")
		}
		c.news()
		c.do(session, toggled("nobody", forSession(false)))
		if got := c.news(); !slices.Equal(got, []string{"session/customizationToggled"}) { // echoed to its sender
			t.Errorf("an unknown entry sends %v", got)
		}
		c.converged()
	})
}

func TestRefuseInvalidDecisions(t *testing.T) {
	inCustomWorld(t, func(w *world, s *shelf, _ *dialer) {
		s.put(w.dir, skills(w.dir+"/.claude/skills", "one"))
		c := w.create()
		c.refused(session, toggled("skill:one", forSession(true), forSession(false)), "one decision for each scope")
		c.refused(session, toggled("skill:one",
			ahp.CustomizationEnablement{Value: &ahp.CustomizationWorkspaceEnablement{URI: "file:///etc"}}),
			"first directory")
		c.refused(session, toggled("skill:one",
			ahp.CustomizationEnablement{Value: &ahp.UnknownVariant{Raw: json.RawMessage(
				`{"kind":"team","enabled":true}`)}}), "not supported")
		for _, p := range []struct {
			c    *client
			says string
		}{{w.connect(driver, "dan-1"), "only the owner"}, {w.connect(viewer, "vic-1"), "only the owner"}} {
			p.c.refused(session, toggled("skill:one", forSession(false)), p.says)
			p.c.refused(session, &ahp.SessionMcpServerStartRequestedAction{ID: "mcp:x"}, p.says)
		}
		if !w.isOn("skill:one") {
			t.Error("what was refused took effect")
		}
	})
}

// AHP requirement 147.
func TestClientPluginsLeaveWithTheirClient(t *testing.T) {
	inCustomWorld(t, func(w *world, s *shelf, _ *dialer) {
		s.put(w.dir, skills(w.dir+"/.claude/skills", "one"))
		c := w.create()
		plugin := ahp.ClientPluginCustomization{ID: "editor", URI: "virtual://editor/skills", Name: "Editor",
			Nonce:      "n",
			Enablement: []ahp.CustomizationEnablement{forAll(false)},
			Children: []ahp.ChildCustomization{{Value: &ahp.SkillCustomization{ID: "editor:a", Name: "a",
				URI: "virtual://editor/skills/a"}}},
			ChildEnablement: map[string][]ahp.CustomizationEnablement{"a": {forSession(false)}}}
		again := plugin
		again.ID = "skill:one" // the host's own
		c.do(session, &ahp.SessionActiveClientSetAction{ActiveClient: ahp.SessionActiveClient{ClientID: "ana-1",
			Tools:          []ahp.ToolDefinition{},
			Customizations: []ahp.ClientPluginCustomization{plugin, again}}})
		synctest.Wait()
		p, ok := w.customization("editor").(*ahp.PluginCustomization)
		if !ok || p.ClientID != "ana-1" || len(w.session().Customizations) != 2 {
			t.Fatalf("the tree is %+v", asJSON(t, w.session().Customizations))
		}
		if w.isOn("editor") || w.isOn("editor:a") {
			t.Error("what the client decided does not count")
		}
		c.do(session, toggled("editor", forSession(true)))
		synctest.Wait()
		p = w.customization("editor").(*ahp.PluginCustomization)
		if diff := cmp.Diff([]ahp.CustomizationEnablement{forSession(true), forAll(false)}, p.Enablement,
			cmp.Comparer(func(a, b ahp.CustomizationEnablement) bool {
				x, _ := json.Marshal(a)
				y, _ := json.Marshal(b)
				return string(x) == string(y)
			})); diff != "" {
			t.Error(diff)
		}
		c.do(session, &ahp.SessionActiveClientRemovedAction{ClientID: "ana-1"})
		synctest.Wait()
		if len(w.session().Customizations) != 1 {
			t.Error("what a client published outlives it")
		}
		c.converged()
	})
}

// AHP requirements 199 and 200.
func TestServersStartAndStopOnRequest(t *testing.T) {
	inCustomWorld(t, func(w *world, s *shelf, d *dialer) {
		s.put(w.host.cfg.DataDir, machine.CustomFound{Servers: []machine.CustomEntry{server("own", "run")}})
		s.put(w.dir, machine.CustomFound{Servers: []machine.CustomEntry{server("repo", "evil")}})
		c := w.create()
		state := func(id string) string {
			raw, _ := json.Marshal(w.customization(id).(*ahp.McpServerCustomization).State)
			return string(raw)
		}
		if state("mcp:own") != `{"kind":"ready"}` || state("mcp:repo") != `{"kind":"stopped"}` || len(d.conns) != 1 {
			t.Fatalf("own is %s, the repository's %s", state("mcp:own"), state("mcp:repo"))
		}
		if got := w.agent.spec.MCP; len(got) != 2 || got[1].Name != "own" {
			t.Errorf("the agent was given %v", got)
		}
		relay, ok := w.host.Relay(w.agent.spec.MCP[1].URL)
		if !ok || relay.Name != "own" || relay.Session() != session || len(relay.Tools()) != 1 {
			t.Error("the agent's token opens no server")
		}
		if _, ok := w.host.Relay("guessed"); ok {
			t.Error("any token opens a server")
		}
		c.refused(session, &ahp.SessionMcpServerStartRequestedAction{ID: "mcp:repo"}, "not trusted yet")
		c.refused(session, &ahp.SessionMcpServerStartRequestedAction{ID: "mcp:own"}, "already running")
		c.news()
		c.do(session, &ahp.SessionMcpServerStopRequestedAction{ID: "mcp:own"})
		if got := strings.Join(c.news(), " "); state("mcp:own") != `{"kind":"stopped"}` ||
			!strings.HasPrefix(got, "session/mcpServerStopRequested") || len(w.session().ServerTools) != 0 {
			t.Errorf("stopped it is %s, and sends %s", state("mcp:own"), got)
		}
		c.do(session, &ahp.SessionMcpServerStartRequestedAction{ID: "mcp:own"})
		if got := strings.Join(c.news(), " "); state("mcp:own") != `{"kind":"ready"}` ||
			!strings.Contains(got, "mcpServerStartRequested session/mcpServerStateChanged") {
			t.Errorf("started it is %s, and sends %s", state("mcp:own"), got)
		}
		d.conns[1].Close()
		synctest.Wait()
		if !strings.Contains(state("mcp:own"), "it went away") {
			t.Errorf("a server that went is %s", state("mcp:own"))
		}
		d.fails = errors.New("no such program")
		c.do(session, &ahp.SessionMcpServerStartRequestedAction{ID: "mcp:own"})
		if !strings.Contains(state("mcp:own"), "no such program") {
			t.Errorf("a server that does not start is %s", state("mcp:own"))
		}
		c.do(session, &ahp.SessionMcpServerStopRequestedAction{ID: "nobody"})
		c.do(session, &ahp.SessionMcpServerBackgroundRequestedAction{ID: "nobody"})
		c.converged()
	})
}

// An address with placeholders and the resource that the server names identify the same server.
func TestTokenReachesServerWhoseAddressHasPlaceholder(t *testing.T) {
	t.Setenv("SITE", "https://site.example.com")
	inCustomWorld(t, func(w *world, s *shelf, d *dialer) {
		web := server("web")
		web.Command.URL = "${env:SITE}/mcp"
		d.fails = &machine.ServerNeedsToken{Auth: ahp.McpAuthRequirement{Reason: ahp.McpAuthRequiredReasonRequired,
			Resource: ahp.ProtectedResourceMetadata{Resource: "https://site.example.com/mcp"}}}
		s.put(w.host.cfg.DataDir, machine.CustomFound{Servers: []machine.CustomEntry{web}})
		c := w.create()
		d.fails = nil
		_, err := w.host.Authenticate(w.t.Context(), c.caller, ahp.AuthenticateParams{
			Resource: "https://site.example.com/mcp", Token: "the-token"})
		w.must(err)
		synctest.Wait()
		if len(d.conns) != 1 || d.conns[0].spec.Token != "the-token" {
			t.Errorf("the server was started again %d times, without its token", len(d.conns))
		}
	})
}

func TestServerTokenEndsWithItsAgent(t *testing.T) {
	inCustomWorld(t, func(w *world, s *shelf, d *dialer) {
		s.put(w.host.cfg.DataDir, machine.CustomFound{Servers: []machine.CustomEntry{server("own", "run"),
			server("ahphub", "run"), server("two", "x")}})
		w.create()
		names := []string{}
		for _, m := range w.agent.spec.MCP[1:] {
			names = append(names, m.Name)
		}
		if !slices.Equal(names, []string{"own", "ahphub-2", "two"}) {
			t.Errorf("the agent knows them as %v", names)
		}
		token := w.agent.spec.MCP[1].URL
		relay, _ := w.host.Relay(token)
		w.host.turns.drop(session, errIdle)
		if _, ok := w.host.Relay(token); ok || relay.Context().Err() == nil {
			t.Error("a token outlives its agent")
		}
		for _, c := range d.conns {
			select {
			case <-c.done:
			default:
				t.Error("a server runs on without a session")
			}
		}
	})
}
