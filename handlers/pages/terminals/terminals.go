package terminals

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// sessionTerminals returns the terminals of a session, in the order of the root state.
func (p *Pages) sessionTerminals(session ahp.URI) (out []ahp.TerminalInfo) {
	root, _ := hub.StateOf[*ahp.RootState](p.Hub, ahp.RootURI)
	if root == nil {
		return nil
	}
	for _, t := range root.Terminals {
		if info, ok := p.Hub.Info(t.Resource); ok && info.Session == session {
			out = append(out, t)
		}
	}
	return out
}

// Lines lists a session's terminals for links to them.
func (p *Pages) Lines(v site.Visit) (out []page.TerminalLine) {
	for _, t := range p.sessionTerminals(v.Session) {
		if !p.IsVisible(v.Who, t.Resource, v.Session, ahp.ChannelTerminal) {
			continue
		}
		l := page.TerminalLine{Href: "/s/" + v.Short + "/t/" + part.Tail(t.Resource),
			Title:   cmp.Or(t.Title, "Terminal"),
			Running: t.Lifecycle.Status == ahp.TerminalLifecycleStatusRunning, Exit: t.Lifecycle.ExitCode,
			Unconfined: p.Host.IsUnconfined(t.Resource)}
		if holder, ok := t.Claim.Value.(*ahp.TerminalClientClaim); ok {
			l.Holder, l.HolderID = p.clientName(v.Session, holder.ClientID), holder.ClientID
			if id, isPage := core.PageOwner(holder.ClientID); isPage {
				l.HolderID = id
			}
		}
		out = append(out, l)
	}
	return out
}

// clientName returns the name of a client that holds a terminal: for a person's page, the person's name.
func (p *Pages) clientName(session ahp.URI, client string) string {
	id, isPage := core.PageOwner(client)
	if !isPage {
		return client
	}
	for _, x := range p.Presence.People(session) {
		if x.ID == id {
			return x.Name
		}
	}
	return "Someone who left"
}

// Find returns a terminal of a session by the end of its URI.
func (p *Pages) Find(v site.Visit, id string) (ahp.URI, error) {
	for _, t := range p.sessionTerminals(v.Session) {
		if part.Tail(t.Resource) == id && p.IsVisible(v.Who, t.Resource, v.Session, ahp.ChannelTerminal) {
			return t.Resource, nil
		}
	}
	return "", site.NotFound("Terminal not found in this session.")
}

// Show serves GET /s/{session}/t and /s/{session}/t/{terminal}?with={another}: the tabs, and one or two terminals.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	f, head, sess, err := p.SessionFrame(r, v, "terminals")
	if err != nil {
		return err
	}
	m := page.Terminals{Session: head, List: p.Lines(v), Dirs: localDirs(sess), Shells: p.Host.Shells(),
		Commands: commandsOpen(w, r), Sandboxed: p.Sandboxes.IsSandboxed(v.Session)}
	rooms := []string{"terminals:" + v.Short}
	for _, id := range shownTerminals(r, m.List) {
		t, err := p.terminal(r.Context(), v, id)
		if err != nil {
			return err
		}
		m.Shown = append(m.Shown, t)
		rooms = append(rooms, "terminal:"+v.Short+":"+id)
	}
	for _, name := range rooms {
		mark, err := p.Live.Draw(r.Context(), v.Who, name, func(live.Room, live.States) {})
		if err != nil {
			return err
		}
		f.Live = live.AddToQuery(f.Live, mark)
	}
	shown := ""
	if len(m.Shown) > 0 {
		shown = m.Shown[0].ID
	}
	if err := p.ShowPeople(r.Context(), v, &f, shown); err != nil {
		return err
	}
	f.Styles, f.Scripts = append(f.Styles, "css/term-page.css"), append(f.Scripts, "js/term-page.js")
	m.Frame = f
	return site.Send(w, http.StatusOK, page.TerminalsPage(m))
}

// shownTerminals returns the terminals in an address: one, two side by side or, if none are named, the newest running
// one.
func shownTerminals(r *http.Request, list []page.TerminalLine) []string {
	ids := slices.DeleteFunc([]string{chi.URLParam(r, "terminal"), r.FormValue("with")},
		func(s string) bool { return s == "" })
	if len(ids) > 0 || len(list) == 0 {
		return slices.Compact(ids)
	}
	newest := list[len(list)-1]
	for _, t := range slices.Backward(list) {
		if t.Running {
			newest = t
			break
		}
	}
	return []string{part.Tail(newest.Href)}
}

// commandsOpen reports whether the list of commands is shown; a cookie keeps the last choice.
func commandsOpen(w http.ResponseWriter, r *http.Request) bool {
	if choice := r.FormValue("commands"); choice == "on" || choice == "off" {
		http.SetCookie(w, &http.Cookie{Name: "commands", Value: choice, Path: "/", MaxAge: 365 * 24 * 3600,
			SameSite: http.SameSiteLaxMode})
		return choice == "on"
	}
	c, err := r.Cookie("commands")
	return err == nil && c.Value == "on"
}

// localDirs returns the working directories that a terminal may open in.
func localDirs(s *ahp.SessionState) (out []string) {
	for _, d := range s.WorkingDirectories {
		dir, _ := core.FilePath(d)
		out = append(out, dir)
	}
	return out
}

// terminal returns one terminal for a viewer's page.
func (p *Pages) terminal(ctx context.Context, v site.Visit, id string) (page.Terminal, error) {
	uri, err := p.Find(v, id)
	if err != nil {
		return page.Terminal{}, err
	}
	if err := p.Prepare(ctx, v.Who, uri); err != nil {
		return page.Terminal{}, err
	}
	t, s := p.terminalView(v.Session, uri)
	if s == nil {
		return page.Terminal{}, live.ErrGone
	}
	k := p.keyboard(v.Who, v.Session, uri, s)
	t.Mine, t.Asked = k.Mine, k.Asked
	t.Text = p.Host.ScreenText(ctx, uri, terminalText(s, 64<<10))
	t.Frame = "/s/" + v.Short + "/t/" + id + "/frame"
	return t, nil
}

// terminalView returns a terminal as all viewers see it, and its state; nil when it is gone.
func (p *Pages) terminalView(session, uri ahp.URI) (page.Terminal, *ahp.TerminalState) {
	s, ok := hub.StateOf[*ahp.TerminalState](p.Hub, uri)
	if !ok {
		return page.Terminal{}, nil
	}
	t := page.Terminal{ID: part.Tail(uri), Title: cmp.Or(s.Title, "Terminal"), Cwd: part.FilePath(s.Cwd),
		Held:    heldBy(s),
		Running: s.Lifecycle.Status == ahp.TerminalLifecycleStatusRunning, Commands: p.commandsOf(uri),
		Detects: s.SupportsCommandDetection != nil && *s.SupportsCommandDetection}
	ticks, cancel := p.Host.Changes(uri)
	cancel()
	t.Restarted, t.Unconfined = ticks == nil, p.Host.IsUnconfined(uri)
	t.Status = page.TerminalLine{Running: t.Running, Exit: s.Lifecycle.ExitCode}.Status()
	if holder, ok := s.Claim.Value.(*ahp.TerminalClientClaim); ok {
		t.Holder = p.clientName(session, holder.ClientID)
	}
	for _, a := range p.Host.Asks(uri) {
		if !a.Denied {
			t.Asks = append(t.Asks, page.TerminalAsk{Client: a.Client, Name: a.By.Name})
		}
	}
	return t, s
}

func heldBy(s *ahp.TerminalState) string {
	if s.Lifecycle.Status == ahp.TerminalLifecycleStatusExited {
		return page.HeldNoMore
	}
	switch claim := s.Claim.Value.(type) {
	case *ahp.TerminalClientClaim:
		return page.HeldByPerson
	case *ahp.TerminalSessionClaim:
		if claim.ToolCallID != "" {
			return page.HeldByAgent
		}
	}
	return page.HeldByNobody
}

const mostCommands = 100 // most commands in a terminal's list

// commandsOf returns the newest commands that a shell reported, oldest first.
func (p *Pages) commandsOf(uri ahp.URI) (out []page.TerminalCommand) {
	all := p.Host.Commands(uri)
	for _, c := range all[max(0, len(all)-mostCommands):] {
		if strings.TrimSpace(c.Line) == "" {
			continue
		}
		cmd := page.TerminalCommand{ID: c.ID, Line: c.Line, Running: c.IsRunning(), Exit: c.ExitCode}
		if c.Duration != nil {
			cmd.Took = *c.Duration
		}
		out = append(out, cmd)
	}
	return out
}

// terminalText returns the end of a terminal's output, at most n bytes.
func terminalText(s *ahp.TerminalState, n int) string {
	var pieces []string
	for i := len(s.Content) - 1; i >= 0 && n > 0; i-- {
		var text, before string
		switch v := s.Content[i].Value.(type) {
		case *ahp.TerminalUnclassifiedPart:
			text = v.Value.String()
		case *ahp.TerminalCommandPart:
			text, before = v.Output.String(), machine.CommandPlace(v.CommandID)
		}
		if len(text) > n {
			text, before = text[len(text)-n:], ""
		}
		n -= len(text)
		pieces = append(pieces, before+text)
	}
	var b strings.Builder
	for i := len(pieces) - 1; i >= 0; i-- {
		b.WriteString(pieces[i])
	}
	return b.String()
}

// Title returns the title of a session's terminal.
func (p *Pages) Title(session, terminal ahp.URI) string {
	for _, t := range p.sessionTerminals(session) {
		if t.Resource == terminal {
			return t.Title
		}
	}
	return ""
}
