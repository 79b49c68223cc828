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

// serve runs a handler. A form is answered once its effects are durable, whichever part of the host made them:
// otherwise the browser would show as done what a crash or a full disk undoes. A form that revokes access is answered
// once other nodes of a cluster show nothing more to those visitors.
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
	st.Live.AwaitNodes(context.WithoutCancel(r.Context())) // also when a visitor signs out
	held.release()
	return nil
}

// shownAnswer delays an answer until its content may be shown. If that fails, nothing is sent, and err is set.
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

// WriteHeader starts the answer.
func (a *shownAnswer) WriteHeader(status int) {
	if a.begin() == nil {
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write starts the answer, too.
func (a *shownAnswer) Write(b []byte) (int, error) {
	if err := a.begin(); err != nil {
		return 0, err
	}
	return a.ResponseWriter.Write(b)
}

// FlushError starts the answer, too.
func (a *shownAnswer) FlushError() error {
	if err := a.begin(); err != nil {
		return err
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// heldAnswer buffers an answer until it is released.
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

// WriteHeader records the first status.
func (a *heldAnswer) WriteHeader(status int) {
	if !a.wrote {
		a.status, a.wrote = status, true
	}
}

// Write buffers b.
func (a *heldAnswer) Write(b []byte) (int, error) {
	a.wrote = true
	return a.body.Write(b)
}

// FlushError does nothing: the answer is not sent before release.
func (a *heldAnswer) FlushError() error { return nil }

// release sends the answer. It ignores a disconnected client, which is not the form's fault.
func (a *heldAnswer) release() {
	h := a.ResponseWriter.Header()
	clear(h)
	maps.Copy(h, a.header)
	a.ResponseWriter.WriteHeader(a.status)
	_, _ = a.ResponseWriter.Write(a.body.Bytes())
}

// whyUnsaved returns a sentence about why the journal fails; "" if unknown.
func whyUnsaved(err error) string {
	why := reasonOf(err)
	if why == "" {
		return ""
	}
	return " " + Sentence(why)
}

// reasonOf returns the store's explanation of a disk problem for users; "" for other errors.
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

// keptForm returns the fields of a form sent without a script that could not be saved; nil for
// other failures, and for forms with secrets.
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
