package main

import (
	"context"
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

// cli is the command line. Each flag can also be set as AHPHUB_… in the environment or in the
// configuration file; flags take precedence over the environment, and that over the file.
type cli struct {
	Serve   serveCommand   `cmd:"" default:"withargs" help:"Serve (the default)."`
	Demo    demoCommand    `cmd:"" help:"Serve a sample repository with a session in every state, in a temporary data directory."`
	Link    linkCommand    `cmd:"" help:"Print a new sign-in link. It works once."`
	Doctor  doctorCommand  `cmd:"" help:"Check git, shell, agents, data directory and port, and suggest fixes."`
	Backup  backupCommand  `cmd:"" help:"Back up the database, even while ahphub is running."`
	Secrets secretsCommand `cmd:"" help:"List, set and remove secrets, or rotate their key."`
	Join    joinCommand    `cmd:"" hidden:"" help:"Make this computer a machine of a hub."`
	Mcp     mcpCommand     `cmd:"" help:"Serve ahphub's tools to an agent over standard input and output. Agents start it."`
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
	parsed, err := parse(&c, args, stdout, stderr)
	if parsed == nil || err != nil {
		return err
	}
	return parsed.Run(&environment{ctx, stdout, stderr})
}

// parse fills in c. It returns neither an error nor a result after --help.
func parse(c *cli, args []string, stdout, stderr io.Writer) (*kong.Context, error) {
	file, err := readConfigFile(args)
	if err != nil {
		return nil, err
	}
	c.Serve.configured, c.Doctor.configured = file.agents, file.agents
	c.Serve.pass, c.Doctor.pass = file.pass, file.pass
	c.Serve.limits, c.Doctor.limits = file.limits, file.limits
	left := false
	parser, err := kong.New(c,
		kong.Name("ahphub"),
		kong.Description("Hosts coding agents for a team over the Agent Host Protocol, with live web pages."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { left = true }),
		kong.DefaultEnvars("AHPHUB"),
		kong.Resolvers(file),
		kong.Vars{"data": defaultDataDir()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(args)
	if left { // --help
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w (ahphub --help lists the commands and flags)", err)
	}
	return parsed, nil
}
