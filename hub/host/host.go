package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/review"
)

// Store is what the host reads back; it writes through the hub's journal alone, so
// that its records are in order with the envelopes.
type Store interface {
	hub.Loader
	Records(ctx context.Context, bucket string) ([]hub.Record, error)
	Get(ctx context.Context, bucket, key string) ([]byte, bool, error)
}

// Config of a Host. Zero fields take the stated default.
type Config struct {
	Hub          *hub.Hub
	Store        Store // nil: nothing was kept, nothing sleeps
	Agents       map[string]agent.Backend
	DefaultAgent string    // provider of a session that names none; default: the first by name
	DataDir      string    // agents get a private directory below it; made when absent
	Secrets      []string  // files outside of it that are never opened for anyone: keys, tokens, passwords
	LastAlive    time.Time // when the process before this one was last alive; zero: it is not known
	DefaultDir   string    // working directory of a session that names none; local path
	Pass         []string  // names of more variables of the environment that terminals and git see, as environ.Allows takes them
	TrustFilters []string  // directories whose repositories' filters run when they are looked at; local paths

	// ToolServers says how an agent on this machine reaches its Toolbox with a token; nil
	// gives agents none.
	ToolServers func(token string) []agent.MCPServer

	// Judged is told of every event at a desk, under the hub's lock; nil: nobody is.
	Judged func(*hub.Tx, ahp.URI, review.Event)

	// FilesAsked is told of every request for files that waits for the owner, under the hub's lock; nil: nobody is.
	FilesAsked func(*hub.Tx, FileAsk)

	Customize Customize // rules, skills, MCP servers and the like; the zero value finds none

	Log    *slog.Logger
	Now    func() time.Time
	Limits Limits

	Clients ClientAsker // nil: no file that lies with a client can be read

	Tracer trace.Tracer // nil: no spans are made
	Meters Meters       // nil: nobody counts
}

// Limits bounds what people and agents may pile up.
type Limits struct {
	Sessions           int           // not counting disposed ones: 10 000
	Trash              int           // disposed sessions kept for an undo: 100
	Chats              int           // of one session: 64
	ChatDepth          int           // of chats spawned by tools: 3 (AHP requirement 97)
	Queue              int           // queued messages of a chat: 64
	MessageBytes       int           // text and attachments of one message: 1 MiB
	TurnBytes          int           // text that an agent may say in one turn: 64 MiB
	ChatBytes          int           // text of a chat from which it takes no further turn: 256 MiB
	Folders            int           // directories watched for the changes of one session: 32 768; with more they are looked at from time to time
	Threads            int           // annotations of a session: 2000, with 500 entries each
	ClientGrace        time.Duration // an active client may be gone this long: 30 s (AHP requirement 138)
	ClientTool         time.Duration // a silent client tool call fails after: 5 min (AHP requirement 143)
	Automations        int           // 200
	AutomationRuns     int           // ended runs kept of each automation: 100
	AutomationsAtOnce  int           // runs at work, of all automations: 8
	AutomationInterval time.Duration // least time between two occurrences of a schedule: 5 min

	Idle time.Duration // nobody looks and nothing runs: leave memory after 10 min
	Stop time.Duration // how long agents may take to stop at shutdown: 4 s
}

func (l Limits) withDefaults() Limits {
	l.Sessions = cmp.Or(l.Sessions, 10_000)
	l.Trash = cmp.Or(l.Trash, 100)
	l.Chats = cmp.Or(l.Chats, 64)
	l.ChatDepth = cmp.Or(l.ChatDepth, 3)
	l.Queue = cmp.Or(l.Queue, 64)
	l.MessageBytes = cmp.Or(l.MessageBytes, 1<<20)
	l.TurnBytes = cmp.Or(l.TurnBytes, 64<<20)
	l.ChatBytes = cmp.Or(l.ChatBytes, 256<<20)
	l.Folders = cmp.Or(l.Folders, 32_768)
	l.Threads = cmp.Or(l.Threads, 2000)
	l.ClientGrace = cmp.Or(l.ClientGrace, 30*time.Second)
	l.ClientTool = cmp.Or(l.ClientTool, 5*time.Minute)
	l.Automations = cmp.Or(l.Automations, 200)
	l.AutomationRuns = cmp.Or(l.AutomationRuns, 100)
	l.AutomationsAtOnce = cmp.Or(l.AutomationsAtOnce, 8)
	l.AutomationInterval = cmp.Or(l.AutomationInterval, 5*time.Minute)
	l.Idle = cmp.Or(l.Idle, 10*time.Minute)
	l.Stop = cmp.Or(l.Stop, 4*time.Second)
	return l
}

// Caller is who asks: the authenticated principal and the client it speaks through.
// Conn is nil for a plain form of a page.
type Caller struct {
	access.Principal
	ClientID string
	Conn     *hub.Conn
}

// Host does the work of an agent host. New, Start, Run, in this order.
type Host struct {
	cfg   Config
	hub   *hub.Hub
	log   *slog.Logger
	now   func() time.Time
	lanes *lanes

	agents []ahp.AgentInfo // as they described themselves at the start

	catalogue   catalogue
	clients     activeClients
	provisional provisionals
	trash       trashCan
	disposing   claims
	terms       terminals
	changes     changesets
	desks       desks
	opening     openings
	automations automations
	watches     watches
	grants      grants
	guard       *guard.Guard
	tools       toolboxes
	customs     customs
	recovering  atomic.Bool // while true no queued message is started

	mu      sync.Mutex
	ctx     context.Context // of Run; ends everything that runs
	cancel  context.CancelCauseFunc
	live    map[ahp.URI]*live
	waiters map[waitKey]chan ahp.Action
	wg      sync.WaitGroup
}

// errStopping is the cause of cancelling when the host shuts down.
var errStopping = errors.New("the host is stopping")

// New makes a host; give its Derive to the hub's configuration.
func New(cfg Config) (*Host, error) {
	if cfg.Hub == nil {
		return nil, errors.New("host: Config.Hub is missing")
	}
	if len(cfg.Agents) == 0 {
		return nil, errors.New("host: no agent is configured: name at least one")
	}
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Tracer == nil {
		cfg.Tracer = noop.Tracer{}
	}
	if cfg.Meters == nil {
		cfg.Meters = noMeters{}
	}
	cfg.DefaultAgent = cmp.Or(cfg.DefaultAgent, firstAgent(cfg.Agents))
	if cfg.Agents[cfg.DefaultAgent] == nil {
		return nil, errors.New("host: the default agent " + cfg.DefaultAgent + " is not among the agents")
	}
	guarded, err := newGuard(cfg.DataDir, cfg.Secrets)
	if err != nil {
		return nil, fmt.Errorf("host: the data directory %s cannot be guarded: %w", cfg.DataDir, err)
	}
	h := &Host{cfg: cfg, guard: guarded, hub: cfg.Hub, log: cfg.Log, now: cfg.Now, lanes: newLanes(),
		catalogue: newCatalogue(), automations: newAutomations(), live: map[ahp.URI]*live{}, waiters: map[waitKey]chan ahp.Action{}}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	if h.now == nil {
		h.now = time.Now
	}
	h.ctx, h.cancel = context.WithCancelCause(context.Background())
	return h, nil
}

// Start opens the root channel, reads the catalogue and ends what a crash cut off.
// Call it once, before anybody is let in.
func (h *Host) Start(ctx context.Context) error {
	if err := errors.Join(h.openRoot(ctx), h.loadDesks(ctx), h.loadActiveClients(ctx), h.loadCustoms(ctx), h.openAutomations(ctx)); err != nil {
		return err
	}
	if err := h.recover(ctx); err != nil {
		return err
	}
	return h.mendRuns(ctx)
}

// Run runs effects until ctx ends, then stops every agent and waits for it.
func (h *Host) Run(ctx context.Context) error {
	defer h.stop()
	h.wg.Go(func() { h.janitor(h.ctx) })
	h.wg.Go(func() { h.keepTime(h.ctx) })
	for {
		due, err := h.hub.Effects(ctx)
		if err != nil {
			return nil // ctx ended: the only error there is
		}
		for _, e := range due {
			h.lanes.add(h.ctx, e.Key, e.Run)
		}
	}
}

// stop ends everything and waits: the turns' agents first, for at most Limits.Stop.
func (h *Host) stop() {
	h.cancel(errStopping)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.clients.stop()
		h.lanes.close()
		h.stopLive()
		h.stopCustoms()
		h.stopTerminals()
		h.stopWatches()
		h.wg.Wait()
		_ = h.guard.Close()
	}()
	timer := time.NewTimer(h.cfg.Limits.Stop)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		h.log.Error("agents did not stop in time; leaving them", "after", h.cfg.Limits.Stop)
	}
}

// do runs f as one step of the timeline. While the journal cannot be written, agents
// pause here instead of losing what they say.
func (h *Host) do(ctx context.Context, f func(*hub.Tx)) error {
	for {
		err := h.hub.Do(f)
		if !errors.Is(err, hub.ErrReadOnly) {
			return err
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// timestamp formats a time as the protocol does.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
