// Package pages serves what people see: each page and form is a func(w, r) error, and one adapter turns errors into
// pages. A page is a client of the hub: it is drawn from the states of a feed, and its stream goes on from there.
package pages

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/notify"
	"github.com/ahphub/ahphub/hub/presence"
	"github.com/ahphub/ahphub/hub/quota"
	"github.com/ahphub/ahphub/static"
)

// Deps is what the pages need.
type Deps struct {
	Host       *host.Host
	Hub        *hub.Hub
	Links      *access.Links
	Presence   *presence.Tracker
	Assets     *static.Assets
	Log        *slog.Logger
	Docs       Docs             // drafts and marks of people; nil keeps none
	Browsers   Browsers         // who is signed in; nil shows none
	Accounts   Accounts         // the owner's ways to sign in; its zero value shows none
	Notify     *notify.Notifier // tells people; nil tells nobody
	Audit      AuditLog         // what was done; nil shows none
	Public     string           // address teammates use; "" while only this machine is meant to reach it
	DefaultDir string           // working directory offered when there is no earlier one
	Sockets    *quota.Pool      // of open streams; nil: none is refused
	Frames     *quota.Pool      // of bytes of frames over 64 KiB on their way to streams; nil: none is refused
	Now        func() time.Time // default time.Now
	Heartbeat  live.Heartbeat   // of live streams
}

// Pages holds the handlers. Close it after the server stopped.
type Pages struct {
	*site.Site
	Docs     Docs
	Browsers Browsers
	Accounts Accounts
	Audit    AuditLog
	diffs    diff.Cache

	draftOrder draftOrder
}

// New makes the pages.
func New(d Deps) *Pages {
	if d.Now == nil {
		d.Now = time.Now
	}
	d.Log = cmp.Or(d.Log, slog.New(slog.DiscardHandler))
	if d.Presence == nil {
		d.Presence = presence.New(presence.Config{})
	}
	p := &Pages{Docs: d.Docs, Browsers: d.Browsers, Accounts: d.Accounts, Audit: d.Audit, Site: &site.Site{
		Host: d.Host, Hub: d.Hub, Links: d.Links, Presence: d.Presence, Assets: d.Assets, Log: d.Log, Notify: d.Notify, Public: d.Public,
		DefaultDir: d.DefaultDir, Now: d.Now}}
	p.Live = live.New(live.Config{Hub: d.Hub, ClientPrefix: core.FeedPrefix, Rooms: p.rooms(), Visit: p.showVisitor, Links: d.Links,
		Public: d.Public, Sockets: d.Sockets, Frames: d.Frames, Heartbeat: d.Heartbeat})
	return p
}

// Close ends every live stream's feed and waits.
func (p *Pages) Close() { p.Live.Close() }

// Renders counts how often live HTML was drawn, over all viewers.
func (p *Pages) Renders() int64 { return p.Live.Renders() }

// Routes mounts every page and form.
func (p *Pages) Routes(r chi.Router) {
	get := func(path string, h site.Handler) { r.Get(path, p.Adapt(h)) }
	post := func(path string, h site.Handler) { r.Post(path, p.Adapt(h)) }
	get("/", p.inbox)
	get("/live", p.Live.ServeStream)
	get("/new", p.newSession)
	post("/new", p.createSession)
	get("/settings", p.settings)
	post("/settings/theme", p.theme)
	get("/help", p.help)
	p.reviewRoutes(r)
	p.verdictRoutes(r)
	p.peopleRoutes(r)
	p.accountRoutes(r)
	p.automationRoutes(r)
	p.fileRoutes(r)
	p.deletedRoutes(r)
	p.notifyRoutes(r)

	get("/s/{session}", p.session)
	post("/s/{session}/title", p.onSession(p.retitle))
	post("/s/{session}/archive", p.onSession(p.archive))
	get("/s/{session}/worktree", p.worktree)
	post("/s/{session}/worktree", p.worktreeAct)
	p.customRoutes(r)
	p.chatRoutes(r)
	p.terminalRoutes(r)
}
