package terminals

import (
	"context"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/machine/place"
	"github.com/ahphub/ahphub/templ/part"
)

// promptTime is how long to wait for a new shell's prompt before typing the login command.
const promptTime = 3 * time.Second

// OpenLogin serves POST /s/{session}/t/login: it opens a shell for the owner and types the command that logs in to
// the session's agent. The owner reads it and presses Enter. The shell is outside of the session's sandbox, like the
// credentials. It starts in the home directory, since files that agents wrote into the session's directory could make
// the program run other commands.
func (p *Pages) OpenLogin(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	if err := p.Prepare(ctx, v.Who, v.Session); err != nil {
		return err
	}
	s := p.SessionState(v.Session)
	chat, ok := site.ChatByID(s, "")
	if !ok {
		return site.NotFound("This session has no chat that can own a terminal.")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	cwd, line := core.FileURI(home), p.logins[s.Provider]
	if machine, agent := place.SplitProvider(s.Provider); machine != "" {
		cwd, line = "", loginThere(p.logins[agent])
	}
	params := ahp.CreateTerminalParams{Channel: "ahp-terminal:/" + ids.New(), Name: "Log in",
		Cwd:   cwd,
		Claim: ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: v.Session, Chat: chat}},
		Meta:  ahp.Meta{"ahphub": []byte(`{"sandbox":"none"}`)}}
	if err := p.create(ctx, params); err != nil {
		return err
	}
	if line != "" {
		p.waitForPrompt(ctx, params.Channel)
		if err := p.typeKeys(ctx, v, params.Channel, line); err != nil {
			return err
		}
	}
	return site.FinishForm(w, r, "/s/"+v.Short+"/t/"+part.Tail(params.Channel))
}

// loginThere returns the command for another computer: from its home directory, found through its PATH.
func loginThere(line string) string {
	if line == "" {
		return "cd"
	}
	program, rest, _ := strings.Cut(line, " ")
	return strings.TrimSpace("cd && " + path.Base(program) + " " + rest)
}

// waitForPrompt waits until a shell has printed something. Before that, it would echo the keys twice.
func (p *Pages) waitForPrompt(ctx context.Context, uri ahp.URI) {
	ctx, cancel := context.WithTimeout(ctx, promptTime)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if s, ok := hub.StateOf[*ahp.TerminalState](p.Hub, uri); !ok || len(s.Content) > 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// typeKeys types into a terminal as the sender of the form.
func (p *Pages) typeKeys(ctx context.Context, v site.Visit, uri ahp.URI, keys string) error {
	conn, caller, err := p.typist(v.Who)
	if err != nil {
		return err
	}
	defer conn.Close(live.ErrGone)
	o, err := p.Site.Host.Dispatch(ctx, caller, uri, 1, &ahp.TerminalInputAction{Data: keys})
	if err == nil && o.Rejected != "" {
		err = site.Refused(o.Rejected)
	}
	return err
}
