package agents

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// named is an agent with a title.
type named struct {
	title string
	err   error
}

func (n *named) Describe(context.Context) (ahp.AgentInfo, error) {
	return ahp.AgentInfo{DisplayName: n.title}, n.err
}
func (n *named) Config() ahp.SessionConfigSchema { return ahp.SessionConfigSchema{} }
func (n *named) Open(context.Context, agent.Spec) (agent.Session, error) {
	return nil, errors.New("not here")
}

// fleet is a machine whose agents change.
type fleet struct {
	news chan struct{}

	mu      sync.Mutex
	agents  map[string]agent.Backend
	missing map[string]error
}

func newFleet() *fleet {
	return &fleet{news: make(chan struct{}, 1), missing: map[string]error{},
		agents: map[string]agent.Backend{"own": &named{title: "Own"}, "first": &named{title: "First"}}}
}

func (f *fleet) Agents() map[string]agent.Backend {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.agents)
}

func (f *fleet) Watch() (<-chan struct{}, func()) { return f.news, func() {} }

func (f *fleet) Missing(provider string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.missing[provider]
}

func (f *fleet) IsOffline(provider string) bool {
	return errors.Is(f.Missing(provider), machine.ErrOffline)
}

func (f *fleet) change(do func()) {
	f.mu.Lock()
	do()
	f.mu.Unlock()
	f.news <- struct{}{}
}

func start(t *testing.T, f *fleet, h *hub.Hub) *Part {
	t.Helper()
	c := core.New(core.Config{Hub: h})
	p, err := New(c, Config{Machine: f, Default: "own"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { p.Follow(c.Ctx); close(ended) }()
	t.Cleanup(func() { c.Stop(); <-ended; c.Wait() })
	return p
}

// listed waits until clients see these titles.
func listed(t *testing.T, h *hub.Hub, want string) {
	t.Helper()
	var got string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		root, _ := hub.StateOf[*ahp.RootState](h, ahp.RootURI)
		var titles []string
		for _, a := range root.Agents {
			titles = append(titles, a.DisplayName)
		}
		if got = strings.Join(titles, ", "); got == want {
			return
		}
	}
	t.Fatalf("clients see %q, want %q", got, want)
}

// Agents of machines appear, are renamed, stay listed while their machine is offline, and disappear
// when it is revoked. Models learned from an agent's sessions are kept.
func TestAgentsComeAndGo(t *testing.T) {
	f, h := newFleet(), hub.New(hub.Config{})
	p := start(t, f, h)
	listed(t, h, "Own, First")
	far := &named{title: "Far on box2"}
	f.change(func() { f.agents["far+1"] = far })
	listed(t, h, "Own, First, Far on box2")
	if b, err := p.Find("far+1"); b != far || err != nil {
		t.Fatalf("it is found as %v, %v", b, err)
	}
	if err := h.Do(func(tx *hub.Tx) {
		root, _ := hub.StateOf[*ahp.RootState](tx, ahp.RootURI)
		agents := append([]ahp.AgentInfo{}, root.Agents...)
		agents[2].Models = []ahp.SessionModelInfo{{ID: "m"}}
		tx.Apply(ahp.RootURI, &ahp.RootAgentsChangedAction{Agents: agents})
	}); err != nil {
		t.Fatal(err)
	}
	f.change(func() { f.agents["far+1"] = &named{title: "Far on builder"} })
	listed(t, h, "Own, First, Far on builder")
	if root, _ := hub.StateOf[*ahp.RootState](h, ahp.RootURI); len(root.Agents[2].Models) != 1 {
		t.Errorf("its models are %v", root.Agents[2].Models)
	}
	f.change(func() { f.agents["far+1"] = &named{err: machine.ErrOffline}; f.agents["new"] = &named{title: "New"} })
	listed(t, h, "Own, First, Far on builder, New")
	f.change(func() {
		delete(f.agents, "far+1")
		delete(f.agents, "new")
		f.missing["far+1"] = errors.New("it was revoked")
	})
	listed(t, h, "Own, First")
	for _, find := range []func(string) (agent.Backend, error){p.Find, p.FindAgain} {
		if _, err := find("far+1"); err == nil || !strings.Contains(err.Error(), "it was revoked") {
			t.Errorf("its sessions are told %v", err)
		}
	}
	if p.Info("far+1").Capabilities == nil {
		t.Error("nothing is known of what it can do")
	}
}

// A starting hub keeps the descriptions of agents whose machines are not connected yet.
func TestAgentsOfMachinesThatAreAwayStayListed(t *testing.T) {
	h := hub.New(hub.Config{})
	if err := h.Do(func(tx *hub.Tx) {
		if err := tx.Open(core.RootInfo, &ahp.RootState{Agents: []ahp.AgentInfo{{Provider: "far+1", DisplayName: "Far on box2"},
			{Provider: "gone", DisplayName: "Gone"}}}); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	f := newFleet()
	f.missing["far+1"] = machine.ErrOffline
	p := start(t, f, h)
	listed(t, h, "Own, First, Far on box2")
	if _, err := p.Find("far+1"); err == nil || !strings.Contains(err.Error(), "offline") {
		t.Errorf("choosing it gives %v", err)
	}
	f.change(func() { f.agents["far+1"] = &named{title: "Far on box2, again"} })
	listed(t, h, "Own, First, Far on box2, again")
}
