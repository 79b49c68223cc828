package worktrees

import (
	"context"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Repositories accesses the repositories of sessions.
type Repositories interface {
	CheckedOut(ctx context.Context, session ahp.URI, dir string) (machine.CheckedOut, error)
	IsCurrent(ctx context.Context, stamp machine.Stamp) bool
	AddWorktree(ctx context.Context, session ahp.URI, n machine.NewWorktree) (w machine.Worktree, dir string, err error)
	MergeWorktree(ctx context.Context, session ahp.URI, w machine.Worktree) (commits int, err error)
	RemoveWorktree(ctx context.Context, session ahp.URI, w machine.Worktree, force bool) error
	Standing(ctx context.Context, session ahp.URI, w machine.Worktree) (machine.WorktreeStanding, error)
}

// Config configures a Part.
type Config struct {
	Repositories Repositories // nil: sessions have no branches and no worktrees

	// Sandbox returns the sandbox policy of a session that is being created, or nil.
	Sandbox func(session ahp.URI, s *ahp.SessionState) (*sandbox.Policy, error)

	// SetMeta publishes a value under the host's own key of a session's `_meta`. The hub's lock is held.
	SetMeta func(tx *hub.Tx, session ahp.URI, key string, value any)

	// IsBusy reports whether a session's agent is running a turn. It waits for an agent that is
	// being opened.
	IsBusy func(ctx context.Context, session ahp.URI) bool

	// CloseAgent closes a session's agent; the next turn reopens it.
	CloseAgent func(session ahp.URI)
}

// Part creates, merges and removes worktrees, and keeps the branches of sessions current.
type Part struct {
	core *core.Core
	cfg  Config

	mu    sync.Mutex
	heads map[ahp.URI]*head // by session
}

// New returns a Part.
func New(c *core.Core, cfg Config) *Part {
	return &Part{core: c, cfg: cfg, heads: map[ahp.URI]*head{}}
}

// Forget deletes the data of a session that cannot be restored. It keeps a worktree with work that
// exists nowhere else.
func (p *Part) Forget(ctx context.Context, session ahp.URI) {
	p.mu.Lock()
	delete(p.heads, session)
	p.mu.Unlock()
	p.removeForgotten(ctx, session)
}
