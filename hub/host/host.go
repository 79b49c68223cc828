package host

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ahphub/ahphub/hub/host/sandboxes"
	"github.com/ahphub/ahphub/hub/host/secrets"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/agents"
	"github.com/ahphub/ahphub/hub/host/automations"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/clients"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/customs"
	"github.com/ahphub/ahphub/hub/host/files"
	"github.com/ahphub/ahphub/hub/host/terminals"
	"github.com/ahphub/ahphub/hub/host/threads"
	"github.com/ahphub/ahphub/hub/host/worktrees"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Config of a Host. Zero fields take the stated default.
type Config struct {
	Hub          *hub.Hub
	Store        core.Store               // nil: nothing was kept, nothing sleeps
	Agents       map[string]agent.Backend // default: the Machine's
	Audit        *audit.Log               // nil: actions are not written down
	DefaultAgent string                   // provider of a session that names none; default: the first by name
	DataDir      string                   // agents get a private directory below it; made when absent
	LastAlive    time.Time                // when the process before this one was last alive; zero: it is not known
	DefaultDir   string                   // working directory of a session that names none; local path
	// names of more variables of the environment that terminals see, as environ.Allows takes them
	Pass []string

	// ToolServers says how an agent on this machine reaches its Toolbox with a token; nil
	// gives agents none.
	ToolServers func(token string) []agent.MCPServer

	// Judged receives every event of a review, under the hub's lock; nil: none.
	Judged func(*hub.Tx, ahp.URI, review.Event)

	// ReadSyntax is given what each turn changed, for the colours of its review; nil: they are read when it is opened.
	ReadSyntax func(load func(context.Context) []diff.Comparison)

	// Budget says why a person may start no turn in a session now, "" when they may. It is called under the hub's lock
	// too; nil: they always may.
	Budget func(person string, session ahp.URI) string
	// FilesAsked receives every request for files that waits for the owner, under the hub's lock; nil: none.
	FilesAsked func(*hub.Tx, files.FileAsk)

	Sandbox *sandbox.Rules // nil: there are no sandboxes

	// Elsewhere returns what keeps the sessions of an agent on another machine apart; ok is false for agents of this
	// computer. nil: there are no machines.
	Elsewhere func(provider string) (mode sandbox.Mode, ok bool)

	// Contacts returns what programs in a session's sandbox reached by the proxy and what they were refused. nil: there
	// is no proxy.
	Contacts func(session string) []sandbox.Contact

	// Container returns of what a session's last container was made; ok is false when there was none. nil: there are none.
	Container func(session string) (info sandbox.ContainerInfo, ok bool)

	// Secrets returns what the programs of a session have that works in directories; nil: nothing.
	Secrets func(session ahp.URI, dirs []string) ([]secrets.Secret, error)

	Home string // the user's directory, where agents keep settings; "" is not looked at

	Machine machine.Machine // the computer on which sessions' programs run

	Log    *slog.Logger
	Now    func() time.Time
	Limits core.Limits

	Clients files.ClientAsker // nil: no file that lies with a client can be read

	PollFolders time.Duration // until watching is tried again after it failed; 0: a minute

	Tracer trace.Tracer // nil: no spans are made
	Meters Meters       // nil: nothing is counted
}

// Host does the work of an agent host. New, Start, Run, in this order.
type Host struct {
	Automations *automations.Part
	Customs     *customs.Part

	cfg  Config
	core *core.Core

	Terminals *terminals.Part

	rules   map[string]core.Check
	effects map[string]core.Effect

	agents      *agents.Part
	clients     *clients.Part
	provisional provisionals
	trash       trashCan
	disposing   claims
	Changes     *changes.Part
	Worktrees   *worktrees.Part
	Sandboxes   *sandboxes.Part
	Threads     *threads.Part
	git         *changes.Repositories // nil when no changesets are offered
	opening     openings
	Files       *files.Part
	tools       toolboxes

	secrets *secrets.Part
	turns   *turns
	moves   mover
	notices notices
}

// New makes a host; give its Derive to the hub's configuration.
func New(cfg Config) (*Host, error) {
	if cfg.Hub == nil {
		return nil, errors.New("host: Config.Hub is missing")
	}
	if cfg.Machine == nil {
		return nil, errors.New("host: Config.Machine is missing")
	}
	if cfg.Tracer == nil {
		cfg.Tracer = noop.Tracer{}
	}
	if cfg.Meters == nil {
		cfg.Meters = noMeters{}
	}
	if cfg.Budget == nil {
		cfg.Budget = func(string, ahp.URI) string { return "" }
	}
	h := &Host{cfg: cfg}
	h.turns, h.moves, h.provisional.h = newTurns(h), mover{h}, h
	h.core = core.New(core.Config{Hub: cfg.Hub, Store: cfg.Store, Log: cfg.Log, Now: cfg.Now, Limits: cfg.Limits})
	h.notices = notices{h.core}
	h.core.Woken = h.woken
	var err error
	if h.agents, err = agents.New(h.core, agents.Config{Machine: cfg.Machine, Agents: cfg.Agents, Default: cfg.DefaultAgent,
		HomeCustomizations: func(ctx context.Context) []ahp.Customization { return h.Customs.ListHome(ctx) },
		Back:               h.handleMachinesBack}); err != nil {
		return nil, err
	}
	h.newParts()
	h.rules, h.effects = h.newRules(), h.newEffects()
	cfg.Hub.CompleteSnapshots(snapshots{h.core}.complete)
	return h, nil
}

// Start opens the root channel, reads the catalogue and ends what a crash cut off.
// Call it once, before the first caller.
func (h *Host) Start(ctx context.Context) error {
	h.secrets.Sweep()
	if err := errors.Join(h.openRoot(ctx), h.Threads.Recover(ctx), h.clients.Recover(ctx), h.Customs.Load(ctx),
		h.Automations.Load(ctx)); err != nil {
		return err
	}
	if err := h.recover(ctx); err != nil {
		return err
	}
	return h.Automations.Recover(ctx)
}

// Run runs effects until ctx ends, then stops every agent and waits for it.
func (h *Host) Run(ctx context.Context) error {
	defer h.stop()
	h.core.Go(func() { h.janitor(h.core.Ctx) })
	h.core.Go(func() { h.agents.Follow(h.core.Ctx) })
	h.core.Go(func() { h.Automations.KeepTime(h.core.Ctx) })
	for {
		due, err := h.core.Hub.Effects(ctx)
		if err != nil {
			return nil // ctx ended: the only error there is
		}
		for _, e := range due {
			h.core.Lanes.Add(h.core.Ctx, e.Key, e.Run)
		}
	}
}

// stop ends everything and waits: the turns' agents first, for at most Limits.Stop.
func (h *Host) stop() {
	h.core.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.clients.Close()
		h.core.Lanes.Close()
		h.turns.stopLive()
		h.Customs.Close()
		h.Terminals.Close()
		h.Files.Close()
		h.core.Wait()
		h.secrets.Sweep()
	}()
	timer := time.NewTimer(h.core.Limits.Stop)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		h.core.Log.Error("agents did not stop in time; leaving them", "after", h.core.Limits.Stop)
	}
}
