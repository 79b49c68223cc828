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

// Bounds of terminals.
const (
	mostRunning = 256 // terminals of the host at once
	KeptExited  = 16  // exited terminals of a session's tool calls that are kept; older ones are closed
	mostExited  = 128 // exited terminals of the host's tool calls
)

// Config holds what the part gets from the host.
type Config struct {
	Machine    machine.Terminals
	DefaultDir string   // of a terminal whose session has no directory; local path
	Pass       []string // names of more variables of the environment that programs see, as environ.Allows takes them

	Grace       time.Duration // between the signals that end a program
	ClientGrace time.Duration // how long a holder may be disconnected

	// Directories returns the local directories of a session, or the error of an unknown one.
	Directories func(ctx context.Context, session ahp.URI) ([]string, error)

	// Sandbox returns what the programs of a session are kept from; nil when that is nothing. Without it there are no sandboxes.
	Sandbox func(ctx context.Context, session ahp.URI) (*sandbox.Policy, error)

	// Secrets returns variables with the secrets that programs of a session are given, when given is true, and what is not
	// shown of the output of all of them. Without it there are no secrets.
	Secrets func(ctx context.Context, session ahp.URI, given bool) (env []string, hide *redact.Set, err error)

	// CheckURI refuses what cannot be the URI of a terminal.
	CheckURI func(uri ahp.URI) error

	// Directory returns the local path of a directory that exists.
	Directory func(ctx context.Context, uri ahp.URI) (string, error)

	// CheckPlace refuses a path that is closed to a session; the error names the parameter.
	CheckPlace func(ctx context.Context, session ahp.URI, param, path string) error

	Files machine.Files // of the computer

	// Reconsider is called in the step in which a session got or lost a terminal.
	Reconsider func(tx *hub.Tx, session ahp.URI)

	// Dispatch runs an action of a page as one of a client.
	Dispatch func(ctx context.Context, c core.Caller, channel ahp.URI, clientSeq int64, a ahp.Action) (hub.Outcome,
		error)
}

// Part keeps the terminals of a host. Its lock is taken below the hub's.
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

// Effects returns what an accepted action makes the part do once it is durable.
func (p *Part) Effects() map[string]core.Effect {
	return map[string]core.Effect{
		"terminal/input":   core.On(p.forwardInput),
		"terminal/resized": core.On(p.forwardSize),
	}
}

// Recover marks the terminals of the last run as exited, gives them back what was saved of their screens, and takes the
// commands that ended with the last run off their chats' lists.
func (p *Part) Recover(ctx context.Context) error {
	if p.core.Store == nil {
		return nil
	}
	if err := p.recoverTerminals(ctx); err != nil {
		return err
	}
	return p.recoverBackground(ctx)
}

// Close ends all programs and waits for them; what they wrote is kept.
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

// add reserves a URI for a terminal that is about to start.
func (p *Part) add(t *term) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all)-len(p.exited) >= mostRunning {
		return core.BadParams("%d terminals are already open. Close some first", mostRunning)
	}
	p.all[t.info.URI] = t
	return nil
}

// remove forgets a terminal and returns it; nil when it was removed before.
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

// program returns what runs in a terminal; nil when its program belongs to an earlier run.
func (p *Part) program(uri ahp.URI) machine.Terminal {
	if t := p.get(uri); t != nil {
		return t.program()
	}
	return nil
}
