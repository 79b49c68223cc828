package inbox

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/organize"
)

// Pin serves POST /s/{session}/pin: it pins or unpins a session for this visitor.
func (p *Pages) Pin(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, site.MaxForm)
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	if err := p.Shelf.Pin(r.Context(), v.Who.ID, v.Session, r.PostFormValue("pinned") == "yes"); err != nil {
		return err
	}
	return site.FinishForm(w, r, "/")
}

// Label serves POST /s/{session}/labels: it replaces the labels that everyone sees.
func (p *Pages) Label(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, site.MaxForm)
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	if err := p.Shelf.SetLabels(r.Context(), v.Session, r.PostFormValue("labels")); err != nil {
		return sayInvalid(err)
	}
	return site.FinishForm(w, r, "/")
}

// SaveFilter serves POST /filters: it saves or removes a filter of the visitor.
func (p *Pages) SaveFilter(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, site.MaxForm)
	who := access.FromContext(r.Context())
	if r.PostFormValue("do") == "remove" {
		if err := p.Shelf.RemoveFilter(r.Context(), who.ID, r.PostFormValue("name")); err != nil {
			return err
		}
		return site.FinishForm(w, r, "/")
	}
	f := organize.Filter{Name: r.PostFormValue("name"), Find: r.PostFormValue("find")}
	if err := p.Shelf.SaveFilter(r.Context(), who.ID, f); err != nil {
		return sayInvalid(err)
	}
	return site.FinishForm(w, r, "/?"+url.Values{"q": {f.Find}}.Encode())
}

// sayInvalid turns an error about invalid input into an answer.
func sayInvalid(err error) error {
	if e, ok := errors.AsType[organize.Invalid](err); ok {
		return site.BadRequest(site.Sentence(e.Error()))
	}
	return err
}
