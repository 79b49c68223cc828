package pages

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// newSession is GET /new: the form, and a directory listing when asked for.
func (p *Pages) newSession(w http.ResponseWriter, r *http.Request) error {
	m := p.newForm(r, r.URL.Query())
	if fragment(r) { // another agent was chosen
		return send(w, http.StatusOK, templ.Join(part.SettingFields(m.Config), part.WideNote(m.Wide)))
	}
	if r.FormValue("browse") != "" {
		m.Browse = p.browse(r.Context(), m.Dir)
	}
	return send(w, http.StatusOK, page.NewPage(m))
}

// newForm fills the form in with what somebody chose so far.
func (p *Pages) newForm(r *http.Request, chosen url.Values) page.New {
	c := p.caller(r.Context())
	m := page.New{Frame: p.frame(r, "New session", "new"), Agents: p.agents(), Message: chosen.Get("message"), Recent: recentDirs(p.Host.Summaries(c))}
	m.Signs = map[string]string{}
	for _, a := range m.Agents {
		if sign := p.Host.AgentIcon(a.Provider); sign != "" {
			m.Signs[a.Provider] = sign
		}
	}
	m.Frame.Scripts = append(m.Frame.Scripts, "js/new.js", "js/chat-attach.js")
	m.Dir = cmp.Or(chosen.Get("dir"), first(m.Recent), p.DefaultDir)
	m.Wide = host.IsWide([]ahp.URI{fileURI(m.Dir)})
	m.Agent = chosen.Get("agent")
	if m.Agent == "" && len(m.Agents) > 0 {
		m.Agent = m.Agents[0].Provider
	}
	if res, err := p.Host.ResolveSessionConfig(c, ahp.ResolveSessionConfigParams{Channel: ahp.RootURI, Provider: m.Agent}); err == nil {
		m.Config = p.offered(r.Context(), part.SettingsOf(res.Schema, configOf(chosen, res.Schema), false, host.Unasked), m.Agent, m.Dir)
	}
	return m
}

// offered fills in what the host offers for settings that take any text, in a directory.
func (p *Pages) offered(ctx context.Context, list []part.Setting, agent, dir string) []part.Setting {
	for i, s := range list {
		if !s.Open || !strings.HasPrefix(dir, "/") {
			continue
		}
		res, err := p.Host.SessionConfigCompletions(ctx, p.caller(ctx), ahp.SessionConfigCompletionsParams{Channel: ahp.RootURI, Provider: agent,
			WorkingDirectory: fileURI(dir), Property: s.Key})
		if err != nil {
			continue // the field takes what is typed, all the same
		}
		list[i].Choices = nil
		for _, item := range res.Items {
			list[i].Choices = append(list[i].Choices, part.Choice{Value: item.Value, Label: item.Label, Hint: item.Description})
		}
	}
	return list
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

const mostRecent = 8

func recentDirs(list []ahp.SessionSummary) (out []string) {
	for _, s := range list {
		for _, d := range s.WorkingDirectories {
			if dir := part.FilePath(d); !slices.Contains(out, dir) && len(out) < mostRecent {
				out = append(out, dir)
			}
		}
	}
	return out
}

// configOf reads the fields "config.<key>" by the schema's types.
func configOf(form url.Values, schema ahp.SessionConfigSchema) ahp.Meta {
	out := ahp.Meta{}
	for key, prop := range schema.Properties {
		v, ok := form["config."+key]
		if !ok || v[0] == "" {
			continue
		}
		raw, err := json.Marshal(v[0])
		switch {
		case prop.Type == "boolean":
			raw, err = json.Marshal(v[0] == "true")
		case prop.Type == "number" && json.Valid([]byte(v[0])):
			raw = json.RawMessage(v[0]) // what is no number stays text, which the host refuses with the setting's name
		}
		if err == nil {
			out[key] = raw
		}
	}
	return out
}

// browse lists the directories inside one, by the host's own rules of who may see what.
func (p *Pages) browse(ctx context.Context, dir string) page.Browse {
	b := page.Browse{Open: true, Dir: path.Clean("/" + dir)}
	if b.Dir != "/" {
		b.Parent = path.Dir(b.Dir)
	}
	l, ok := any(p.Host).(lister)
	if !ok {
		b.Error = "This host does not list directories: type the path."
		return b
	}
	res, err := l.ResourceList(ctx, p.caller(ctx), ahp.ResourceListParams{Channel: ahp.RootURI, URI: fileURI(b.Dir)})
	if err != nil {
		b.Error = classify(err).text
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

func fileURI(dir string) ahp.URI { return (&url.URL{Scheme: "file", Path: path.Clean(dir)}).String() }

// createSession is POST /new: it makes the session, says the first message and goes there. What is wrong comes back
// as the same form with a sentence.
func (p *Pages) createSession(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	if err := parseForm(r); err != nil {
		return &fault{http.StatusRequestEntityTooLarge, "This is too much for one form: at most 2 MB.", err}
	}
	uri, err := p.startSession(r)
	if err != nil {
		f := classify(err)
		if f.status >= 500 || f.status == http.StatusForbidden {
			return err
		}
		m := p.newForm(r, r.PostForm)
		m.Problem = f.text
		if len(files(r)) > 0 {
			m.Problem += " Then choose the files again."
		}
		return send(w, f.status, page.NewPage(m))
	}
	http.Redirect(w, r, "/s/"+core.ShortID(uri), http.StatusSeeOther)
	return nil
}

func (p *Pages) startSession(r *http.Request) (ahp.URI, error) {
	ctx, c := r.Context(), p.caller(r.Context())
	dir := strings.TrimSpace(r.PostForm.Get("dir"))
	if !strings.HasPrefix(dir, "/") {
		return "", errBadRequest("Give the working directory as an absolute path, like /home/ana/project.")
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
	params := ahp.CreateSessionParams{Channel: uri, Provider: agent, WorkingDirectories: []ahp.URI{fileURI(dir)}}
	if config := configOf(r.PostForm, res.Schema); len(config) > 0 {
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
	chat, ok := chatByID(s, "")
	if !ok {
		return uri, nil // it has no chat to say it in: the page says why
	}
	return uri, p.act(ctx, chat, &ahp.ChatTurnStartedAction{TurnID: ids.New(), StartedAt: p.stamp(), Message: first})
}
