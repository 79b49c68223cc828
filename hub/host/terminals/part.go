package terminals

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/redact"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Limits of terminals.
const (
	mostRunning = 256 // running terminals of the host
	KeptExited  = 16  // exited terminals kept per session for its tool calls; older ones are closed
	mostExited  = 128 // exited terminals of the host's tool calls
)

// Config configures a Part.
type Config struct {
	Machine    machine.Terminals
	DefaultDir string   // local path, for sessions without a directory
	Pass       []string // more environment variables for programs, in the form that environ.Allows takes

	Grace       time.Duration // between the signals that end a program
	ClientGrace time.Duration // how long a holder may be disconnected

	// Directories returns the local directories of a session, or an error if it is unknown.
	Directories func(ctx context.Context, session ahp.URI) ([]string, error)

	// Sandbox returns the sandbox policy of a session, or nil without a sandbox. nil: there are no
	// sandboxes.
	Sandbox func(ctx context.Context, session ahp.URI) (*sandbox.Policy, error)

	// Secrets returns variables with a session's secrets, if given is true, and what to redact from
	// the output of all its programs. nil: there are no secrets.
	Secrets func(ctx context.Context, session ahp.URI, given bool) (env []string, hide *redact.Set, err error)

	// CheckURI returns an error if a URI is invalid for a terminal.
	CheckURI func(uri ahp.URI) error

	// Directory returns the local path of an existing directory.
	Directory func(ctx context.Context, uri ahp.URI) (string, error)

	// CheckPlace returns an error if a path is closed to a session, with the parameter's name.
	CheckPlace func(ctx context.Context, session ahp.URI, param, path string) error

	Files machine.Files // of the computer

	// Reconsider is called in the step that adds or removes a session's terminal.
	Reconsider func(tx *hub.Tx, session ahp.URI)

	// Dispatch runs an action of a page like a client's.
	Dispatch func(ctx context.Context, c core.Caller, channel ahp.URI, clientSeq int64, a ahp.Action) (hub.Outcome,
		error)
}

// Part manages the terminals of a host. Its lock is taken below the hub's.
type Part struct {
	core *core.Core
	cfg  Config

	mu     sync.Mutex
	all    map[ahp.URI]*term
	exited []*term // of tool calls, oldest first

	saving sync.Once
}

// New returns a part without terminals.
func New(c *core.Core, cfg Config) *Part {
	return &Part{core: c, cfg: cfg, all: map[ahp.URI]*term{}}
}

// Effects returns the effects of accepted actions, which run once these are durable.
func (p *Part) Effects() map[string]core.Effect {
	return map[string]core.Effect{
		"terminal/input":   core.On(p.forwardInput),
		"terminal/resized": core.On(p.forwardSize),
	}
}

// Recover marks the last run's terminals as exited, restores their saved screens, and removes the
// last run's background commands from the chats' lists.
func (p *Part) Recover(ctx context.Context) error {
	if p.core.Store == nil {
		return nil
	}
	if err := p.recoverTerminals(ctx); err != nil {
		return err
	}
	return p.recoverBackground(ctx)
}

// Close ends all programs, waits for them, and saves their output.
func (p *Part) Close() {
	var wg sync.WaitGroup
	for _, t := range p.list(func(*term) bool { return true }) {
		wg.Go(t.kill)
	}
	wg.Wait()
}

func (p *Part) get(uri ahp.URI) *term {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[uri]
}

// add registers a terminal that is about to start.
func (p *Part) add(t *term) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all)-len(p.exited) >= mostRunning {
		return core.BadParams("%d terminals are already open. Close some first", mostRunning)
	}
	p.all[t.info.URI] = t
	return nil
}

// remove deletes a terminal from the part and returns it, or nil if it was removed before.
func (p *Part) remove(uri ahp.URI) *term {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.all[uri]
	delete(p.all, uri)
	p.exited = slices.DeleteFunc(p.exited, func(e *term) bool { return e == t })
	return t
}

func (p *Part) list(has func(*term) bool) []*term {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*term
	for _, t := range p.all {
		if has(t) {
			out = append(out, t)
		}
	}
	return out
}

// program returns a terminal's program, or nil if it belongs to an earlier run.
func (p *Part) program(uri ahp.URI) machine.Terminal {
	if t := p.get(uri); t != nil {
		return t.program()
	}
	return nil
}
