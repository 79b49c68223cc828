package main

import (
	"context"
	"fmt"
	"io"
	"reflect"
)

// cli is the command line. Each flag can also be set as AHPHUB_… in the environment or in the
// configuration file; flags take precedence over the environment, and that over the file.
type cli struct {
	Serve   serveCommand   `cmd:"" help:"Serve (the default)."`
	Demo    demoCommand    `cmd:"" help:"Serve a sample repository with a session in every state, in a temporary data directory."`
	Link    linkCommand    `cmd:"" help:"Print a new sign-in link. It works once."`
	Doctor  doctorCommand  `cmd:"" help:"Check git, shell, agents, data directory and port, and suggest fixes."`
	Backup  backupCommand  `cmd:"" help:"Back up the database, even while ahphub is running."`
	Secrets secretsCommand `cmd:"" help:"List, set and remove secrets, or rotate their key."`
	Cluster clusterCommand `cmd:"" help:"Show and change which computers belong to a cluster."`
	Join    joinCommand    `cmd:"" hidden:"" help:"Make this computer a machine of a hub."`
	Mcp     mcpCommand     `cmd:"" help:"Serve ahphub's tools to an agent over standard input and output. Agents start it."`
	Health  healthCommand  `cmd:"" help:"Ask a server on this machine whether it works, for container engines and monitors."`
	Update  updateCommand  `cmd:"" help:"Ask whether there is a newer release. Servers never ask automatically."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// environment is the context of a command.
type environment struct {
	ctx            context.Context
	stdout, stderr io.Writer
}

type serveCommand struct {
	Config `embed:""`
}

func (c serveCommand) Run(e *environment) error { return run(e.ctx, c.Config, e.stdout, e.stderr) }

// command parses arguments and runs their command.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var c cli
	chosen, err := parse(&c, args, stdout)
	if chosen == nil || err != nil {
		return err
	}
	return chosen.Run(&environment{ctx, stdout, stderr})
}

// runner is a parsed command.
type runner interface{ Run(e *environment) error }

// parse fills in c and returns the chosen command. After --help, it returns neither an error nor a
// command.
func parse(c *cli, args []string, stdout io.Writer) (runner, error) {
	file, err := readConfigFile(args)
	if err != nil {
		return nil, err
	}
	c.Serve.configured, c.Doctor.configured = file.agents, file.agents
	c.Serve.pass, c.Doctor.pass = file.pass, file.pass
	c.Serve.limits, c.Doctor.limits = file.limits, file.limits
	program := verb{value: reflect.ValueOf(c).Elem(),
		help: "Hosts coding agents for a team over the Agent Host Protocol, with live web pages."}
	if err := file.check(program.everyOption()); err != nil {
		return nil, err
	}
	chosen, rest := program.choose(args)
	if chosen.name == "" && (len(rest) == 0 || rest[0] != "--help" && rest[0] != "-h") {
		chosen, rest = chosen.choose(append([]string{"serve"}, rest...))
	}
	done, err := chosen.parse(rest, file, stdout)
	if err != nil {
		return nil, fmt.Errorf("%w (ahphub --help lists the commands and flags)", err)
	}
	if done {
		return nil, nil
	}
	return chosen.value.Addr().Interface().(runner), nil
}
