package settings

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/secret"
	"github.com/ahphub/ahphub/templ/page"
)

const secretsPath = "/settings/secrets"

// Secrets stores secrets for sessions.
type Secrets interface {
	List(owner string) []secret.Named
	Put(ctx context.Context, owner, name, value string, file bool) error
	Grant(ctx context.Context, owner, name string, sessions, dirs []string) error
	Remove(ctx context.Context, owner, name string) error
	// Rotate seals all secrets with a new key.
	Rotate(ctx context.Context) error
	// Key returns the id of the current key, its file if only the owner can change it, and whether all nodes of a
	// cluster have it.
	Key() (id, source string, shared bool)
}

// WithSecrets wraps h to answer 404 on a host without secrets.
func (p *Pages) WithSecrets(h site.Handler) site.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if p.secrets == nil {
			return site.NotFound("Secrets are turned off on this server.")
		}
		w.Header().Set("Cache-Control", "no-store")
		return h(w, r)
	}
}

// ShowSecrets serves GET /settings/secrets.
func (p *Pages) ShowSecrets(w http.ResponseWriter, r *http.Request) error {
	return p.sendSecrets(w, r, http.StatusOK, page.Secrets{})
}

func (p *Pages) sendSecrets(w http.ResponseWriter, r *http.Request, status int, m page.Secrets) error {
	who := access.FromContext(r.Context())
	m.Frame = p.Frame(r, "Secrets", "settings")
	m.Frame.Styles = append(m.Frame.Styles, "css/people.css")
	m.Key, m.Source, m.Shared = p.secrets.Key()
	for _, s := range p.Host.Listed(core.Caller{Principal: who}) {
		m.Sessions = append(m.Sessions, page.SecretSession{Short: core.ShortID(s.Resource), Title: site.SessionTitle(s.Title)})
	}
	for _, n := range p.secrets.List(who.ID) {
		one := page.Secret{Name: n.Name, File: n.File, Locked: n.Locked, Changed: n.Changed, Dirs: n.Dirs}
		for _, uri := range n.Sessions {
			if s, ok := p.Host.Summary(uri); ok {
				one.Sessions = append(one.Sessions, page.SecretSession{Short: core.ShortID(uri), Title: site.SessionTitle(s.Title)})
			}
		}
		m.Items = append(m.Items, one)
	}
	return site.Send(w, status, page.SecretsPage(m))
}

// listedSecret is a secret as listed for programs.
type listedSecret struct {
	Name     string   `json:"name"`
	File     bool     `json:"file"`
	Locked   bool     `json:"locked"`
	Sessions []string `json:"sessions"`
	Dirs     []string `json:"dirs"`
}

// ListSecrets serves GET /settings/secrets.json: names and grants, without values.
func (p *Pages) ListSecrets(w http.ResponseWriter, r *http.Request) error {
	out := []listedSecret{}
	for _, n := range p.secrets.List(access.FromContext(r.Context()).ID) {
		out = append(out, listedSecret{n.Name, n.File, n.Locked, append([]string{}, n.Sessions...), append([]string{}, n.Dirs...)})
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(out)
}

// SaveSecret creates a secret, or replaces its value. The value is never sent back.
func (p *Pages) SaveSecret(w http.ResponseWriter, r *http.Request) error {
	who, ctx := access.FromContext(r.Context()), r.Context()
	name, file := strings.TrimSpace(r.PostFormValue("name")), r.PostFormValue("as") == "file"
	replace := r.PostFormValue("replace") == "yes"
	has := slices.ContainsFunc(p.secrets.List(who.ID), func(n secret.Named) bool { return n.Name == name })
	sessions, dirs, err := p.readGrants(r)
	switch {
	case err != nil:
	case has && !replace:
		err = secret.Refusef("you already have a secret of this name. Replace its value instead")
	case replace && !has:
		err = secret.ErrNone
	default:
		audit.Detail(ctx, name)
		err = p.secrets.Put(ctx, who.ID, name, r.PostFormValue("secret"), file)
		if err == nil && !replace {
			err = p.secrets.Grant(ctx, who.ID, name, sessions, dirs)
		}
	}
	return p.finishSecret(w, r, err, page.Secrets{Name: name, File: file, Dirs: strings.Join(dirs, " ")})
}

// GrantSecret grants a secret to the sessions and directories of the form, and revokes all other grants.
func (p *Pages) GrantSecret(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "secret")
	audit.Detail(r.Context(), name)
	sessions, dirs, err := p.readGrants(r)
	if err == nil {
		err = p.secrets.Grant(r.Context(), access.FromContext(r.Context()).ID, name, sessions, dirs)
	}
	return p.finishSecret(w, r, err, page.Secrets{})
}

// readGrants reads the sessions and directories of a form.
func (p *Pages) readGrants(r *http.Request) (sessions, dirs []string, err error) {
	if err := r.ParseForm(); err != nil {
		return nil, nil, secret.Refusef("this form can't be read. Reload the page and try again")
	}
	for _, short := range r.PostForm["session"] {
		if short == "" {
			continue
		}
		uri, ok := p.Host.SessionByShort(short)
		if !ok || !site.Sees(access.FromContext(r.Context()), uri, uri, ahp.ChannelSession) {
			return nil, nil, secret.Refusef("there is no such session. Reload the page and try again")
		}
		sessions = append(sessions, uri)
	}
	for line := range strings.Lines(r.PostForm.Get("dirs")) {
		if line = strings.TrimSpace(line); line != "" {
			dirs = append(dirs, line)
		}
	}
	return sessions, dirs, nil
}

// RemoveSecret removes a secret.
func (p *Pages) RemoveSecret(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "secret")
	audit.Detail(r.Context(), name)
	err := p.secrets.Remove(r.Context(), access.FromContext(r.Context()).ID, name)
	if errors.Is(err, secret.ErrNone) {
		return site.NotFound(site.Sentence(err.Error()))
	}
	return p.finishSecret(w, r, err, page.Secrets{})
}

// RotateKey seals all secrets with a new key.
func (p *Pages) RotateKey(w http.ResponseWriter, r *http.Request) error {
	return p.finishSecret(w, r, p.secrets.Rotate(r.Context()), page.Secrets{})
}

// finishSecret answers a form; a refusal is shown above the entered fields, without the value.
func (p *Pages) finishSecret(w http.ResponseWriter, r *http.Request, err error, typed page.Secrets) error {
	if err == nil {
		return site.FinishForm(w, r, secretsPath)
	}
	if secret.IsRefused(err) {
		typed.Error = site.Sentence(err.Error())
		return p.sendSecrets(w, r, http.StatusUnprocessableEntity, typed)
	}
	return err
}
