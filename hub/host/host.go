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

// Config configures a Host. Zero fields get the stated defaults.
type Config struct {
	Hub          *hub.Hub
	Store        core.Store               // nil: nothing is loaded, nothing is unloaded
	Agents       map[string]agent.Backend // default: the Machine's
	Audit        *audit.Log               // nil: actions are not recorded
	DefaultAgent string                   // provider for sessions that name none; default: the first by name
	DataDir      string                   // contains a private directory per session for its agent
	LastAlive    time.Time                // when the previous process was last alive; zero: unknown
	DefaultDir   string                   // local working directory for sessions that name none
	// Pass names more environment variables for terminals, in the form that environ.Allows takes.
	Pass []string

	// ToolServers returns the MCP servers through which an agent on this machine reaches its
	// Toolbox with a token. nil: agents get no tools.
	ToolServers func(token string) []agent.MCPServer

	// Judged receives every review event, under the hub's lock; nil: none.
	Judged func(*hub.Tx, ahp.URI, review.Event)

	// ReadSyntax receives each turn's changes, to highlight them in advance; nil: on opening the
	// review.
	ReadSyntax func(load func(context.Context) []diff.Comparison)

	// Budget returns why a person may not start a turn in a session, or "". It is also called under
	// the hub's lock. nil: no limit.
	Budget func(person string, session ahp.URI) string
	// FilesAsked receives every pending request for files, under the hub's lock; nil: none.
	FilesAsked func(*hub.Tx, files.FileAsk)

	Sandbox *sandbox.Rules // nil: no sandboxes

	// Elsewhere returns the isolation of an agent's sessions on another machine; ok is false for
	// agents of this computer. nil: there are no machines.
	Elsewhere func(provider string) (mode sandbox.Mode, ok bool)

	// Contacts returns the hosts that programs in a session's sandbox reached through the proxy or
	// were denied. nil: there is no proxy.
	Contacts func(session string) []sandbox.Contact

	// Container describes the session's last container; ok is false if it had none. nil: no
	// containers.
	Container func(session string) (info sandbox.ContainerInfo, ok bool)

	// Secrets returns the secrets of a session that works in dirs; nil: none.
	Secrets func(session ahp.URI, dirs []string) ([]secrets.Secret, error)

	Home string // the user's directory with agents' settings; "": not searched

	Machine machine.Machine // the computer on which sessions' programs run

	Log    *slog.Logger
	Now    func() time.Time
	Limits core.Limits

	Clients files.ClientAsker // nil: clients' files cannot be read

	PollFolders time.Duration // interval of retries after watching failed; 0: a minute

	Tracer trace.Tracer // nil: no spans
	Meters Meters       // nil: no metrics
}

// Host is an agent host. Call New, Start and Run in this order.
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
	git         *changes.Repositories // nil if no changesets are offered
	opening     openings
	Files       *files.Part
	tools       toolboxes

	secrets *secrets.Part
	turns   *turns
	moves   mover
	notices notices
}

// New creates a Host. Pass its Derive to the hub's configuration.
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

// Start opens the root channel, reads the catalogue and ends interrupted turns. Call it once,
// before the first caller.
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
			return nil // ctx ended, which is the only possible error
		}
		for _, e := range due {
			h.core.Lanes.Add(h.core.Ctx, e.Key, e.Run)
		}
	}
}

// stop stops everything and waits, for at most Limits.Stop.
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
