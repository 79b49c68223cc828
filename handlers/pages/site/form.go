package site

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
)

// MaxForm bounds a form: a message and what comes with it.
const MaxForm = 2 << 20

// ParseForm reads a form with files or without.
func ParseForm(r *http.Request) error {
	if err := r.ParseMultipartForm(MaxForm); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return err
	}
	return nil
}

// Act dispatches an action for the person who sent a form, and waits until it is durable: what a form does next may
// delete the only other copy, as a comment's draft. A refusal comes back as an error with its reason.
func (st *Site) Act(ctx context.Context, channel ahp.URI, a ahp.Action) error {
	since := st.Hub.Position()
	o, err := st.Host.Dispatch(ctx, st.CallerOf(ctx), channel, 0, a)
	switch {
	case err != nil:
		return err
	case o.Unknown:
		return NotFound("Not found, or you don't have access.")
	case o.Rejected != "":
		return Refused(o.Rejected)
	}
	return st.AwaitDurable(ctx, since)
}

// Timestamp returns the time as the protocol writes it.
func (st *Site) Timestamp() string { return st.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// Address returns where teammates reach the hub, without a slash at its end: the public URL, else what this request
// was sent to.
func (st *Site) Address(r *http.Request) string {
	if st.Public != "" {
		return strings.TrimSuffix(st.Public, "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}
