package chat

import (
	"encoding/json"
	"net/http"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/templ/part"
)

// SetSetting serves POST …/settings: it sets one setting of the session, for all its chats. The
// host checks the rights.
func (p *Pages) SetSetting(w http.ResponseWriter, r *http.Request) error {
	f, err := p.chatForm(w, r)
	if err != nil {
		return err
	}
	key := r.PostForm.Get("key")
	s := p.SessionState(f.Session)
	if s == nil || s.Config == nil {
		return site.Refused("this session has no settings")
	}
	prop, ok := host.Settings(s).Schema.Properties[key]
	if !ok {
		return site.BadRequest("Setting not found. Reload the page.")
	}
	value, err := settingValue(prop.Type, r.PostForm.Get("value"))
	if err != nil {
		return err
	}
	if err := p.Act(r.Context(), f.Session, &ahp.SessionConfigChangedAction{Config: ahp.Meta{key: value}}); err != nil {
		return err
	}
	return site.FinishForm(w, r, f.back)
}

// Retry serves POST /s/{session}/retry: it restarts the agent of a session that did not start.
func (p *Pages) Retry(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	if err := p.Host.RetrySession(r.Context(), p.CallerOf(r.Context()), v.Session); err != nil {
		return err
	}
	return site.FinishForm(w, r, "/s/"+v.Short)
}

// settingValue returns a field's value as JSON of the setting's type.
func settingValue(kind, text string) (json.RawMessage, error) {
	if kind == "string" {
		return json.Marshal(text)
	}
	if !json.Valid([]byte(text)) {
		return nil, site.BadRequest("This value isn't allowed for the setting.")
	}
	return json.RawMessage(text), nil
}

// settingsOf returns the settings that can change during a session.
func settingsOf(s *ahp.SessionState) []part.Setting {
	if s == nil || s.Config == nil {
		return nil
	}
	all := host.Settings(s)
	return part.SettingsOf(all.Schema, all.Values, true, host.Unasked)
}
