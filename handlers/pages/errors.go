package pages

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/templ/page"
)

// fault is an error with a status and a sentence for the person.
type fault struct {
	status int
	text   string
	cause  error
}

func (e *fault) Error() string {
	if e.cause != nil {
		return e.text + ": " + e.cause.Error()
	}
	return e.text
}
func (e *fault) Unwrap() error { return e.cause }

func errNotFound(text string) error   { return &fault{status: http.StatusNotFound, text: text} }
func errBadRequest(text string) error { return &fault{status: http.StatusBadRequest, text: text} }

// refused is an action that the host did not take, with its reason.
func refused(reason string) error { return &fault{status: http.StatusConflict, text: sentence(reason)} }

// classify finds the status and sentence of any error; what it does not know is internal and says nothing.
func classify(err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	if d, ok := errors.AsType[*access.Denied](err); ok {
		return &fault{http.StatusForbidden, sentence(d.Error()), err}
	}
	if a, ok := errors.AsType[*ahp.Error](err); ok {
		return &fault{statusOf(a.Code), sentence(a.Message), err}
	}
	switch {
	case errors.Is(err, live.ErrGone):
		return &fault{http.StatusNotFound, "What you look for is gone, or it is not shared with you.", err}
	case errors.Is(err, hub.ErrUnsaved):
		return &fault{http.StatusServiceUnavailable, "This could not be saved yet." + whyUnsaved(err) + " ahphub keeps trying: check whether it is there before you send it again.", err}
	case errors.Is(err, hub.ErrReadOnly):
		return &fault{http.StatusServiceUnavailable, "ahphub cannot save changes now, so nothing was changed." + whyUnsaved(err) + " Try again in a moment.", err}
	case errors.Is(err, live.ErrBusy):
		return &fault{http.StatusServiceUnavailable, sentence(err.Error()), err}
	case errors.Is(err, live.ErrTooManyOpen):
		return &fault{http.StatusTooManyRequests, sentence(live.ErrTooManyOpen.Error()), err}
	case errors.Is(err, live.ErrNoRoom):
		return &fault{http.StatusNotFound, sentence(err.Error()), err}
	case errors.Is(err, live.ErrMarks), errors.Is(err, live.ErrBadMark):
		return &fault{http.StatusBadRequest, sentence(err.Error()), err}
	case errors.Is(err, context.Canceled):
		return &fault{499, "The request was given up.", err}
	}
	if why := reasonOf(err); why != "" { // what is wrong with the disk, and what to do
		return &fault{http.StatusInternalServerError, sentence(why), err}
	}
	return &fault{http.StatusInternalServerError, "Something went wrong here. The operator finds it in the log by the number below.", err}
}

func statusOf(code int) int {
	switch code {
	case ahp.CodeSessionNotFound, ahp.CodeNotFound, ahp.CodeProviderNotFound:
		return http.StatusNotFound
	case ahp.CodePermissionDenied:
		return http.StatusForbidden
	case ahp.CodeInvalidParams, ahp.CodeInvalidRequest:
		return http.StatusBadRequest
	case ahp.CodeConflict, ahp.CodeAlreadyExists, ahp.CodeSessionAlreadyExists, ahp.CodeTurnInProgress:
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

// adapt makes a handler of net/http from one that returns an error.
func (p *Pages) adapt(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := p.serve(w, r, h); err != nil {
			p.fail(w, r, err)
		}
	}
}

// fail logs the cause and sends a page that says what to do next.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := classify(err)
	m := page.Error{Status: f.status, Text: f.text}
	if f.status >= 500 {
		m.ID = ids.NewShort()
		p.Log.ErrorContext(r.Context(), "a page failed", "path", access.LoggedPath(r.URL.Path), "id", m.ID, "err", err)
	}
	if fragment(r) {
		http.Error(w, f.text, f.status)
		return
	}
	m.Kept = keptForm(r, f)
	m.Frame = p.frame(r, m.Title(), "")
	if f.status == 499 {
		return
	}
	if err := send(w, f.status, page.ErrorPage(m)); err != nil {
		p.Log.WarnContext(r.Context(), "an error page was not sent", "err", err)
	}
}

// NotFound answers what no route matches.
func (p *Pages) NotFound(w http.ResponseWriter, r *http.Request) {
	p.fail(w, r, errNotFound("There is no such page."))
}

// send renders to memory first, so that a template that fails sends nothing of itself.
func send(w http.ResponseWriter, status int, c templ.Component) error {
	var b bytes.Buffer
	if err := c.Render(context.Background(), &b); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	_, err := w.Write(b.Bytes())
	if err != nil {
		return nil // the reader left: nobody to tell
	}
	return nil
}

// fragment tells whether a script asks: it wants a status and a sentence, not a page.
func fragment(r *http.Request) bool { return r.Header.Get("X-Fragment") != "" }

// done ends a form: a script is told so, a browser is sent back to a page.
func done(w http.ResponseWriter, r *http.Request, to string) error {
	if fragment(r) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// sentence starts with a capital and ends with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	b := []byte(s)
	if b[0] >= 'a' && b[0] <= 'z' {
		b[0] -= 'a' - 'A'
	}
	if c := b[len(b)-1]; c != '.' && c != '!' && c != '?' {
		b = append(b, '.')
	}
	return string(b)
}
