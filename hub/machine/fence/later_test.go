package fence_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/fence"
	"github.com/ahphub/ahphub/hub/machine/localtest"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// laterAgent is an agent that is installed later.
type laterAgent struct{ *asker }

func (laterAgent) HomePaths() (write, read []string) { return []string{".b/login"}, nil }
func (laterAgent) Hosts() []string                   { return []string{"other.example"} }

// An agent that is installed while sessions run does not change their sandboxes, which would end their programs; later
// sessions get what it needs.
func TestAgentInstalledLaterLeavesSandboxesAlone(t *testing.T) {
	w := newWorld(t)
	g := localtest.NewGuard(t, w.data)
	g.StayWithin("box2", []string{w.open})
	c := &computer{agents: map[string]agent.Backend{"a": homely{w.agent}}}
	var places []string
	f := fence.New(c, fence.Config{Guard: g, Dirs: []string{w.open}, Data: filepath.Join(w.data, "agents"),
		Rules: &sandbox.Rules{Mode: sandbox.Auto, Boxed: sandbox.Namespace, Network: sandbox.List, Dir: w.data + "/boxes"},
		Read:  func() []string { return places }})
	ask := func(session string) *sandbox.Policy {
		t.Helper()
		if err := f.CheckSandbox(&sandbox.Policy{Session: session, Auto: true, Network: sandbox.List, Write: []string{w.open},
			Home: []string{".a/login", ".b/login"}, Allow: nil}); err != nil {
			t.Fatal(err)
		}
		return c.policies[len(c.policies)-1]
	}
	before := ask("s1")
	c.agents = map[string]agent.Backend{"a": homely{w.agent}, "b": laterAgent{w.agent}}
	places = []string{"/opt/later"}
	if after := ask("s1"); !reflect.DeepEqual(before, after) || before.Digest() != after.Digest() {
		t.Errorf("the sandbox of a session becomes\n%+v, was\n%+v", after, before)
	}
	if p := ask("s2"); !slices.Contains(p.Read, "/opt/later") || !slices.Contains(p.Home, ".b/login") {
		t.Errorf("the sandbox of a new session is %+v", p)
	}
	if err := f.Forget("s1"); err != nil {
		t.Fatal(err)
	}
	if p := ask("s1"); !slices.Contains(p.Read, "/opt/later") {
		t.Errorf("a session of the same name has the sandbox %+v", p)
	}
}

// Forget removes what a session's terminals without a sandbox policy left, and nothing else.
func TestForgetRemovesWhatTerminalsOfASessionLeft(t *testing.T) {
	w, f, c := newFenced(t, nil)
	start := func(session string) string {
		t.Helper()
		if _, err := f.Terminals().Start(t.Context(), machine.TerminalSpec{Dir: w.open, Session: session}, nil); err != nil {
			t.Fatal(err)
		}
		box := c.policies[len(c.policies)-1].Session
		if err := os.MkdirAll(filepath.Join(w.data, "boxes", box), 0o700); err != nil {
			t.Fatal(err)
		}
		return box
	}
	mine, others, older := start("aaaa"), start("aaaa-b"), start("")
	if mine == others || mine == older {
		t.Fatalf("the sandboxes are %q, %q and %q", mine, others, older)
	}
	if err := f.Forget("aaaa"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.forgot, []string{"aaaa", mine}) {
		t.Errorf("forgotten are %q", c.forgot)
	}
}
