package site

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/files"
	"github.com/ahphub/ahphub/hub/machines"
	"github.com/ahphub/ahphub/hub/notify"
	"github.com/ahphub/ahphub/hub/presence"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/static"
	"github.com/ahphub/ahphub/templ/part"
)

// Site is the base of all areas of the pages, which embed it.
type Site struct {
	Host       Host
	Reviews    Reviews
	Branches   Branches
	Sandboxes  Sandboxes
	Machines   *machines.Registry // machines that joined; nil: machines are turned off
	Files      Files
	Hub        *hub.Hub
	Live       *live.Engine
	Links      *access.Links
	Presence   *presence.Tracker
	Assets     *static.Assets
	Log        *slog.Logger
	Notify     *notify.Notifier // sends notifications; nil sends none
	Browser    BrowserKey       // identifies the browser of a request; nil: push messages are off
	Public     string           // address for teammates; "" while only this machine should reach it
	DefaultDir string           // working directory offered when there is no earlier one
	Setup      []part.SetupNote // what this server lacks; only the owner sees it
	Now        func() time.Time
}

// BrowserKey returns the key of a request's signed-in browser.
type BrowserKey func(r *http.Request) string

// Host is the part of the host that all areas use.
type Host interface {
	Dispatch(ctx context.Context, c core.Caller, channel ahp.URI, clientSeq int64, a ahp.Action) (hub.Outcome, error)
	Listed(c core.Caller) []ahp.SessionSummary
	Prepare(ctx context.Context, c core.Caller, uri ahp.URI) error
	SessionByShort(short string) (ahp.URI, bool)
	Summary(uri ahp.URI) (s ahp.SessionSummary, ok bool)
}

// Files is the host's part for files: requests, grants, and reading.
type Files interface {
	AnswerFileAsk(c core.Caller, id string, grant bool) (files.FileAsk, error)
	FileAsks() []files.FileAsk
	FileGrants() []files.FileGrant
	IsWide(dirs []ahp.URI) bool
	ResourceRead(ctx context.Context, c core.Caller, p ahp.ResourceReadParams) (ahp.ResourceReadResult, error)
	RevokeFiles(c core.Caller, id string) (files.FileGrant, error)
	RevokeFilesOf(principal string)
	WatchFiles() (changed <-chan struct{}, cancel func())
}

// Reviews is the host's part for verdicts and mentions.
type Reviews interface {
	Review(session ahp.URI) review.Review
	WatchReview(session ahp.URI) (changed <-chan struct{}, cancel func())
}

// Sandboxes is the host's part for the sandboxes of sessions, and the hosts that their programs requested.
type Sandboxes interface {
	Contacts(session ahp.URI, s *ahp.SessionState) (list []sandbox.Contact, has bool)
	Container(session ahp.URI, s *ahp.SessionState) (info sandbox.ContainerInfo, has bool)
	IsSandboxed(session ahp.URI) bool
	IsUsual() bool
	Notice(session ahp.URI) string
	Warning() (why string, partly bool)
}

// Branches is the host's part for the branches that sessions have checked out.
type Branches interface {
	FollowBranch(session ahp.URI) (stop func())
}
