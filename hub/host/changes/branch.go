package changes

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

// Branch says, under `branch` of the host's own key in a session's `_meta`, what is checked out in the session's first
// directory. Absent, that is in no repository.
type Branch struct {
	Name     string `json:"name"` // or the short id of a commit
	Detached bool   `json:"detached,omitempty"`
}

const (
	metaBranch = "branch"
	mostBranch = 200 // characters of a name

	// between two looks at the file that says what is checked out; a branch is asked for as often
	branchEvery = time.Second
)

// ReadBranch returns what a session's first directory has checked out.
func ReadBranch(m ahp.Meta) (b Branch) {
	readOwn(m, metaBranch, &b)
	return b
}

func branchOf(c machine.CheckedOut) Branch {
	b := Branch{Name: strings.ToValidUTF8(c.Branch, "\uFFFD")}
	if c.Branch == "" {
		b = Branch{Name: c.Commit, Detached: c.Commit != ""}
	}
	b.Name = texts.ElideRunes(b.Name, mostBranch)
	return b
}

// head is what a session's first directory had checked out when it was looked at last.
type head struct {
	mu          sync.Mutex
	dir         string
	out         machine.CheckedOut
	known       bool // it was looked at
	busy, dirty bool // a goroutine looks, and is to look again
}

// FollowBranch keeps the branch of a viewed session current. The func ends it, and waits.
func (p *Part) FollowBranch(session ahp.URI) (stop func()) {
	if p.svc == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(p.core.Ctx)
	var wg sync.WaitGroup
	wg.Go(func() { p.followBranch(ctx, p.ledger(session)) })
	return func() { cancel(); wg.Wait() }
}

func (p *Part) followBranch(ctx context.Context, l *ledger) {
	tick := time.NewTicker(branchEvery)
	defer tick.Stop()
	for {
		if !p.isBranchCurrent(ctx, l) {
			p.requestBranch(l)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// isBranchCurrent reports whether what a session's first directory has checked out is known and still the same.
func (p *Part) isBranchCurrent(ctx context.Context, l *ledger) bool {
	out, ok := l.head.at(firstOf(p.core.LocalDirs(l.session)))
	return ok && p.svc.IsCurrent(ctx, out.Stamp)
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// requestBranch has the branch looked at, soon and once for all who ask meanwhile.
func (p *Part) requestBranch(l *ledger) {
	if p.svc == nil {
		return
	}
	if l.head.request() {
		p.tasks.start(func() { p.readBranches(l) })
	}
}

// readBranches polls until no page needs it any more. It rests in between: a rebase checks out one
// commit after another.
func (p *Part) readBranches(l *ledger) {
	for l.head.take() {
		dir := firstOf(p.core.LocalDirs(l.session))
		var out machine.CheckedOut
		var err error
		if dir != "" {
			out, err = p.svc.CheckedOut(p.core.Ctx, l.session, dir)
		}
		if p.core.Ctx.Err() != nil {
			return
		}
		if err != nil {
			p.core.Log.Debug("cannot read what is checked out", "dir", dir, "err", err)
		}
		l.head.set(dir, out)
		p.publishBranch(l.session, branchOf(out))
		if core.Sleep(p.core.Ctx, branchEvery) != nil {
			return
		}
	}
}

// at returns what a directory had checked out when it was looked at last; ok is false when it was not.
func (h *head) at(dir string) (out machine.CheckedOut, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.out, h.known && h.dir == dir
}

func (h *head) set(dir string, out machine.CheckedOut) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dir, h.out, h.known = dir, out, true
}

// request asks for a look, and reports whether the caller has to start looking.
func (h *head) request() (start bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	start = !h.busy
	h.busy, h.dirty = true, true
	return start
}

// take reports whether a look is due.
func (h *head) take() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy, h.dirty = h.dirty, false
	return h.busy
}

// publishBranch notifies all viewers of a session.
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
		tx.Apply(session, &ahp.SessionMetaChangedAction{Meta: withOwn(s.Meta, metaBranch, value)})
	})
	if err != nil && p.core.Ctx.Err() == nil {
		p.core.Log.Warn("the branch of a session is not shown", "session", session, "err", err)
	}
}

// readOwn reads a value under the host's own key of a `_meta`; what is absent stays as it is.
func readOwn(m ahp.Meta, key string, into any) {
	var own map[string]json.RawMessage
	if json.Unmarshal(m[core.MetaKey], &own) == nil {
		_ = json.Unmarshal(own[key], into)
	}
}

// withOwn is a `_meta` with another value under the host's own key; nil takes it away.
func withOwn(m ahp.Meta, key string, value any) ahp.Meta {
	own := map[string]json.RawMessage{}
	_ = json.Unmarshal(m[core.MetaKey], &own) // absent at first
	delete(own, key)
	if raw, err := json.Marshal(value); err == nil && value != nil {
		own[key] = raw
	}
	out := core.CloneMeta(m)
	delete(out, core.MetaKey)
	if raw, err := json.Marshal(own); err == nil && len(own) > 0 {
		out[core.MetaKey] = raw
	}
	return out
}
