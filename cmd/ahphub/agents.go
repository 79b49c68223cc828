package main

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/hub/agent/shell"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// makeAgents returns the agents that sessions can use. The script agent is for tests and demos and
// must be configured; the demo offers only it and the shell.
func makeAgents(cfg Config, g *guard.Guard, starter local.Programs) (map[string]agent.Backend, error) {
	agents := map[string]agent.Backend{shell.Provider: shell.Backend{}}
	if !cfg.demo {
		addPrograms(agents, programs(cfg.configured, cfg.pass), acp.Backend{Limits: cfg.limits, Start: starter.Start,
			Guard: g}, cfg.Data)
	}
	if cfg.Agent != script.Provider {
		return agents, nil
	}
	backend := script.Backend{}
	var err error
	switch {
	case cfg.demo:
		backend.Scenario = script.Demo()
	case cfg.Scenario != "":
		backend.Scenario, err = script.Load(cfg.Scenario)
	}
	agents[script.Provider] = backend
	return agents, err
}

// addPrograms adds an agent for each program. Each is a copy of backend with its own memory file in
// the data directory.
func addPrograms(agents map[string]agent.Backend, all map[string]acp.Program, backend acp.Backend, data string) {
	for name, p := range all {
		b := backend
		b.Program, b.Memory = p, acp.Remember(filepath.Join(data, "known-agents", name+".json"))
		agents[name] = b
	}
}

// programs returns the agents found on this machine and the configured ones, by name. A configured
// agent replaces a found one of its name. Each sees the variables that pass names.
func programs(configured []acp.Program, pass []string) map[string]acp.Program {
	all := map[string]acp.Program{}
	for _, p := range slices.Concat(acp.Installed(), configured) {
		p.Pass = slices.Concat(p.Pass, pass)
		all[p.Name] = p
	}
	return all
}

// agentNames returns the valid values of --agent.
func agentNames(configured []acp.Program) []string {
	return append([]string{shell.Provider, script.Provider}, slices.Sorted(maps.Keys(programs(configured, nil)))...)
}

// firstAgent returns what a page tells an owner whose only agent is Shell. It starts no program.
func firstAgent() page.FirstAgent {
	_, err := exec.LookPath("npm")
	return page.FirstAgent{LookedFor: acp.Names(), NoNpm: err != nil}
}

// setupNotes returns what this server lacks, like doctor, without starting programs. unboxed is why
// sessions have no sandbox or, if partly, an incomplete one; "" if they are sandboxed or should not
// be.
func setupNotes(configured []acp.Program, unboxed string, partly bool) (notes []part.SetupNote) {
	switch {
	case unboxed != "" && partly:
		notes = append(notes, part.SetupNote{Risk: true, Text: "Sessions are partly sandboxed.",
			Fix: "Their programs open neither your other files nor other sessions, but see and reach your other programs. " +
				site.Sentence(unboxed)})
	case unboxed != "":
		notes = append(notes, part.SetupNote{Risk: true, Text: "Sessions aren't sandboxed.",
			Fix: "Their programs can do anything you can on this computer. " + site.Sentence(unboxed)})
	}
	if !hasGit() {
		notes = append(notes, part.SetupNote{Text: "Git wasn't found.",
			Fix: "Without it, changes can't be shown or reviewed. Install Git, then restart ahphub."})
	}
	for _, p := range configured {
		if _, err := p.Path(); err != nil {
			notes = append(notes, part.SetupNote{Text: fmt.Sprintf("The agent %s can't start.", p.Name),
				Fix: "Its program wasn't found. Install it or correct its command in the configuration file, " +
					"then restart ahphub."})
		}
	}
	return notes
}

// unsigned returns a function that reports whether an agent required a login at its last request.
func unsigned(agents map[string]agent.Backend) func(provider string) bool {
	return func(provider string) bool {
		b, ok := agents[provider].(acp.Backend)
		return ok && b.NeedsLogin()
	}
}

// loginLines returns the login commands of agents, by provider. They come from the program's own
// list and the owner's configuration, never from an agent.
func loginLines(all map[string]acp.Program) map[string]string {
	lines := map[string]string{}
	for name, p := range all {
		lines[name] = p.LoginCommand()
	}
	return lines
}

func hasGit() bool {
	_, err := exec.LookPath("git")
	return err == nil
}
