package site

import (
	"log/slog"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/notify"
	"github.com/ahphub/ahphub/hub/presence"
	"github.com/ahphub/ahphub/static"
)

// Site is what every area of the pages is built on. Areas embed it.
type Site struct {
	Host       *host.Host
	Hub        *hub.Hub
	Live       *live.Engine
	Links      *access.Links
	Presence   *presence.Tracker
	Assets     *static.Assets
	Log        *slog.Logger
	Notify     *notify.Notifier // sends notifications; nil sends none
	Public     string           // address teammates use; "" while only this machine is meant to reach it
	DefaultDir string           // working directory offered when there is no earlier one
	Now        func() time.Time
}
