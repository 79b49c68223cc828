package terminals

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/templ/part"
)

// OnTerminal returns a handler for a form of one terminal, which then redirects to the terminal's page.
func (p *Pages) OnTerminal(action func(r *http.Request, v site.Visit, uri ahp.URI) error) site.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		r.Body = http.MaxBytesReader(w, r.Body, 128<<10)
		v, err := p.FindVisit(r)
		if err != nil {
			return err
		}
		id := chi.URLParam(r, "terminal")
		uri, err := p.Find(v, id)
		if err != nil {
			return err
		}
		if err := action(r, v, uri); err != nil {
			return err
		}
		return site.FinishForm(w, r, "/s/"+v.Short+"/t/"+id)
	}
}

// Open serves POST /s/{session}/t: it opens a shell in the session and gives its opener control.
func (p *Pages) Open(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	if err := p.Prepare(r.Context(), v.Who, v.Session); err != nil {
		return err
	}
	s := p.SessionState(v.Session)
	chat, ok := site.ChatByID(s, "")
	if !ok {
		return site.NotFound("This session has no chat that can own a terminal.")
	}
	params := ahp.CreateTerminalParams{Channel: "ahp-terminal:/" + ids.New(),
		Name: strings.TrimSpace(r.PostFormValue("name")), Cwd: terminalDir(s, r.PostFormValue("dir")),
		Claim: ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: v.Session, Chat: chat}}}
	if shell, box := r.PostFormValue("shell"), r.PostFormValue("sandbox"); shell != "" || box != "" {
		own, err := json.Marshal(map[string]string{"shell": shell, "sandbox": box})
		if err != nil {
			return err
		}
		params.Meta = ahp.Meta{"ahphub": own}
	}
	if err := p.create(r.Context(), params); err != nil {
		return err
	}
	to := "/s/" + v.Short + "/t/" + part.Tail(params.Channel)
	if beside := r.PostFormValue("beside"); beside != "" {
		to = "/s/" + v.Short + "/t/" + part.Tail("x/"+beside) + "?with=" + part.Tail(params.Channel)
	}
	return site.FinishForm(w, r, to)
}

// create creates a terminal and gives its creator control.
func (p *Pages) create(ctx context.Context, params ahp.CreateTerminalParams) error {
	if err := p.Host.Create(ctx, p.CallerOf(ctx), params); err != nil {
		return err
	}
	return p.Host.Ask(p.CallerOf(ctx), params.Channel)
}

// terminalDir parses the directory of a form: absolute, or relative to the session's first directory.
func terminalDir(s *ahp.SessionState, dir string) ahp.URI {
	dir = strings.TrimSpace(dir)
	if dir == "" {
		return ""
	}
	if first := localDirs(s); !filepath.IsAbs(dir) && len(first) > 0 {
		dir = filepath.Join(first[0], dir)
	}
	return core.FileURI(filepath.Clean(dir))
}

// Close serves POST …/close.
func (p *Pages) Close(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	uri, err := p.Find(v, chi.URLParam(r, "terminal"))
	if err != nil {
		return err
	}
	if err := p.Host.Dispose(r.Context(), p.CallerOf(r.Context()),
		ahp.DisposeTerminalParams{Channel: uri}); err != nil {
		return err
	}
	return site.FinishForm(w, r, "/s/"+v.Short+"/t")
}

// CloseExited serves POST /s/{session}/t/exited: it closes all exited terminals.
func (p *Pages) CloseExited(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	for _, t := range p.sessionTerminals(v.Session) {
		if t.Lifecycle.Status != ahp.TerminalLifecycleStatusExited {
			continue
		}
		if err := p.Host.Dispose(r.Context(), p.CallerOf(r.Context()),
			ahp.DisposeTerminalParams{Channel: t.Resource}); err != nil {
			return err
		}
	}
	return site.FinishForm(w, r, "/s/"+v.Short+"/t")
}

// Claim serves POST …/claim, which changes who controls a terminal. "me" takes a free one, "session" releases it,
// "background" takes an agent's terminal from its tool call, which continues. "ask" and "withdraw" are for
// requesters, "grant" and "deny" for the holder, "take" for the owner.
func (p *Pages) Claim(r *http.Request, v site.Visit, uri ahp.URI) error {
	c, client := p.CallerOf(r.Context()), r.PostFormValue("client")
	switch r.PostFormValue("to") {
	case "session":
		chat, _ := site.ChatByID(p.SessionState(v.Session), "")
		return p.Host.Release(c, uri, chat)
	case "background":
		chat, _ := site.ChatByID(p.SessionState(v.Session), "")
		return p.Act(r.Context(), uri,
			&ahp.TerminalClaimedAction{Claim: ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: v.Session,
				Chat: chat}}})
	case "ask", "me":
		return p.Host.Ask(c, uri)
	case "withdraw":
		return p.Host.Withdraw(c, uri)
	case "take":
		return p.Host.Take(c, uri)
	case "grant":
		return p.Host.Grant(c, uri, client)
	case "deny":
		return p.Host.Deny(c, uri, client)
	}
	return site.BadRequest("Choose what to do with the terminal's control.")
}

// Rename serves POST …/rename.
func (p *Pages) Rename(r *http.Request, _ site.Visit, uri ahp.URI) error {
	return p.Host.Rename(p.CallerOf(r.Context()), uri, r.PostFormValue("title"))
}

// Clear serves POST …/clear.
func (p *Pages) Clear(r *http.Request, _ site.Visit, uri ahp.URI) error {
	return p.Host.Clear(p.CallerOf(r.Context()), uri)
}

// TypeLine serves POST …/input, for typing without JavaScript: one line and Enter.
func (p *Pages) TypeLine(r *http.Request, v site.Visit, uri ahp.URI) error {
	return p.typeKeys(r.Context(), v, uri, r.PostFormValue("line")+"\r")
}

// typist returns a new connection for typing: input is echoed only to its sender, so it needs one.
func (p *Pages) typist(who access.Principal) (*hub.Conn, core.Caller, error) {
	client := core.PageClient(who.ID) + ":" + ids.New()
	conn, err := p.Hub.Connect(hub.ConnConfig{Principal: who.ID, ClientID: client, Audience: who.Audience()})
	return conn, core.Caller{Principal: who, ClientID: client, Conn: conn}, err
}
