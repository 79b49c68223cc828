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

// FileGrant is access that the owner granted outside of the directories of sessions. It is for the person, whichever
// client they use, and ends when it is revoked or the host stops.
type FileGrant struct {
	machine.FileGrant
	ID   string
	For  string // principal
	Name string // theirs
	By   string // who granted it
	At   time.Time
}

// grants are the requests that wait for the owner, and what came of earlier ones; all of it in memory alone.
type grants struct {
	mu       sync.Mutex
	asks     []*fileAsk // oldest first
	given    []FileGrant
	denied   map[fileQuestion]time.Time // until when asking again is refused at once
	watchers map[chan struct{}]struct{}
}

const (
	mostGrants  = 500
	mostDenied  = 500
	DeniedAgain = time.Minute
)

// FileGrants lists what is granted, newest first.
func (p *Part) FileGrants() []FileGrant {
	g := &p.grants
	g.mu.Lock()
	defer g.mu.Unlock()
	out := slices.Clone(g.given)
	slices.Reverse(out)
	return out
}

// RevokeFiles takes a grant back. Errors: -32009 the caller may not, -32008 there is none.
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

// reach returns the files a caller may use a method on: those open to them as far as the tables let them call it, and
// those granted to them.
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

// listGrants returns the caller's grants. Only accounts have some; guests get none.
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

// mayAskFor reports whether the owner is asked on the caller's behalf.
func mayAskFor(c core.Caller) bool {
	return access.MayCall(c.Principal, "resourceRequest", core.RootInfo) == nil && c.Link == ""
}

func mayGrant(c core.Caller) error {
	if !c.Has(access.RightManage) {
		return core.Denied(&access.Denied{Need: access.RightManage, Reason: "only the owner can give access to files"})
	}
	return nil
}

// WatchFiles ticks after every change of what is asked and granted; ticks not yet taken merge. Call cancel when done.
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

// tell is called with the lock held.
func (g *grants) tell() {
	for ch := range g.watchers {
		select {
		case ch <- struct{}{}:
		default: // it has not taken the last one
		}
	}
}

// give opens what was asked for; what that makes needless goes.
func (g *grants) give(f FileGrant) {
	g.given = slices.DeleteFunc(g.given, func(old FileGrant) bool {
		return old.For == f.For && old.Path == f.Path && (f.Write || !old.Write)
	})
	if len(g.given) >= mostGrants {
		g.given = g.given[1:]
	}
	g.given = append(g.given, f)
}

// deny remembers a no for a while, so that a client that asks again and again does not nag.
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
