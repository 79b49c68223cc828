// Package pages joins the areas of the pages: each is a package below with its pages, forms and room, built on
// package site. Areas do not import each other; what they share is passed in here. A page is a client of the
// hub: it is rendered from the states of a room, and its stream continues from there. web lists the routes.
package pages

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/automations"
	"github.com/ahphub/ahphub/handlers/pages/chat"
	"github.com/ahphub/ahphub/handlers/pages/customs"
	"github.com/ahphub/ahphub/handlers/pages/inbox"
	"github.com/ahphub/ahphub/handlers/pages/machines"
	"github.com/ahphub/ahphub/handlers/pages/nodes"
	"github.com/ahphub/ahphub/handlers/pages/people"
	"github.com/ahphub/ahphub/handlers/pages/review"
	"github.com/ahphub/ahphub/handlers/pages/settings"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/handlers/pages/terminals"
	"github.com/ahphub/ahphub/handlers/pages/usage"
	"github.com/ahphub/ahphub/handlers/pages/visitors"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/core"
	registry "github.com/ahphub/ahphub/hub/machines"
	"github.com/ahphub/ahphub/hub/notify"
	"github.com/ahphub/ahphub/hub/organize"
	"github.com/ahphub/ahphub/hub/presence"
	"github.com/ahphub/ahphub/hub/quota"
	"github.com/ahphub/ahphub/static"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// Deps is what the pages need.
type Deps struct {
	Host        Host
	Automations automations.Automations
	Customs     customs.Customs
	Reviews     Reviews
	Changes     review.Changes
	Worktrees   Worktrees
	Sandboxes   site.Sandboxes
	Terminals   terminals.Host
	Files       site.Files
	Hub         *hub.Hub
	Links       *access.Links
	Presence    *presence.Tracker
	Assets      *static.Assets
	Log         *slog.Logger
	Docs        review.Docs                // drafts and review marks; nil: none are stored
	Shelf       *organize.Shelf            // pins, labels and filters; nil: in memory only
	Diffs       *diff.Cache                // comparisons of files, closed with the pages; nil: a new one
	Browsers    people.Browsers            // who is signed in; nil shows none
	Accounts    people.Accounts            // owner's ways to sign in; zero: none are shown
	Notify      *notify.Notifier           // sends notifications; nil sends none
	Secrets     settings.Secrets           // members' secrets; nil: none
	Machines    *registry.Registry         // machines that joined; nil: machines are turned off
	Nodes       nodes.Status               // of the cluster; nil: this server is not a cluster node
	Version     string                     // of ahphub
	Load        func() registry.Report     // this server's free resources; nil: unknown
	Usage       usage.Ledger               // usage of turns; nil: not recorded
	Audit       people.AuditLog            // the audit log; nil: not shown
	Public      string                     // address for teammates; "" while only this machine should reach it
	FirstAgent  page.FirstAgent            // how to get an agent besides Shell; zero: not shown
	Setup       []part.SetupNote           // what this server lacks; only the owner sees it
	NeedsLogin  func(provider string) bool // whether an agent last asked for a login; nil: none did
	LoginLines  map[string]string          // commands that log in to agents, by provider
	DefaultDir  string                     // working directory offered when there is no earlier one
	Sockets     *quota.Pool                // quota of open streams; nil: unlimited
	Frames      *quota.Pool                // quota of bytes of frames over 64 KiB that are being sent; nil: unlimited
	Now         func() time.Time           // default time.Now
	Heartbeat   live.Heartbeat             // of live streams
}

// Host is the part of the host that the areas use together. Its parts for automations, customizations, reviews and
// terminals are separate.
type Host interface {
	automations.Host
	chat.Host
	customs.Host
	inbox.Host
	people.Host
	review.Host
}

// Reviews is the host's part for threads, verdicts and suggestions.
type Reviews interface {
	site.Reviews
	review.Reviews
}

// Worktrees is the host's part for branches and worktrees.
type Worktrees interface {
	site.Branches
	review.Worktrees
}

// Pages joins the areas. Close it after the server stopped.
type Pages struct {
	*site.Site
	Automations *automations.Pages
	Chat        *chat.Pages
	Customs     *customs.Pages
	Inbox       *inbox.Pages
	Machines    *machines.Pages
	Nodes       *nodes.Pages
	People      *people.Pages
	Visitors    *visitors.Pages
	Review      *review.Pages
	Settings    *settings.Pages
	Terminals   *terminals.Pages
	Usage       *usage.Pages
}

// New returns the pages.
func New(d Deps) *Pages {
	if d.Now == nil {
		d.Now = time.Now
	}
	d.Log = cmp.Or(d.Log, slog.New(slog.DiscardHandler))
	if d.Presence == nil {
		d.Presence = presence.New(presence.Config{})
	}
	if d.Shelf == nil {
		d.Shelf, _ = organize.Open(context.Background(), nil) // without a store nothing can fail
	}
	if d.Diffs == nil {
		d.Diffs = &diff.Cache{}
	}
	s := &site.Site{Host: d.Host, Reviews: d.Reviews, Branches: d.Worktrees, Sandboxes: d.Sandboxes, Machines: d.Machines, Files: d.Files, Hub: d.Hub, Links: d.Links,
		Presence: d.Presence, Assets: d.Assets, Log: d.Log, Notify: d.Notify,
		Public: d.Public, DefaultDir: d.DefaultDir, Setup: d.Setup, Now: d.Now}
	if d.Browsers != nil {
		s.Browser = d.Browsers.Key
	}
	p := &Pages{Site: s, Automations: automations.New(s, d.Host, d.Automations), Customs: customs.New(s, d.Host,
		d.Customs),
		Inbox: inbox.New(s, d.Host, d.Shelf), Settings: settings.New(s, d.Secrets, d.Nodes != nil), Terminals: terminals.New(s, d.Terminals, d.LoginLines),
		Review: review.New(s, review.Parts{Host: d.Host, Reviews: d.Reviews, Changes: d.Changes,
			Worktrees: d.Worktrees}, d.Docs, d.Diffs)}
	p.Chat = chat.New(s, d.Host, p.Terminals, d.FirstAgent, d.Machines, d.Load, d.NeedsLogin)
	p.People = people.New(s, d.Host, people.Config{Browsers: d.Browsers, Accounts: d.Accounts, Audit: d.Audit,
		Changes: p.Review})
	p.Machines = machines.New(s, d.Machines, d.Version)
	p.Nodes = nodes.New(s, d.Nodes)
	p.Usage = usage.New(s, d.Host, d.Usage)
	p.Visitors = visitors.New(s, p.Review, p.Terminals)
	s.Live = live.New(live.Config{Hub: d.Hub, ClientPrefix: core.FeedPrefix, Rooms: p.rooms(),
		Visit: p.Visitors.ShowVisitor, Links: d.Links, Public: d.Public, Sockets: d.Sockets, Frames: d.Frames,
		Heartbeat: d.Heartbeat})
	return p
}

// Close ends every live feed and the review's background work, and waits.
func (p *Pages) Close() {
	p.Live.Close()
	p.Review.Close()
}

// Renders returns how often live HTML was rendered, over all viewers.
func (p *Pages) Renders() int64 { return p.Live.Renders() }

// Unsubscribe answers the links in mails.
func (p *Pages) Unsubscribe(w http.ResponseWriter, r *http.Request) { p.Settings.Unsubscribe(w, r) }
