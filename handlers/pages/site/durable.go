package site

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/templ/page"
)

// longestSettle bounds how long a form waits for a disk that neither writes nor fails.
const longestSettle = 20 * time.Second

// AwaitDurable waits until everything accepted after a position of the journal is durable.
func (st *Site) AwaitDurable(ctx context.Context, since int64) error {
	ctx, cancel := context.WithTimeout(ctx, longestSettle)
	defer cancel()
	return st.Hub.Settle(ctx, since)
}

// serve runs a handler. A form is answered once what it did is durable, whatever part of the host
// did it: a browser that is sent on before that shows as done what a crash or a full disk takes
// back. One that took rights away is answered once other nodes of a cluster show nothing more to who had them.
func (st *Site) serve(w http.ResponseWriter, r *http.Request, h Handler) error {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case reads && !st.Hub.HasQuorum():
		return h(w, r)
	case reads:
		shown := &shownAnswer{ResponseWriter: w, settle: func() error {
			ctx, cancel := context.WithTimeout(r.Context(), longestSettle)
			defer cancel()
			return st.Hub.SettleShown(ctx)
		}}
		if err := h(shown, r); err != nil || shown.err == nil {
			return err
		}
		return &Fault{http.StatusServiceUnavailable, "This node of the cluster is losing its connection to the others. Reload in a moment.",
			shown.err}
	}
	held := &heldAnswer{ResponseWriter: w, header: w.Header().Clone(), status: http.StatusOK}
	since := st.Hub.Position()
	if err := h(held, r); err != nil {
		return err
	}
	if err := st.AwaitDurable(r.Context(), since); err != nil {
		return err
	}
	st.Live.AwaitNodes(context.WithoutCancel(r.Context())) // also for who signs out
	held.release()
	return nil
}

// shownAnswer begins once what the answer shows may be shown. Otherwise nothing of it is sent, and err says why.
type shownAnswer struct {
	http.ResponseWriter
	settle func() error
	begun  bool
	err    error
}

// Unwrap lets response controllers find the connection.
func (a *shownAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *shownAnswer) begin() error {
	if !a.begun {
		a.begun, a.err = true, a.settle()
	}
	return a.err
}

// WriteHeader begins the answer.
func (a *shownAnswer) WriteHeader(status int) {
	if a.begin() == nil {
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write begins the answer, too.
func (a *shownAnswer) Write(b []byte) (int, error) {
	if err := a.begin(); err != nil {
		return 0, err
	}
	return a.ResponseWriter.Write(b)
}

// FlushError begins the answer, too.
func (a *shownAnswer) FlushError() error {
	if err := a.begin(); err != nil {
		return err
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// heldAnswer keeps an answer back until it is released.
type heldAnswer struct {
	http.ResponseWriter
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

// Unwrap lets response controllers find the connection.
func (a *heldAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Header returns the headers that release sends.
func (a *heldAnswer) Header() http.Header { return a.header }

// WriteHeader keeps the first status.
func (a *heldAnswer) WriteHeader(status int) {
	if !a.wrote {
		a.status, a.wrote = status, true
	}
}

// Write keeps b.
func (a *heldAnswer) Write(b []byte) (int, error) {
	a.wrote = true
	return a.body.Write(b)
}

// FlushError flushes nothing: an answer that is held back does not begin.
func (a *heldAnswer) FlushError() error { return nil }

// release sends the answer. That its reader left is no fault of the form.
func (a *heldAnswer) release() {
	h := a.ResponseWriter.Header()
	clear(h)
	maps.Copy(h, a.header)
	a.ResponseWriter.WriteHeader(a.status)
	_, _ = a.ResponseWriter.Write(a.body.Bytes())
}

// whyUnsaved returns a sentence about why the journal fails, "" when it does not say.
func whyUnsaved(err error) string {
	why := reasonOf(err)
	if why == "" {
		return ""
	}
	return " " + Sentence(why)
}

// reasonOf returns what the store says of its disk, for people; "" for other errors.
func reasonOf(err error) string {
	why, ok := errors.AsType[interface {
		error
		Reason() string
	}](err)
	if !ok {
		return ""
	}
	return why.Reason()
}

// secretFields are never sent back.
var secretFields = []string{"password", "current", "token", "code", "secret"}

// keptForm returns what a form without scripts held when it could not be saved; nil for other failures, and for forms
// with secrets.
func keptForm(r *http.Request, f *Fault) *page.KeptForm {
	if f.Status != http.StatusServiceUnavailable || r.Method != http.MethodPost || len(r.PostForm) == 0 {
		return nil
	}
	k := &page.KeptForm{Action: r.URL.RequestURI(), Files: hasFiles(r)}
	for _, name := range slices.Sorted(maps.Keys(r.PostForm)) {
		if slices.Contains(secretFields, name) {
			return nil
		}
		for _, v := range r.PostForm[name] {
			k.Fields = append(k.Fields, page.KeptField{Name: name, Value: v, Typed: strings.ContainsAny(v, " \n")})
		}
	}
	return k
}

func hasFiles(r *http.Request) bool {
	if r.MultipartForm == nil {
		return false
	}
	for _, files := range r.MultipartForm.File {
		if slices.ContainsFunc(files, func(h *multipart.FileHeader) bool { return h.Size > 0 }) {
			return true
		}
	}
	return false
}
