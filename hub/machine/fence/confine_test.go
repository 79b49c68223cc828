package fence_test

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/fence"
	"github.com/ahphub/ahphub/hub/machine/localtest"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// computer records the policies that it gets.
type computer struct {
	machine.Machine
	agents   map[string]agent.Backend
	policies []*sandbox.Policy
	forgot   []string
}

func (c *computer) Agents() map[string]agent.Backend { return c.agents }
func (c *computer) Terminals() machine.Terminals     { return starts{c: c} }

func (c *computer) CheckSandbox(p *sandbox.Policy) error {
	c.policies = append(c.policies, p)
	return nil
}

func (c *computer) Forget(session string) error {
	c.forgot = append(c.forgot, session)
	return nil
}

type starts struct {
	machine.Terminals
	c *computer
}

func (s starts) Start(_ context.Context, spec machine.TerminalSpec, _ func([]ahp.Action)) (machine.Terminal, error) {
	s.c.policies = append(s.c.policies, spec.Sandbox)
	return nil, nil
}

// homely is an agent with a login and a service.
type homely struct{ *asker }

func (homely) HomePaths() (write, read []string) { return []string{".a/login"}, []string{".a/rules"} }
func (homely) Hosts() []string                   { return []string{"model.example"} }

// newFenced returns the world of a machine whose sandboxes have changed rules, and the computer behind its fence.
func newFenced(t *testing.T, change func(*sandbox.Rules)) (*world, *fence.Machine, *computer) {
	t.Helper()
	w := newWorld(t)
	rules := &sandbox.Rules{Mode: sandbox.Auto, Boxed: sandbox.Namespace, Network: sandbox.Open, Dir: w.data + "/boxes",
		Read: []string{"/opt/agents"}, Relays: []sandbox.Relay{{Port: 11434, To: "127.0.0.1:11434"}}}
	if change != nil {
		change(rules)
	}
	g := localtest.NewGuard(t, w.data)
	g.StayWithin("box2", []string{w.open})
	c := &computer{agents: map[string]agent.Backend{"a": homely{w.agent}}}
	return w, fence.New(c, fence.Config{Guard: g, Dirs: []string{w.open}, Data: filepath.Join(w.data, "agents"),
		Rules: rules}), c
}

// A compromised hub reaches only the machine's open directories, whatever policy it sends.
func TestHubCannotWidenASandbox(t *testing.T) {
	w, f, c := newFenced(t, nil)
	dir := filepath.Dir(w.open)
	outward := w.link(t, w.closed, "outward")
	for _, path := range []string{w.closed, outward, w.data, dir, "/", "/etc", w.open + "/.."} {
		for what, p := range map[string]sandbox.Policy{"Write": {Write: []string{path}}, "Read": {Read: []string{path}},
			"Seal": {Seal: []string{path}}, "Git": {Git: []string{path}}} {
			p.Session, p.Network, p.Auto = "s1", sandbox.Open, true
			if err := f.CheckSandbox(&p); err == nil {
				t.Errorf("%s of %s is taken", what, path)
			}
		}
	}
	if len(c.policies) > 0 {
		t.Fatalf("the computer is asked for %+v", c.policies)
	}
	err := f.CheckSandbox(&sandbox.Policy{Session: "s1", Auto: true, Network: sandbox.Open, Write: []string{w.open},
		Home: []string{".ssh", ".a/login"}, HomeRead: []string{".a/rules", ".aws"}, Own: []string{"other"},
		Relays: []sandbox.Relay{{Port: 5432, To: "127.0.0.1:5432"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := &sandbox.Policy{Session: "s1", Mode: sandbox.Namespace, Network: sandbox.Open, Write: []string{w.open},
		Read: []string{"/opt/agents"}, Home: []string{".a/login"}, HomeRead: []string{".a/rules"},
		Relays: []sandbox.Relay{{Port: 11434, To: "127.0.0.1:11434"}}}
	if got := c.policies[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("the sandbox is\n%+v, not\n%+v", got, want)
	}
}

// The narrower network of the two applies.
func TestHubCannotWidenTheNetworkOfASandbox(t *testing.T) {
	for _, test := range []struct {
		own, hub, want sandbox.Network
		allow          []string // of the hub
		has, hasNot    string
	}{
		{sandbox.Open, sandbox.Closed, sandbox.Closed, nil, "", ""},
		{sandbox.Open, sandbox.List, sandbox.List, []string{"hub.example"}, "hub.example", "model.example"},
		{sandbox.List, sandbox.Open, sandbox.List, nil, "model.example", "hub.example"},
		{sandbox.List, sandbox.List, sandbox.List, []string{"hub.example", "model.example"}, "model.example", "hub.example"},
		{sandbox.Closed, sandbox.Open, sandbox.Closed, nil, "", ""},
	} {
		w, f, c := newFenced(t, func(r *sandbox.Rules) { r.Network = test.own })
		err := f.CheckSandbox(&sandbox.Policy{Session: "s1", Auto: true, Network: test.hub, Allow: test.allow,
			Write: []string{w.open}})
		if err != nil {
			t.Fatal(err)
		}
		got := c.policies[0]
		allow := strings.Join(got.Allow, " ")
		if got.Network != test.want || !strings.Contains(allow, test.has) ||
			test.hasNot != "" && strings.Contains(allow, test.hasNot) {
			t.Errorf("of %s and the hub's %s: %s, %q", test.own, test.hub, got.Network, got.Allow)
		}
	}
}

// Programs without a policy from the hub get one that limits them to their directories.
func TestMachineConfinesWhatItsHubDoesNot(t *testing.T) {
	w, f, c := newFenced(t, nil)
	if _, err := f.Terminals().Start(t.Context(), machine.TerminalSpec{Dir: w.open + "/repo"}, nil); err != nil {
		t.Fatal(err)
	}
	if p := c.policies[0]; p == nil || !reflect.DeepEqual(p.Write, []string{w.open + "/repo"}) || len(p.Home) > 0 ||
		p.Mode != sandbox.Namespace {
		t.Errorf("a terminal is confined by %+v", p)
	}
	if _, err := f.Agents()["a"].Open(t.Context(), agent.Spec{Session: "ahp-session:/1", Dirs: []string{w.open}}); err != nil {
		t.Fatal(err)
	}
	spec := w.agent.spec
	p, err := spec.Sandbox(t.Context())
	if err != nil || p == nil || !reflect.DeepEqual(p.Write, []string{w.open}) || !reflect.DeepEqual(p.Home, []string{".a/login"}) {
		t.Errorf("an agent is confined by %+v, %v", p, err)
	}
	if spec.Work != sandbox.WorkDir(w.data+"/boxes", p.Session) || spec.Sent != sandbox.SentDir(w.data+"/boxes", p.Session) {
		t.Errorf("it works in %s and reads %s", spec.Work, spec.Sent)
	}
}

// A session that requires a mode is confined in that mode, or refused.
func TestMachineRefusesSandboxesThatItHasNot(t *testing.T) {
	for _, test := range []struct {
		own   sandbox.Mode // "": none
		asked sandbox.Mode
		auto  bool
		want  sandbox.Mode // "": refused
	}{
		{"", sandbox.Namespace, false, ""}, {"", sandbox.Namespace, true, sandbox.None},
		{sandbox.Landlock, sandbox.Namespace, false, ""}, {sandbox.Landlock, sandbox.Namespace, true, sandbox.Landlock},
		{sandbox.Namespace, sandbox.Landlock, false, sandbox.Namespace},
		{sandbox.Namespace, sandbox.Container, false, ""},
	} {
		w, f, c := newFenced(t, func(r *sandbox.Rules) { r.Boxed = test.own })
		p := &sandbox.Policy{Session: "s1", Mode: test.asked, Auto: test.auto, Network: sandbox.Open, Image: "i",
			Write: []string{w.open}}
		err := f.CheckSandbox(p)
		got := sandbox.None
		switch {
		case err != nil:
			got = ""
		case len(c.policies) > 0:
			got = c.policies[0].Mode
		}
		if got != test.want {
			t.Errorf("%s where there is %q is %q, %v", test.asked, test.own, got, err)
		}
	}
}

// A hub can make a machine forget sessions only.
func TestForgettingStaysAmongSessions(t *testing.T) {
	_, f, c := newFenced(t, nil)
	for _, name := range []string{"..", ".", "", "../src", "/etc", "a/b"} {
		if err := f.Forget(name); err == nil {
			t.Errorf("%q is forgotten", name)
		}
	}
	if err := f.Forget("abc"); err != nil || !reflect.DeepEqual(c.forgot, []string{"abc"}) {
		t.Errorf("a session: %v, %v", c.forgot, err)
	}
}
