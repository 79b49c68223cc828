package files

import (
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// FileGrant is access that the owner granted outside the sessions' directories. It applies to a
// person with any client, and ends when it is revoked or the host stops.
type FileGrant struct {
	machine.FileGrant
	ID   string
	For  string // principal
	Name string // name of that principal
	By   string // who granted it
	At   time.Time
}

// grants holds pending requests, grants and denials, only in memory.
type grants struct {
	mu       sync.Mutex
	asks     []*fileAsk // oldest first
	given    []FileGrant
	denied   map[fileQuestion]time.Time // until when repeated requests are refused at once
	watchers map[chan struct{}]struct{}
}

const (
	mostGrants  = 500
	mostDenied  = 500
	DeniedAgain = time.Minute
)

// FileGrants returns the grants, newest first.
func (p *Part) FileGrants() []FileGrant {
	g := &p.grants
	g.mu.Lock()
	defer g.mu.Unlock()
	out := slices.Clone(g.given)
	slices.Reverse(out)
	return out
}

// RevokeFiles revokes a grant. Errors: -32009 not allowed, -32008 no such grant.
func (p *Part) RevokeFiles(c core.Caller, id string) (FileGrant, error) {
	if err := mayGrant(c); err != nil {
		return FileGrant{}, err
	}
	gone := p.revoke(func(f FileGrant) bool { return f.ID == id })
	if len(gone) == 0 {
		return FileGrant{}, ahp.Errorf(ahp.CodeNotFound, "this access was already revoked")
	}
	p.lookAgain(gone[0].For)
	p.core.Log.Info("files are not open any more", "path", gone[0].Path, "for", gone[0].For, "by", c.Principal)
	return gone[0], nil
}

// RevokeFilesOf revokes all grants of a removed account.
func (p *Part) RevokeFilesOf(principal string) {
	p.revoke(func(f FileGrant) bool { return f.For == principal })
}

func (p *Part) revoke(which func(FileGrant) bool) (gone []FileGrant) {
	g := &p.grants
	g.mu.Lock()
	defer g.mu.Unlock()
	g.given = slices.DeleteFunc(g.given, func(f FileGrant) bool {
		if which(f) {
			gone = append(gone, f)
			return true
		}
		return false
	})
	g.tell()
	return gone
}

// reach returns the files on which a caller may use a method: open ones if the rights tables allow
// the method, and granted ones.
func (p *Part) reach(c core.Caller, method string) (machine.FileReach, error) {
	about := core.RootInfo
	if method == "resourceRead" {
		about = p.wholeScope(c)
	}
	f, granted := machine.FileReach{}, p.listGrants(c)
	err := c.MayCall(method, about)
	if err == nil {
		f = p.files(c)
	} else if len(granted) == 0 {
		return f, err
	}
	f.Granted = granted
	return f, nil
}

// listGrants returns the caller's grants. Only accounts have grants, not guests.
func (p *Part) listGrants(c core.Caller) (out []machine.FileGrant) {
	if !mayAskFor(c) {
		return nil
	}
	g := &p.grants
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.given {
		if f.For == c.ID {
			out = append(out, f.FileGrant)
		}
	}
	return out
}

// mayAskFor reports whether the caller may request files from the owner.
func mayAskFor(c core.Caller) bool {
	return access.MayCall(c.Principal, "resourceRequest", core.RootInfo) == nil && c.Link == ""
}

func mayGrant(c core.Caller) error {
	if !c.Has(access.RightManage) {
		return core.Denied(&access.Denied{Need: access.RightManage, Reason: "only the owner can give access to files"})
	}
	return nil
}

// WatchFiles ticks after every change of requests and grants; pending ticks merge. Call cancel when
// done.
func (p *Part) WatchFiles() (changed <-chan struct{}, cancel func()) {
	g, ch := &p.grants, make(chan struct{}, 1)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watchers == nil {
		g.watchers = map[chan struct{}]struct{}{}
	}
	g.watchers[ch] = struct{}{}
	return ch, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.watchers, ch)
	}
}

// tell wakes watchers. g.mu is held.
func (g *grants) tell() {
	for ch := range g.watchers {
		select {
		case ch <- struct{}{}:
		default: // a tick is already pending
		}
	}
}

// give adds a grant and removes grants that it replaces.
func (g *grants) give(f FileGrant) {
	g.given = slices.DeleteFunc(g.given, func(old FileGrant) bool {
		return old.For == f.For && old.Path == f.Path && (f.Write || !old.Write)
	})
	if len(g.given) >= mostGrants {
		g.given = g.given[1:]
	}
	g.given = append(g.given, f)
}

// deny refuses repeated requests for a while, so that clients do not bother the owner.
func (g *grants) deny(q fileQuestion, until, now time.Time) {
	if g.denied == nil {
		g.denied = map[fileQuestion]time.Time{}
	}
	for old, end := range g.denied {
		if !now.Before(end) {
			delete(g.denied, old)
		}
	}
	if len(g.denied) < mostDenied {
		g.denied[q] = until
	}
}
