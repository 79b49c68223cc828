package site

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
)

// MaxForm bounds the bytes of a form: a message and its attachments.
const MaxForm = 2 << 20

// ParseForm reads a form with or without files.
func ParseForm(r *http.Request) error {
	if err := r.ParseMultipartForm(MaxForm); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return err
	}
	return nil
}

// Act dispatches an action for the sender of a form, and waits until it is durable: the form's next step may
// delete the only other copy, such as a draft. It returns a refusal as an error with its reason.
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

// Timestamp returns the current time in the protocol's format.
func (st *Site) Timestamp() string { return st.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// Address returns the address at which teammates reach the hub, without a final slash: the public
// URL, else the host of this request.
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
