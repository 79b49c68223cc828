package survey_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/machine/survey"
	"github.com/ahphub/ahphub/hub/machines"
)

// probes answers for agents, once for each try.
type probes struct {
	mu    sync.Mutex
	tried map[string]int
	is    func(name string, time int) (acp.Finding, error)
}

func (p *probes) try(_ context.Context, prog acp.Program, _ acp.Limits) (acp.Finding, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tried[prog.Name]++
	return p.is(prog.Name, p.tried[prog.Name])
}

// waitFor waits until a report satisfies is.
func waitFor(t *testing.T, s *survey.Survey, is func(machines.Report) bool) machines.Report {
	t.Helper()
	changed, cancel := s.Watch()
	defer cancel()
	timeout := time.After(time.Minute)
	for {
		r := s.Report()
		if is(r) {
			return r
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("the report is %+v", r)
		}
	}
}

// Each agent is tried once, and reports what to do if it cannot work. The computer reports its free resources.
func TestSurveySaysWhichAgentsCanWork(t *testing.T) {
	p := &probes{tried: map[string]int{}, is: func(name string, _ int) (acp.Finding, error) {
		switch name {
		case "ready":
			return acp.Finding{Version: "Ready 1.2"}, nil
		case "login":
			return acp.Finding{Version: "Login 3", Login: "Login needs a login"}, nil
		}
		return acp.Finding{}, errors.New("it ended at once")
	}}
	progs := map[string]acp.Program{}
	for _, name := range []string{"broken", "login", "ready"} {
		progs[name] = acp.Program{Name: name, Command: "/nowhere/" + name}
	}
	dir := t.TempDir()
	s := survey.New(survey.Config{Version: "v1", Dirs: []string{dir}, Sandbox: "none", Programs: progs, Home: dir, Probe: p.try})
	if r := s.Report(); len(r.Agents) != 3 || r.Agents[0] != (machines.Agent{Name: "broken"}) {
		t.Errorf("before any was tried: %+v", r.Agents)
	}
	run(t, s)
	r := waitFor(t, s, func(r machines.Report) bool { return r.Agents[2].State != "" })
	want := []machines.Agent{{Name: "broken", State: machines.AgentFailed, Note: "it ended at once"},
		{Name: "login", Version: "Login 3", State: machines.AgentLogin, Note: "Login needs a login"},
		{Name: "ready", Version: "Ready 1.2", State: machines.AgentReady}}
	for i, a := range want {
		if r.Agents[i] != a {
			t.Errorf("%s is %+v", a.Name, r.Agents[i])
		}
	}
	if r.Version != "v1" || r.Sandbox != "none" || r.Cores == 0 || r.Memory == 0 || r.FreeMemory <= 0 ||
		r.FreeMemory > r.Memory || len(r.Dirs) != 1 || r.Dirs[0].Path != dir || r.Dirs[0].Free == 0 {
		t.Errorf("the computer is %+v", r)
	}
}

// An agent is tried again after a login.
func TestSurveyTriesAnAgentAgainAfterALogin(t *testing.T) {
	home := t.TempDir()
	p := &probes{tried: map[string]int{}, is: func(string, int) (acp.Finding, error) {
		if _, err := os.Stat(filepath.Join(home, "auth.json")); err != nil {
			return acp.Finding{Login: "log in"}, nil
		}
		return acp.Finding{}, nil
	}}
	s := survey.New(survey.Config{Home: home, Probe: p.try, Every: 5 * time.Millisecond,
		Programs: map[string]acp.Program{"a": {Name: "a", Command: "/nowhere/a", HomeWrite: []string{"auth.json"}}}})
	run(t, s)
	waitFor(t, s, func(r machines.Report) bool { return r.Agents[0].State == machines.AgentLogin })
	if err := os.WriteFile(filepath.Join(home, "auth.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	waitFor(t, s, func(r machines.Report) bool { return r.Agents[0].State == machines.AgentReady })
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tried["a"] != 2 {
		t.Errorf("it was tried %d times", p.tried["a"])
	}
}

// An agent that is installed while the machine is connected is found, up to the limit.
func TestSurveyFindsAgentsThatAreInstalledLater(t *testing.T) {
	p := &probes{tried: map[string]int{}, is: func(string, int) (acp.Finding, error) { return acp.Finding{}, nil }}
	var looks atomic.Int64
	s := survey.New(survey.Config{Home: t.TempDir(), Probe: p.try, Every: time.Millisecond,
		Programs: map[string]acp.Program{"first": {Name: "first", Command: "/nowhere/first"}},
		Find: func() map[string]acp.Program {
			if looks.Add(1) < 3 {
				return nil
			}
			found := map[string]acp.Program{}
			for i := range 1000 {
				name := fmt.Sprint("later", i)
				found[name] = acp.Program{Name: name, Command: "/nowhere/" + name}
			}
			return found
		}})
	run(t, s)
	r := waitFor(t, s, func(r machines.Report) bool { return len(r.Agents) > 1 && r.Agents[1].State == machines.AgentReady })
	if len(r.Agents) != 50 || len(s.Programs()) != 50 {
		t.Errorf("%d agents are reported, %d are known", len(r.Agents), len(s.Programs()))
	}
}

// run runs a survey until the test ends.
func run(t *testing.T, s *survey.Survey) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
}
