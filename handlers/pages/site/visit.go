package site

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Handler answers a request; its error is shown as a page.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Visit is a request to a page of one session.
type Visit struct {
	Who     access.Principal
	Session ahp.URI
	Short   string
}

// FindVisit finds the session of a request's path. It returns the same error for sessions that are
// missing or invisible.
func (st *Site) FindVisit(r *http.Request) (Visit, error) {
	v := Visit{Who: access.FromContext(r.Context()), Short: chi.URLParam(r, "session")}
	uri, ok := st.Host.SessionByShort(v.Short)
	if !ok || !v.Who.Audience().Sees(hub.ChannelInfo{URI: uri, Kind: ahp.ChannelSession, Session: uri}) {
		return v, NotFound("Session not found, or you don't have access.")
	}
	v.Session = uri
	return v, nil
}

// CallerOf returns the caller of a request, for the host: plain forms have no connection.
func (st *Site) CallerOf(ctx context.Context) core.Caller {
	who := access.FromContext(ctx)
	return core.Caller{Principal: who, ClientID: "page:" + who.ID}
}

// Prepare loads channels before a room subscribes to them.
func (st *Site) Prepare(ctx context.Context, who access.Principal, uris ...ahp.URI) error {
	c := core.Caller{Principal: who, ClientID: "page:" + who.ID}
	for _, u := range uris {
		if err := st.Host.Prepare(ctx, c, u); err != nil {
			return err
		}
	}
	return nil
}
