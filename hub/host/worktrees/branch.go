package worktrees

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/texts"
)

// Branch is what a session's first directory has checked out, stored as `branch` under the host's
// own key of `_meta`. It is absent outside a repository.
type Branch struct {
	Name     string `json:"name"` // or the short id of a commit
	Detached bool   `json:"detached,omitempty"`
}

const (
	metaBranch = "branch"
	mostBranch = 200 // characters of a name

	// branchEvery is the interval of checks of the file that names the branch, and the minimum time
	// between two calls of git for it.
	branchEvery = time.Second
)

// ReadBranch returns what a session's first directory has checked out.
func ReadBranch(m ahp.Meta) Branch {
	var own struct {
		Branch Branch `json:"branch"`
	}
	_ = json.Unmarshal(m[core.MetaKey], &own) // absent: unknown
	return own.Branch
}

// newBranch returns the Branch to show for what is checked out.
func newBranch(c machine.CheckedOut) Branch {
	b := Branch{Name: strings.ToValidUTF8(c.Branch, "\uFFFD")}
	if c.Branch == "" {
		b = Branch{Name: c.Commit, Detached: c.Commit != ""}
	}
	b.Name = texts.ElideRunes(b.Name, mostBranch)
	return b
}

// FollowBranch keeps the branch of a viewed session current until stop is called. stop waits for
// running work.
func (p *Part) FollowBranch(session ahp.URI) (stop func()) {
	if p.cfg.Repositories == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(p.core.Ctx)
	var wg sync.WaitGroup
	wg.Go(func() { p.pollBranch(ctx, session) })
	return func() { cancel(); wg.Wait() }
}

// pollBranch refreshes a session's branch when it is outdated, until ctx ends.
func (p *Part) pollBranch(ctx context.Context, session ahp.URI) {
	tick := time.NewTicker(branchEvery)
	defer tick.Stop()
	for {
		if !p.isBranchCurrent(ctx, session) {
			p.RefreshBranch(session)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// isBranchCurrent reports whether the last read branch is still checked out.
func (p *Part) isBranchCurrent(ctx context.Context, session ahp.URI) bool {
	out, ok := p.head(session).get(p.firstDir(session))
	return ok && p.cfg.Repositories.IsCurrent(ctx, out.Stamp)
}

// firstDir returns the first local directory of a session, or "".
func (p *Part) firstDir(session ahp.URI) string {
	if dirs := p.core.LocalDirs(session); len(dirs) > 0 {
		return dirs[0]
	}
	return ""
}

// RefreshBranch has a session's branch read again. Requests during a read share the next one.
func (p *Part) RefreshBranch(session ahp.URI) {
	if p.cfg.Repositories == nil {
		return
	}
	if h := p.head(session); h.request() {
		p.core.Go(func() { p.readBranch(session, h) })
	}
}

// readBranch reads and publishes a session's branch until there are no more requests. It pauses
// after each read, because a rebase checks out one commit after another.
func (p *Part) readBranch(session ahp.URI, h *head) {
	for h.takeRequest() {
		dir := p.firstDir(session)
		var out machine.CheckedOut
		var err error
		if dir != "" {
			out, err = p.cfg.Repositories.CheckedOut(p.core.Ctx, session, dir)
		}
		if p.core.Ctx.Err() != nil {
			return
		}
		if err != nil {
			p.core.Log.Debug("cannot read what is checked out", "dir", dir, "err", err)
		}
		h.set(dir, out)
		p.publishBranch(session, newBranch(out))
		if core.Sleep(p.core.Ctx, branchEvery) != nil {
			return
		}
	}
}

// publishBranch writes the branch into the session's `_meta`.
func (p *Part) publishBranch(session ahp.URI, b Branch) {
	err := p.core.Do(p.core.Ctx, func(tx *hub.Tx) {
		s, ok := hub.StateOf[*ahp.SessionState](tx, session)
		if !ok || ReadBranch(s.Meta) == b {
			return
		}
		var value any
		if b.Name != "" {
			value = b
		}
		p.cfg.SetMeta(tx, session, metaBranch, value)
	})
	if err != nil && p.core.Ctx.Err() == nil {
		p.core.Log.Warn("the branch of a session is not shown", "session", session, "err", err)
	}
}

// head is the last read checkout of a session's first directory.
type head struct {
	mu        sync.Mutex
	dir       string
	out       machine.CheckedOut
	known     bool // the directory was read
	reading   bool // a goroutine is reading it
	requested bool // it has to be read (again)
}

// head returns the head of a session, and creates it on first use.
func (p *Part) head(session ahp.URI) *head {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.heads[session]
	if h == nil {
		h = &head{}
		p.heads[session] = h
	}
	return h
}

// get returns the last read checkout of dir; ok is false if it was not read.
func (h *head) get(dir string) (out machine.CheckedOut, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.out, h.known && h.dir == dir
}

func (h *head) set(dir string, out machine.CheckedOut) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dir, h.out, h.known = dir, out, true
}

// request requests a read, and reports whether the caller has to start it.
func (h *head) request() (start bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	start = !h.reading
	h.reading, h.requested = true, true
	return start
}

// takeRequest reports whether a read was requested since the last call. If not, the reading
// goroutine ends.
func (h *head) takeRequest() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reading, h.requested = h.requested, false
	return h.reading
}
