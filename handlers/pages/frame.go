package pages

import (
	"net/http"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/part"
)

// frame is what surrounds a page for whoever asks: theme, rights, rail. Pages of a session set Session.
func (p *Pages) frame(r *http.Request, title, tab string) part.Frame {
	who := access.FromContext(r.Context())
	f := part.Frame{Title: title, Tab: tab, Asset: p.Assets.Path, Path: r.URL.RequestURI(), Viewer: viewer(who)}
	if c, err := r.Cookie("theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		f.Theme = c.Value
	}
	if c, err := r.Cookie("safe"); err == nil && c.Value == "on" {
		f.Safe = true
	}
	if p.Notify != nil && notifiesHere(r) {
		f.Scripts = append(f.Scripts, notifyScript)
	}
	if who.IsKnown() && !f.Viewer.Guest {
		f.Rail = p.railItems(core.Caller{Principal: who})
		f.Needs = needing(f.Rail)
	}
	return f
}

func viewer(who access.Principal) part.Viewer {
	return part.Viewer{
		ID: who.ID, Name: who.Name, Guest: who.Link != "", Owner: who.Role == access.RoleOwner,
		Prompt: who.Has(access.RightPrompt), Approve: who.Has(access.RightApprove),
		Guests: who.Role == access.RoleOwner || who.Guests,
		Type:   who.Has(access.RightType), Comment: who.Has(access.RightComment),
	}
}

func needing(items []part.RailItem) int {
	n := 0
	for _, it := range items {
		if it.Status.Class == "need" {
			n++
		}
	}
	return n
}
