package site

import (
	"context"
	"errors"
	"net/http"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/templ/page"
)

// Fault is an error with a status and a sentence for the user.
type Fault struct {
	Status int
	Text   string
	Cause  error
}

func (e *Fault) Error() string {
	if e.Cause != nil {
		return e.Text + ": " + e.Cause.Error()
	}
	return e.Text
}
func (e *Fault) Unwrap() error { return e.Cause }

// NotFound returns an error that is shown with status 404.
func NotFound(text string) error { return &Fault{Status: http.StatusNotFound, Text: text} }

// BadRequest returns an error that is shown with status 400.
func BadRequest(text string) error { return &Fault{Status: http.StatusBadRequest, Text: text} }

// Refused returns an error for an action that the host refused, with its reason.
func Refused(reason string) error { return &Fault{Status: http.StatusConflict, Text: Sentence(reason)} }

// Classify returns the status and sentence for any error. Unknown errors are internal, and their text is not shown.
func Classify(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	if d, ok := errors.AsType[*access.Denied](err); ok {
		return &Fault{http.StatusForbidden, Sentence(d.Error()), err}
	}
	if a, ok := errors.AsType[*ahp.Error](err); ok {
		return &Fault{statusOf(a.Code), Sentence(a.Message), err}
	}
	switch {
	case errors.Is(err, live.ErrGone):
		return &Fault{http.StatusNotFound, "Not found, or you don't have access.", err}
	case errors.Is(err, hub.ErrUnsaved):
		return &Fault{http.StatusServiceUnavailable, "This hasn't been saved yet." + whyUnsaved(err) +
			" ahphub keeps trying. Check whether it was saved before you send it again.", err}
	case errors.Is(err, hub.ErrReadOnly):
		return &Fault{http.StatusServiceUnavailable, "ahphub can't save changes right now, so nothing was changed." +
			whyUnsaved(err) + " Try again in a moment.", err}
	case errors.Is(err, live.ErrBusy):
		return &Fault{http.StatusServiceUnavailable, Sentence(err.Error()), err}
	case errors.Is(err, live.ErrTooManyOpen):
		return &Fault{http.StatusTooManyRequests, Sentence(live.ErrTooManyOpen.Error()), err}
	case errors.Is(err, live.ErrNoRoom):
		return &Fault{http.StatusNotFound, Sentence(err.Error()), err}
	case errors.Is(err, live.ErrMarks), errors.Is(err, live.ErrBadMark):
		return &Fault{http.StatusBadRequest, Sentence(err.Error()), err}
	case errors.Is(err, context.Canceled):
		return &Fault{499, "The request was cancelled.", err}
	}
	if why := reasonOf(err); why != "" { // the disk's problem and its remedy
		return &Fault{http.StatusInternalServerError, Sentence(why), err}
	}
	return &Fault{http.StatusInternalServerError, "Give your admin this error ID:", err}
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

// Adapt converts a handler that returns an error to one of net/http.
func (st *Site) Adapt(h Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := st.serve(w, r, h); err != nil {
			st.fail(w, r, err)
		}
	}
}

// fail logs the cause and sends a page that suggests what to do next.
func (st *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := Classify(err)
	m := page.Error{Status: f.Status, Text: f.Text}
	if f.Status >= 500 {
		m.ID = ids.NewShort()
		st.Log.ErrorContext(r.Context(), "a page failed", "path", access.LoggedPath(r.URL.Path), "id", m.ID, "err", err)
	}
	if IsFragment(r) {
		http.Error(w, f.Text, f.Status)
		return
	}
	m.Kept = keptForm(r, f)
	m.Frame = st.Frame(r, m.Title(), "")
	m.Frame.Path = r.URL.Path // without the query, which may contain a secret
	if f.Status == 499 {
		return
	}
	if err := Send(w, f.Status, page.ErrorPage(m)); err != nil {
		st.Log.WarnContext(r.Context(), "an error page was not sent", "err", err)
	}
}

// NotFound answers requests that match no route.
func (st *Site) NotFound(w http.ResponseWriter, r *http.Request) {
	st.fail(w, r, NotFound("Page not found."))
}

// IsFragment reports whether a script sent the request: it gets a status and a sentence instead of a page.
func IsFragment(r *http.Request) bool { return r.Header.Get("X-Fragment") != "" }

// FinishForm answers a successful form: scripts get 204, browsers are redirected.
func FinishForm(w http.ResponseWriter, r *http.Request, to string) error {
	if IsFragment(r) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// Sentence capitalizes s and adds a full stop.
func Sentence(s string) string {
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
