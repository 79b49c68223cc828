package fleet_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/fleet"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/localtest"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// guest is an agent that records its calls, and runs a test's function as its turn.
type guest struct {
	spec   agent.Spec
	turn   agent.Turn
	tokens []string
	play   func(context.Context, agent.Spec, agent.Turn) error
}

func (g *guest) Describe(context.Context) (ahp.AgentInfo, error) {
	return ahp.AgentInfo{Provider: "guest", DisplayName: "Guest",
		Models:             []ahp.SessionModelInfo{{ID: "m", Provider: "guest"}},
		ProtectedResources: []ahp.ProtectedResourceMetadata{{Resource: "https://example.com/"}}}, nil
}

func (g *guest) Config() ahp.SessionConfigSchema { return agent.ApprovalConfig() }
func (g *guest) Icon() string                    { return "G" }
func (g *guest) HomePaths() (write, read []string) {
	return []string{".guest"}, []string{".guestrc"}
}
func (g *guest) Hosts() []string { return []string{"example.com"} }
func (g *guest) HostRuns() bool  { return true }
func (g *guest) UsesTools() bool { return true }

func (g *guest) Authenticate(_ context.Context, resource, token string) (bool, error) {
	if resource != "https://example.com/" {
		return false, nil
	}
	g.tokens = append(g.tokens, token)
	return true, nil
}

func (g *guest) Open(_ context.Context, spec agent.Spec) (agent.Session, error) {
	g.spec = spec
	return guestSession{g}, nil
}

type guestSession struct{ g *guest }

func (s guestSession) Prompt(ctx context.Context, t agent.Turn) error {
	s.g.turn = t
	return s.g.play(ctx, s.g.spec, t)
}

func (s guestSession) Close() error { return nil }

// desk is the host of a session, and the Out of its turns. It records its calls.
type desk struct {
	agent.Host
	agent.Out
	said  []ahp.Action
	terms []agent.TerminalSpec
	kept  []string
	offer agent.Offer
}

func (d *desk) Emit(a ahp.Action) error {
	d.said = append(d.said, a)
	return nil
}

func (d *desk) Terminal(_ context.Context, spec agent.TerminalSpec) (agent.Terminal, error) {
	d.terms = append(d.terms, spec)
	return nil, errors.New("no terminal")
}

func (d *desk) Keep(path string, _ []byte) (ahp.ContentRef, error) {
	d.kept = append(d.kept, path)
	return ahp.ContentRef{URI: "ahphub-version:x"}, nil
}

func (d *desk) Learn(o agent.Offer) { d.offer = o }

// newGuests returns two computers with an agent each.
func newGuests(t *testing.T) (p *pair, here, there *guest) {
	t.Helper()
	p, here, there = &pair{here: realTemp(t), there: realTemp(t)}, &guest{}, &guest{}
	p.member = fleet.Member{ID: "box", Name: "box2", Online: true, Machine: localtest.New(t, realTemp(t),
		local.WithAgents(map[string]agent.Backend{"guest": there}))}
	p.Route = fleet.NewRoute(localtest.New(t, realTemp(t), local.WithAgents(map[string]agent.Backend{"guest": here})), p)
	return p, here, there
}

func TestAgentsOfMembersAreNamed(t *testing.T) {
	p, _, _ := newGuests(t)
	all := p.Agents()
	own, box := all["guest"], all["guest+box"]
	if len(all) != 2 || own == nil || box == nil {
		t.Fatalf("there are %v", all)
	}
	if again := p.Agents(); again["guest"] != own || again["guest+box"] != box {
		t.Error("an agent is another value when it is asked for again")
	}
	info, err := box.Describe(t.Context())
	if err != nil || info.Provider != "guest+box" || info.DisplayName != "Guest on box2" ||
		info.Models[0].Provider != "guest+box" {
		t.Errorf("it is %+v, %v", info, err)
	}
	p.member.Name = "tower"
	if info, err = box.Describe(t.Context()); err != nil || info.DisplayName != "Guest on tower" {
		t.Errorf("renamed, it is %q, %v", info.DisplayName, err)
	}
	if info, err = own.Describe(t.Context()); err != nil || info.DisplayName != "Guest" || info.Provider != "guest" {
		t.Errorf("the own one is %q, %v", info.DisplayName, err)
	}
	write, read := box.(agent.HomeKeeper).HomePaths()
	if box.(agent.Iconed).Icon() != "G" || !box.(agent.HostRun).HostRuns() || !slices.Equal(write, []string{".guest"}) ||
		!slices.Equal(read, []string{".guestrc"}) || !slices.Equal(box.(agent.Online).Hosts(), []string{"example.com"}) {
		t.Error("what the agent can do besides is lost")
	}
}

// The agents of an offline member remain listed, and their errors say that it is offline.
func TestAgentsOfOfflineMembersRemain(t *testing.T) {
	p, _, there := newGuests(t)
	box := p.Agents()["guest+box"]
	if _, err := box.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.member.Online = false
	p.member.Machine = unplugged{p.member.Machine, there}
	if p.Agents()["guest+box"] != box {
		t.Fatal("the agent has gone with its machine's connection")
	}
	if info, err := box.Describe(t.Context()); err != nil || info.DisplayName != "Guest on box2" || len(info.Models) != 1 {
		t.Errorf("it is %+v, %v", info, err)
	}
	_, err := box.Open(t.Context(), agent.Spec{Dirs: []string{remote(p.there)}, Host: &desk{}})
	if !errors.Is(err, machine.ErrOffline) || !strings.Contains(err.Error(), "box2 is offline") {
		t.Errorf("it is opened with %v", err)
	}
	p.member.ID = "revoked"
	if _, err = box.Open(t.Context(), agent.Spec{Host: &desk{}}); err == nil ||
		!strings.Contains(err.Error(), "no machine box") {
		t.Errorf("of a revoked machine it is opened with %v", err)
	}
}

// unplugged is a machine that is offline.
type unplugged struct {
	machine.Machine
	g *guest
}

func (u unplugged) Agents() map[string]agent.Backend {
	return map[string]agent.Backend{"guest": offlineAgent{u.g}}
}

type offlineAgent struct{ *guest }

func (offlineAgent) Describe(context.Context) (info ahp.AgentInfo, err error) {
	return info, machine.ErrOffline
}

func (offlineAgent) Open(context.Context, agent.Spec) (agent.Session, error) {
	return nil, machine.ErrOffline
}

func TestAgentOfMemberReadsPathsOfItsOwn(t *testing.T) {
	p, _, there := newGuests(t)
	d := &desk{}
	spec := agent.Spec{Session: "guest+box:/s", Host: d, Dirs: []string{remote(p.there)},
		Sandbox: func(context.Context) (*sandbox.Policy, error) {
			return &sandbox.Policy{Write: []string{remote(p.there)}, Read: []string{"/usr/bin/of-the-hub"}}, nil
		}}
	s, err := p.Agents()["guest+box"].Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // nothing is open there
	var policy *sandbox.Policy
	there.play = func(ctx context.Context, spec agent.Spec, turn agent.Turn) (err error) {
		if policy, err = spec.Sandbox(ctx); err != nil {
			return err
		}
		_, _ = spec.Host.Terminal(ctx, agent.TerminalSpec{}) // fails here
		_, _ = spec.Host.Terminal(ctx, agent.TerminalSpec{Dir: "/etc/../tmp"})
		if _, ok := spec.Host.(interface {
			Reply(ctx context.Context, thread, text string) error
		}); ok {
			t.Error("the host takes replies there alone")
		}
		spec.Host.Learn(agent.Offer{Models: []ahp.SessionModelInfo{{ID: "m", Provider: "guest"}}})
		edit := agent.EditOf(spec.Host, "/src/a", nil, []byte("new"))
		return turn.Out.Emit(&ahp.ChatToolCallCompleteAction{Result: ahp.ToolCallResult{Content: agent.Results(
			&ahp.ToolResultFileEditContent{After: edit.After})}})
	}
	message := ahp.Message{Attachments: []ahp.MessageAttachment{{Value: &ahp.MessageResourceAttachment{Label: "a.txt",
		URI: "file://" + remote(p.there) + "/a.txt"}}}}
	err = s.Prompt(t.Context(), agent.Turn{ID: "t", Message: message, Out: d,
		History: []*ahp.Turn{{Message: ahp.Message{Attachments: []ahp.MessageAttachment{
			{Value: &ahp.MessageResourceAttachment{URI: "file:///etc/hub"}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(there.spec.Dirs, []string{p.there}) || len(policy.Read) > 0 ||
		!slices.Equal(policy.Write, []string{p.there}) {
		t.Errorf("it is opened with %+v and %+v", there.spec, policy)
	}
	got := there.turn.Message.Attachments[0].Value.(*ahp.MessageResourceAttachment).URI
	old := ahp.URI("about:blank")
	if !localtest.IsPiped() { // a connection transfers only a history's texts
		old = there.turn.History[0].Message.Attachments[0].Value.(*ahp.MessageResourceAttachment).URI
	}
	if got != "file://"+p.there+"/a.txt" || old != "about:blank" ||
		message.Attachments[0].Value.(*ahp.MessageResourceAttachment).URI == got {
		t.Errorf("it reads %s and %s", got, old)
	}
	if len(d.terms) != 2 || d.terms[0].Dir != remote(p.there) || d.terms[1].Dir != remote("/tmp") {
		t.Errorf("terminals are %+v", d.terms)
	}
	after := d.said[0].(*ahp.ChatToolCallCompleteAction).Result.Content[0].Value.(*ahp.ToolResultFileEditContent).After
	if after.URI != "file://"+remote("/src/a") || after.Content.URI != "ahphub-version:x" ||
		!slices.Equal(d.kept, []string{remote("/src/a")}) || d.offer.Models[0].Provider != "guest+box" {
		t.Errorf("the hub reads %+v, keeps %q and learns %+v", after, d.kept, d.offer)
	}
}

func TestAgentsRefuseOtherMachines(t *testing.T) {
	p, _, there := newGuests(t)
	all := p.Agents()
	for name, dir := range map[string]string{"guest": remote(p.there), "guest+box": p.here} {
		if err := all[name].(agent.Confined).Allows(dir); err == nil || !strings.Contains(err.Error(), "choose") {
			t.Errorf("%s allows %s: %v", name, dir, err)
		}
		if _, err := all[name].Open(t.Context(), agent.Spec{Dirs: []string{dir}, Host: &desk{}}); err == nil {
			t.Errorf("%s is opened in %s", name, dir)
		}
	}
	s, err := all["guest+box"].Open(t.Context(), agent.Spec{Dirs: []string{remote(p.there)}, Host: &desk{}})
	if err != nil {
		t.Fatal(err)
	}
	there.play = func(context.Context, agent.Spec, agent.Turn) error {
		t.Error("the turn is played")
		return nil
	}
	err = s.Prompt(t.Context(), agent.Turn{Out: &desk{}, Message: ahp.Message{Attachments: []ahp.MessageAttachment{{
		Value: &ahp.MessageResourceAttachment{Label: "notes.txt", URI: "file://" + p.here + "/notes.txt"}}}}})
	if failed, ok := errors.AsType[*agent.Failure](err); !ok || !strings.Contains(failed.Message, "notes.txt") ||
		!strings.Contains(failed.Message, "box2") {
		t.Errorf("a file of another computer is refused with %v", err)
	}
}

// A hostile machine's agent cannot start anything on the hub's own computer, even without a directory.
func TestAgentOfMemberStartsNothingOnHub(t *testing.T) {
	p, _, there := newGuests(t)
	d := &desk{}
	s, err := p.Agents()["guest+box"].Open(t.Context(), agent.Spec{Host: d})
	if err != nil {
		t.Fatal(err)
	}
	there.play = func(ctx context.Context, spec agent.Spec, _ agent.Turn) error {
		for _, dir := range []string{"", "etc", "/machines/other/etc", "/../etc"} {
			_, _ = spec.Host.Terminal(ctx, agent.TerminalSpec{Dir: dir, Command: []string{"id"}}) // fails anyway
		}
		return nil
	}
	if err := s.Prompt(t.Context(), agent.Turn{Out: d}); err != nil {
		t.Fatal(err)
	}
	for _, spec := range d.terms {
		if !strings.HasPrefix(spec.Dir, "/machines/box/") {
			t.Errorf("a command runs in %q", spec.Dir)
		}
	}
}

// Two machines may name the same resource: a token goes only to the machine that a person chose.
func TestTokensGoToOneMachine(t *testing.T) {
	p, here, there := newGuests(t)
	all := p.Agents()
	info, err := all["guest+box"].Describe(t.Context())
	if err != nil || len(info.ProtectedResources) != 1 {
		t.Fatalf("it is %+v, %v", info, err)
	}
	for i, resource := range []string{info.ProtectedResources[0].Resource, "https://example.com/"} {
		known := 0
		for _, b := range all {
			if ok, err := b.(agent.Authenticator).Authenticate(t.Context(), resource, string(rune('a'+i))); err != nil {
				t.Fatal(err)
			} else if ok {
				known++
			}
		}
		if known != 1 {
			t.Errorf("%s is known to %d agents", resource, known)
		}
	}
	if !slices.Equal(there.tokens, []string{"a"}) || !slices.Equal(here.tokens, []string{"b"}) {
		t.Errorf("box2 has %q, and the hub's own computer %q", there.tokens, here.tokens)
	}
}

func TestChangesOfMembersAreTold(t *testing.T) {
	p, _, _ := newGuests(t)
	p.changed = make(chan struct{}, 1)
	changed, cancel := machine.Watcher(p.Route).Watch()
	defer cancel()
	p.changed <- struct{}{}
	<-changed
}
