package settings

import (
	"net/http"
	"strings"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/templ/page"
)

// Show serves GET /settings.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request) error {
	f := p.Frame(r, "Settings", "settings")
	m := page.Settings{Frame: f, Agents: p.Agents(), Theme: f.Theme, Safe: f.Safe, Nodes: p.nodes}
	if m.Theme == "" {
		m.Theme = "system"
	}
	return site.Send(w, http.StatusOK, page.SettingsPage(m))
}

// SetTheme serves POST /settings/theme, for the rail's toggle and for the settings form, which has more choices.
func (p *Pages) SetTheme(w http.ResponseWriter, r *http.Request) error {
	switch t := r.PostFormValue("theme"); t {
	case "light", "dark", "system":
		site.SetPreference(w, "theme", t)
	default:
		return site.BadRequest("Theme not found.")
	}
	if r.PostFormValue("form") == "settings" {
		site.SetPreference(w, "safe", map[bool]string{true: "on", false: "off"}[r.PostFormValue("safe") == "on"])
	}
	if r.PostFormValue("form") == "settings" {
		return site.FinishForm(w, r, "/settings")
	}
	return site.FinishForm(w, r, backTo(r))
}

// ShowHelp serves GET /help.
func (p *Pages) ShowHelp(w http.ResponseWriter, r *http.Request) error {
	return site.Send(w, http.StatusOK, page.HelpPage(p.Frame(r, "Keyboard shortcuts", "help")))
}

// backTo returns the page to return to, from the form; "/" unless it is on this server.
func backTo(r *http.Request) string {
	to := r.PostFormValue("back")
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n") {
		return "/"
	}
	return to
}
