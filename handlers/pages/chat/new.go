package chat

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/machine/place"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// ShowNew serves GET /new: the form, and a directory listing on request.
func (p *Pages) ShowNew(w http.ResponseWriter, r *http.Request) error {
	m := p.newForm(r, r.URL.Query())
	if r.Header.Get("X-Fragment") == "place" { // the reader chose another machine
		return site.Send(w, http.StatusOK, page.NewPlace(m))
	}
	if site.IsFragment(r) { // the reader chose another agent
		return site.Send(w, http.StatusOK, templ.Join(part.SettingFields(m.Config), part.WideNote(m.Wide)))
	}
	if r.FormValue("browse") != "" {
		m.Browse = p.browse(r.Context(), m.Machine, m.Dir)
	}
	return site.Send(w, http.StatusOK, page.NewPage(m))
}

// newForm fills in the form with the choices made so far.
func (p *Pages) newForm(r *http.Request, chosen url.Values) page.New {
	c := p.CallerOf(r.Context())
	m := page.New{Frame: p.Frame(r, "New session", "new"), Message: chosen.Get("message")}
	dir := p.choosePlace(&m, chosen, p.RecentDirs(p.Host.Summaries(c)))
	m.Signs = map[string]string{}
	for _, a := range m.Agents {
		if sign := p.Host.AgentIcon(a.Provider); sign != "" {
			m.Signs[a.Provider] = sign
		}
	}
	m.First = p.first
	m.First.Show = p.HasOnlyShell() && len(m.First.LookedFor) > 0
	if c.Role == access.RoleOwner {
		m.Setup = p.Setup
		m.Unsigned = p.unsigned(m.Agents)
	}
	m.Frame.Styles = append(m.Frame.Styles, "css/compose.css", "css/new.css")
	m.Frame.Scripts = append(m.Frame.Scripts, "js/new.js", "js/options.js", "js/chat-attach.js")
	m.Wide = p.Files.IsWide([]ahp.URI{site.FileURI(dir)})
	if res, err := p.Host.ResolveSessionConfig(c, ahp.ResolveSessionConfigParams{Channel: ahp.RootURI,
		Provider: m.Agent}); err == nil {
		m.Config = p.offered(r.Context(), part.SettingsOf(res.Schema, site.ConfigOf(chosen, res.Schema), false,
			host.Unasked), m.Agent, dir)
	}
	return m
}

// unsigned returns the agents that last asked for a login.
func (p *Pages) unsigned(agents []ahp.AgentInfo) map[string]bool {
	out := map[string]bool{}
	for _, a := range agents {
		if p.needsLogin != nil && p.needsLogin(a.Provider) {
			out[a.Provider] = true
		}
	}
	return out
}

// offered fills in the host's completions for free-text settings, in a directory.
func (p *Pages) offered(ctx context.Context, list []part.Setting, agent, dir string) []part.Setting {
	for i, s := range list {
		if !s.Open || !strings.HasPrefix(dir, "/") {
			continue
		}
		res, err := p.Host.SessionConfigCompletions(ctx, p.CallerOf(ctx),
			ahp.SessionConfigCompletionsParams{Channel: ahp.RootURI, Provider: agent,
				WorkingDirectory: site.FileURI(dir), Property: s.Key})
		if err != nil {
			continue // the field accepts text without them
		}
		list[i].Choices = nil
		for _, item := range res.Items {
			list[i].Choices = append(list[i].Choices, part.Choice{Value: item.Value, Label: item.Label,
				Hint: item.Description})
		}
	}
	return list
}

// browse lists the directories inside a directory of a machine, with the caller's rights.
func (p *Pages) browse(ctx context.Context, machine, dir string) page.Browse {
	b := page.Browse{Open: true, Dir: path.Clean("/" + dir)}
	if b.Dir != "/" {
		b.Parent = path.Dir(b.Dir)
	}
	l, ok := any(p.Host).(lister)
	if !ok {
		b.Error = "Directories can't be listed here. Enter the path."
		return b
	}
	at, err := place.JoinPath(machine, b.Dir)
	if err != nil {
		b.Error = site.Classify(err).Text
		return b
	}
	res, err := l.ResourceList(ctx, p.CallerOf(ctx), ahp.ResourceListParams{Channel: ahp.RootURI, URI: site.FileURI(at)})
	if err != nil {
		b.Error = site.Classify(err).Text
		return b
	}
	for _, e := range res.Entries {
		if e.Type == ahp.ResourceTypeDirectory && !strings.HasPrefix(e.Name, ".") {
			b.Names = append(b.Names, e.Name)
		}
	}
	slices.Sort(b.Names)
	return b
}

// lister is the part of the host that reads directories.
type lister interface {
	ResourceList(context.Context, core.Caller, ahp.ResourceListParams) (ahp.ResourceListResult, error)
}

// CreateSession serves POST /new: it creates the session, sends the first message and redirects there. On an error it
// sends the form again, with a message.
func (p *Pages) CreateSession(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, site.MaxForm)
	if err := site.ParseForm(r); err != nil {
		return &site.Fault{Status: http.StatusRequestEntityTooLarge, Text: "The form is too large. Send at most 2 MB.",
			Cause: err}
	}
	uri, err := p.startSession(r)
	if err != nil {
		f := site.Classify(err)
		if f.Status >= 500 || f.Status == http.StatusForbidden {
			return err
		}
		m := p.newForm(r, r.PostForm)
		m.Problem = f.Text
		if len(chosenFiles(r)) > 0 {
			m.Problem += " Then choose the files again."
		}
		return site.Send(w, f.Status, page.NewPage(m))
	}
	http.Redirect(w, r, "/s/"+core.ShortID(uri), http.StatusSeeOther)
	return nil
}

func (p *Pages) startSession(r *http.Request) (ahp.URI, error) {
	ctx, c := r.Context(), p.CallerOf(r.Context())
	dir := strings.TrimSpace(r.PostForm.Get("dir"))
	if !strings.HasPrefix(dir, "/") {
		return "", site.BadRequest("Enter the working directory as an absolute path, like /home/ana/project.")
	}
	dir, err := place.JoinPath(machineOf(r.PostForm), part.PathThere(dir))
	if err != nil {
		return "", err
	}
	attachments, err := attached(r)
	if err != nil {
		return "", err
	}
	agent := r.PostForm.Get("agent")
	res, err := p.Host.ResolveSessionConfig(c, ahp.ResolveSessionConfigParams{Channel: ahp.RootURI, Provider: agent})
	if err != nil {
		return "", err
	}
	uri := "ahp-session:/" + ids.New()
	params := ahp.CreateSessionParams{Channel: uri, Provider: agent, WorkingDirectories: []ahp.URI{site.FileURI(dir)}}
	if config := site.ConfigOf(r.PostForm, res.Schema); len(config) > 0 {
		params.Config = config
	}
	if err := p.Host.CreateSession(ctx, c, params); err != nil {
		return "", err
	}
	text := strings.TrimSpace(strings.ReplaceAll(r.PostForm.Get("message"), "\r\n", "\n"))
	if text == "" && len(attachments) == 0 {
		return uri, nil
	}
	first := userMessage(text)
	first.Attachments = attachments
	s, _ := hub.StateOf[*ahp.SessionState](p.Hub, uri)
	chat, ok := site.ChatByID(s, "")
	if !ok {
		return uri, nil // no chat for the message: the page shows why
	}
	return uri, p.Act(ctx, chat, &ahp.ChatTurnStartedAction{TurnID: ids.New(), StartedAt: p.Timestamp(),
		Message: first})
}
