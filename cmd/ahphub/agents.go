package main

import (
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/hub/agent/shell"
)

// makeAgents are the agents that sessions may name. The script agent is for tests and
// demos, so it is there only when asked for.
func makeAgents(cfg Config) (map[string]agent.Backend, error) {
	agents := map[string]agent.Backend{shell.Provider: shell.Backend{}}
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
