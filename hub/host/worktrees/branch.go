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

// Branch is, under `branch` of the host's own key in a session's `_meta`, what the session's first directory has
// checked out. It is absent for a directory in no repository.
type Branch struct {
	Name     string `json:"name"` // or the short id of a commit
	Detached bool   `json:"detached,omitempty"`
}

const (
	metaBranch = "branch"
	mostBranch = 200 // characters of a name

	// branchEvery is the interval between two looks at the file that names the branch, and the least time between two
	// calls of git for it.
	branchEvery = time.Second
)

// ReadBranch returns what a session's first directory has checked out.
func ReadBranch(m ahp.Meta) Branch {
	var own struct {
		Branch Branch `json:"branch"`
	}
	_ = json.Unmarshal(m[core.MetaKey], &own) // absent: no branch is known
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

// FollowBranch keeps the branch of a viewed session current until stop is called; stop waits for the end of the work.
func (p *Part) FollowBranch(session ahp.URI) (stop func()) {
	if p.cfg.Repositories == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(p.core.Ctx)
	var wg sync.WaitGroup
	wg.Go(func() { p.pollBranch(ctx, session) })
	return func() { cancel(); wg.Wait() }
}

// pollBranch refreshes the branch of a session whenever it is not current, until ctx ends.
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

// isBranchCurrent reports whether the branch that was read last is still checked out.
func (p *Part) isBranchCurrent(ctx context.Context, session ahp.URI) bool {
	out, ok := p.head(session).get(p.firstDir(session))
	return ok && p.cfg.Repositories.IsCurrent(ctx, out.Stamp)
}

// firstDir returns the first local directory of a session, "" without one.
func (p *Part) firstDir(session ahp.URI) string {
	if dirs := p.core.LocalDirs(session); len(dirs) > 0 {
		return dirs[0]
	}
	return ""
}

// RefreshBranch has the branch of a session read again. Requests that come during a read share the next one.
func (p *Part) RefreshBranch(session ahp.URI) {
	if p.cfg.Repositories == nil {
		return
	}
	if h := p.head(session); h.request() {
		p.core.Go(func() { p.readBranch(session, h) })
	}
}

// readBranch reads and publishes the branch of a session until no request is left. It pauses after each read, because a
// rebase checks out one commit after another.
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

// head is what a session's first directory had checked out when it was read last.
type head struct {
	mu        sync.Mutex
	dir       string
	out       machine.CheckedOut
	known     bool // it was read
	reading   bool // a goroutine reads it
	requested bool // it is to be read (again)
}

// head returns the head of a session, and makes it on first use.
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

// get returns what dir had checked out when it was read last; ok is false when it was not read.
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

// request asks for a read, and reports whether the caller has to start reading.
func (h *head) request() (start bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	start = !h.reading
	h.reading, h.requested = true, true
	return start
}

// takeRequest reports whether a read was requested since the last call. When it was not, the goroutine ends.
func (h *head) takeRequest() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reading, h.requested = h.requested, false
	return h.reading
}
