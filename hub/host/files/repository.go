package files

import (
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/machine"
)

// Limits of requests for repositories that lead outside. No caller waits for the answer: the
// changes are shown after it. A request is dropped when the repository is read without needing it.
const (
	mostRepositoryAsks    = 16
	MostRepositoryAsksOne = 2 // per session
	deniedRepository      = 24 * time.Hour
	forgottenRepository   = 10 * time.Minute // expiry of requests for unknown sessions
)

// nameRepository returns the reader's name in requests and grants: git, through a file of a
// repository.
func nameRepository(by string) string { return "Git, through " + by }

// repositoryHolder returns the holder of a repository's grants: the file that leads outside, for
// all viewers.
func repositoryHolder(by string) string { return "repository:" + by }

// MayLeadTo reports whether the owner lets a session's repository lead outside its directories. If
// the owner has not answered yet, it adds a request to the inbox.
func (p *Part) MayLeadTo(session ahp.URI, out machine.Outside) bool {
	found, err := p.cfg.Files.Look(p.core.Ctx, core.FileURI(out.Path))
	if err != nil || found.Closed != "" {
		return false
	}
	a := FileAsk{ID: ids.New(), Name: nameRepository(out.By), Path: out.Path, URI: core.FileURI(out.Path),
		Dir: found.Dir, At: p.core.Now(), Repository: out.By, Session: session}
	granted, asked := p.grants.repository(a, p.isAlive)
	if asked && p.cfg.Asked != nil {
		if err := p.core.Hub.Do(func(tx *hub.Tx) { p.cfg.Asked(tx, a) }); err != nil {
			p.core.Log.Warn("the owner finds a question in the inbox alone", "err", err)
		}
	}
	return granted
}

// GrantedOutside returns the paths to which the owner lets repositories lead.
func (p *Part) GrantedOutside() (out []machine.Outside) {
	g := &p.grants
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.given {
		if by, of := strings.CutPrefix(f.For, repositoryHolder("")); of {
			out = append(out, machine.Outside{By: by, Path: f.Path})
		}
	}
	return out
}

func (p *Part) isAlive(session ahp.URI) bool { return p.core.Catalogue.Alive(session) != nil }

// repository returns whether there is a grant. Otherwise it adds the request, unless it exists, was
// denied, or there are too many.
func (g *grants) repository(f FileAsk, alive func(ahp.URI) bool) (granted, asked bool) {
	q := fileQuestion{who: repositoryHolder(f.Repository), path: f.Path}
	isAlive := f.Session != "" && alive(f.Session)
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.ContainsFunc(g.given, func(had FileGrant) bool { return had.For == q.who && had.Path == q.path }) {
		return true, false
	}
	if f.Session == "" || f.At.Before(g.denied[q]) {
		return false, false
	}
	all, mine := 0, 0
	for _, a := range g.asks {
		switch {
		case a.question == q:
			return false, false
		case a.Repository != "" && a.Session == f.Session:
			mine++
			fallthrough
		case a.Repository != "":
			all++
		}
	}
	if all >= mostRepositoryAsks || mine >= MostRepositoryAsksOne {
		return false, false
	}
	a := &fileAsk{FileAsk: f, question: q, answered: make(chan struct{})}
	if !isAlive {
		a.until = f.At.Add(forgottenRepository)
	}
	g.asks = append(g.asks, a)
	g.tell()
	return false, true
}

// SettleRepository drops the open requests of a session's repository after reading it needed no
// grant.
func (p *Part) SettleRepository(session ahp.URI) { p.grants.settleRepository(session) }

// settleRepository drops the requests of a session's repositories.
func (g *grants) settleRepository(session ahp.URI) {
	g.dropAsks(func(a *fileAsk) bool { return a.Repository != "" && a.Session == session })
}

// dropForgotten drops expired requests.
func (g *grants) dropForgotten(now time.Time) {
	g.dropAsks(func(a *fileAsk) bool { return !a.until.IsZero() && now.After(a.until) })
}

func (g *grants) dropAsks(which func(*fileAsk) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	had := len(g.asks)
	if g.asks = slices.DeleteFunc(g.asks, which); len(g.asks) != had {
		g.tell()
	}
}

// denialTime returns how long a denied request is not repeated.
func (a *fileAsk) denialTime() time.Duration {
	if a.Repository != "" {
		return deniedRepository
	}
	return DeniedAgain
}

// lookAgain recomputes the changes of all sessions after the owner's decision on a repository.
func (p *Part) lookAgain(who string) {
	if !strings.HasPrefix(who, repositoryHolder("")) {
		return
	}
	p.cfg.RefreshChanges()
}
