package files

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/texts"
)

// Limits of requests that wait for the owner. Requests that joined another one count too.
const (
	FileAskFor         = 2 * time.Minute
	MostFileAsks       = 32
	MostFileAsksClient = 8
	MostFileAsksPerson = 16
)

// fileQuestion identifies a request; equal questions are merged.
type fileQuestion struct {
	who   string // principal
	path  string
	write bool
}

// FileAsk is a request for files that waits for the owner.
type FileAsk struct {
	ID     string
	Name   string  // of the person who asks
	Client string  // id of the client that asked first
	Path   string  // with symbolic links resolved
	URI    ahp.URI // as requested
	Dir    bool
	Write  bool
	At     time.Time

	// Repository is the repository's file that leads to the path, or "" for a client's request;
	// Session is its session.
	Repository string
	Session    ahp.URI
}

// Words returns the request in one line, without the path, as it may be sent outside the host.
func (a FileAsk) Words() string {
	if a.Repository != "" {
		return "A repository leads out of its session's directories"
	}
	do := "read"
	if a.Write {
		do = "read and write"
	}
	return a.Name + " asks to " + do + " " + filepath.Base(a.Path)
}

// fileAsk is a request and its waiting clients.
type fileAsk struct {
	FileAsk
	question fileQuestion
	waiting  []string      // clientIds, one for each request
	until    time.Time     // expiry; zero: never
	answered chan struct{} // closed by the answer
	granted  bool
}

// FileAsks returns the requests that wait for the owner, oldest first.
func (p *Part) FileAsks() []FileAsk {
	g := &p.grants
	g.dropForgotten(p.core.Now())
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]FileAsk, len(g.asks))
	for i, a := range g.asks {
		out[i] = a.FileAsk
	}
	return out
}

// AnswerFileAsk grants a request, until the host stops or the grant is revoked, or denies it.
// Errors: -32009 not allowed, -32008 no such request.
func (p *Part) AnswerFileAsk(c core.Caller, id string, grant bool) (FileAsk, error) {
	if err := mayGrant(c); err != nil {
		return FileAsk{}, err
	}
	a := p.grants.answer(id, grant, c.Name, p.core.Now())
	if a == nil {
		return FileAsk{}, ahp.Errorf(ahp.CodeNotFound, "this request was already answered or has expired")
	}
	if grant {
		p.lookAgain(a.question.who)
	}
	p.core.Log.Info("a request for files was answered", "path", a.Path, "write", a.Write,
		"for", a.question.who, "granted", grant, "by", c.Principal)
	return a.FileAsk, nil
}

func (g *grants) answer(id string, grant bool, by string, now time.Time) *fileAsk {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.asks, func(a *fileAsk) bool { return a.ID == id })
	if i < 0 {
		return nil
	}
	a := g.asks[i]
	g.asks = slices.Delete(g.asks, i, i+1)
	if a.granted = grant; grant {
		g.give(FileGrant{machine.FileGrant{Path: a.Path, Dir: a.Dir, Write: a.Write}, a.ID, a.question.who, a.Name, by,
			now})
	} else {
		g.deny(a.question, now.Add(a.denialTime()), now)
	}
	close(a.answered)
	g.tell()
	return a
}

// askOwner presents a request to the owner and waits for the answer. Files that are closed to
// everyone are refused at once.
func (p *Part) askOwner(ctx context.Context, c core.Caller, params ahp.ResourceRequestParams, write bool) error {
	found, err := p.cfg.Files.Look(ctx, params.URI)
	if err != nil {
		known, ok := errors.AsType[*ahp.Error](err)
		if !ok {
			return err
		}
		return denyGrant(params, known.Message)
	}
	if found.Closed != "" {
		return denyGrant(params, found.Closed)
	}
	a, joined, err := p.grants.ask(FileAsk{ID: ids.New(), Name: c.Name, Client: texts.CutBytes(c.ClientID, 80),
		Path: found.Path, URI: params.URI, Dir: found.Dir, Write: write, At: p.core.Now()}, c)
	if err != nil {
		return denyGrant(params, err.Error())
	}
	defer p.grants.leave(a, c.ClientID)
	if !joined && p.cfg.Asked != nil {
		if err := p.core.Hub.Do(func(tx *hub.Tx) { p.cfg.Asked(tx, a.FileAsk) }); err != nil {
			// the inbox still shows it
			p.core.Log.Warn("cannot notify about a client's request for files", "err", err)
		}
	}
	timer := time.NewTimer(FileAskFor)
	defer timer.Stop()
	select {
	case <-a.answered:
		if !a.granted {
			return denyGrant(params, "the owner declined")
		}
		return nil
	case <-timer.C:
		return denyGrant(params, "the owner didn't answer in time. Ask again; the request shows in the owner's inbox")
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.core.Ctx.Done():
		return core.ErrStopping
	}
}

// ask joins an equal request, or adds a new one.
func (g *grants) ask(f FileAsk, c core.Caller) (a *fileAsk, joined bool, err error) {
	q := fileQuestion{c.ID, f.Path, f.Write}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.checkAsk(q, c.ClientID, f.At); err != nil {
		return nil, false, err
	}
	for _, a := range g.asks {
		if a.question == q {
			a.waiting = append(a.waiting, c.ClientID)
			return a, true, nil
		}
	}
	if len(g.asks) >= MostFileAsks {
		return nil, false, errors.New("too many requests are waiting for the owner. Try again later")
	}
	a = &fileAsk{FileAsk: f, question: q, waiting: []string{c.ClientID}, answered: make(chan struct{})}
	g.asks = append(g.asks, a)
	g.tell()
	return a, false, nil
}

// checkAsk returns why a request is refused at once, or nil.
func (g *grants) checkAsk(q fileQuestion, client string, now time.Time) error {
	if now.Before(g.denied[q]) {
		return errors.New("the owner declined a moment ago")
	}
	person, mine := 0, 0
	for _, a := range g.asks {
		for _, id := range a.waiting {
			if a.question.who != q.who {
				continue
			}
			person++
			if id == client {
				mine++
			}
		}
	}
	if mine >= MostFileAsksClient || person >= MostFileAsksPerson {
		return errors.New("you have too many requests waiting. Wait until the owner has answered")
	}
	return nil
}

// leave ends one wait. The last one removes the request.
func (g *grants) leave(a *fileAsk, client string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(a.waiting, client); i >= 0 {
		a.waiting = slices.Delete(a.waiting, i, i+1)
	}
	if i := slices.Index(g.asks, a); i >= 0 && len(a.waiting) == 0 {
		g.asks = slices.Delete(g.asks, i, i+1)
		g.tell()
	}
}
