package web

import (
	"net/http"

	"github.com/ahphub/ahphub/handlers/pages"

	"github.com/go-chi/chi/v5"
)

// routes lists the whole address space. Everything below the last Group is authenticated and has a
// row in access's table of routes.
func (s *Server) routes() chi.Router {
	r := chi.NewRouter()
	r.Use(s.requestID, s.forwarded, s.clientIP(), s.accessLog, s.recover, s.checkHost, s.headers, s.bound, s.sameOrigin,
		answerHead)
	r.NotFound(s.withVisitor(s.cfg.Pages.NotFound))

	r.Get("/healthz", s.healthz)
	r.Get("/readyz", s.readyz)
	r.Handle("/assets/*", s.cfg.Assets)
	r.Get("/favicon.ico", s.favicon)
	r.Get("/manifest.webmanifest", s.manifest)
	r.Get("/service-worker", s.serviceWorker)
	r.Get("/signin", s.signInPage)
	r.Post("/signin", s.signIn)
	if s.cfg.Passwords != nil {
		r.Post("/signin/password", s.signInByPassword)
	}
	if s.cfg.Passkeys != nil {
		r.Post("/signin/passkey/begin", s.beginPasskey)
		r.Post("/signin/passkey", s.signInByPasskey)
	}
	if s.cfg.Provider != nil {
		r.Post("/signin/oidc", s.beginProvider)
		r.Get(providerCallback, s.finishProvider)
	}
	r.Post("/signout", s.signOut)
	if s.cfg.Unsubscribe != nil {
		r.Get("/unsubscribe", s.cfg.Unsubscribe)
		r.With(s.audit).Post("/unsubscribe", s.cfg.Unsubscribe)
	}
	if s.cfg.Members != nil {
		r.Get("/invite", s.invitePage)
		r.Post("/invite", s.acceptInvite)
	}
	r.Get("/j", s.joinPage)
	r.Post("/j", s.join)

	r.Group(func(r chi.Router) {
		r.Use(s.byToken)
		r.With(s.mayConnect).Handle("/ahp", s.cfg.RPC)
		r.Get("/metrics", s.metrics)
	})
	if s.cfg.Tools != nil {
		r.With(s.byAgent).Handle("/mcp", s.cfg.Tools)
	}
	if s.cfg.Machines != nil {
		r.Get("/machines/connect", s.cfg.Machines.ServeHTTP) // machines authenticate inside the socket
	}
	r.Group(func(r chi.Router) {
		r.Use(s.socketAtRoot, s.byCookie, s.mayVisit, s.audit, Compress)
		s.cfg.Pages.Routes(r)
	})
	return r
}

// agentRoutes lists what agents reach without TLS.
func (s *Server) agentRoutes() http.Handler {
	r := chi.NewRouter()
	r.Use(s.requestID, s.clientIP(), s.accessLog, s.recover, s.checkHost, s.headers, s.bound)
	if s.cfg.Tools != nil {
		r.With(s.byAgent).Handle("/mcp", s.cfg.Tools)
	}
	return r
}

type pageHandler = func(w http.ResponseWriter, r *http.Request) error

// PageRoutes are the routes of handlers/pages, all of them for signed-in visitors.
type PageRoutes struct{ *pages.Pages }

// Routes mounts every page and form. hub/access says who may visit each.
func (p PageRoutes) Routes(r chi.Router) {
	get := func(path string, h pageHandler) { r.Get(path, p.Adapt(h)) }
	post := func(path string, h pageHandler) { r.Post(path, p.Adapt(h)) }

	get("/", p.Inbox.Show)
	get("/live", p.Live.ServeStream)
	get("/new", p.Chat.ShowNew)
	post("/new", p.Chat.CreateSession)
	post("/files/{ask}", p.Inbox.AnswerFiles)
	post("/filters", p.Inbox.SaveFilter)
	get("/deleted", p.Inbox.ShowDeleted)
	post("/deleted/{session}", p.Inbox.Restore)

	get("/settings", p.Settings.Show)
	post("/settings/theme", p.Settings.SetTheme)
	get("/help", p.Settings.ShowHelp)
	get("/settings/notifications", p.Settings.WithNotify(p.Settings.ShowNotifications))
	post("/settings/notifications", p.Settings.WithNotify(p.Settings.ChooseNotifications))
	post("/settings/notifications/browser", p.Settings.WithNotify(p.Settings.SetNotifyHere))
	post("/settings/notifications/mail", p.Settings.WithNotify(p.Settings.SetMail))
	post("/settings/notifications/mail/verify", p.Settings.WithNotify(p.Settings.VerifyMail))
	post("/settings/notifications/hooks", p.Settings.WithNotify(p.Settings.MakeHook))
	post("/settings/notifications/hooks/{hook}/test", p.Settings.WithNotify(p.Settings.TestHook))
	post("/settings/notifications/hooks/{hook}/remove", p.Settings.WithNotify(p.Settings.RemoveHook))
	post("/settings/notifications/push", p.Settings.WithNotify(p.Settings.AddDevice))
	post("/settings/notifications/push/key", p.Settings.WithNotify(p.Settings.ResetPush))
	post("/settings/notifications/push/{device}/test", p.Settings.WithNotify(p.Settings.TestDevice))
	post("/settings/notifications/push/{device}/remove", p.Settings.WithNotify(p.Settings.RemoveDevice))
	get("/settings/secrets", p.Settings.WithSecrets(p.Settings.ShowSecrets))
	get("/settings/secrets.json", p.Settings.WithSecrets(p.Settings.ListSecrets))
	post("/settings/secrets", p.Settings.WithSecrets(p.Settings.SaveSecret))
	post("/settings/secrets/rotate", p.Settings.WithSecrets(p.Settings.RotateKey))
	post("/settings/secrets/{secret}/grant", p.Settings.WithSecrets(p.Settings.GrantSecret))
	post("/settings/secrets/{secret}/remove", p.Settings.WithSecrets(p.Settings.RemoveSecret))
	get("/notifications/stream", p.Settings.WithNotify(p.Settings.StreamNotices))

	get("/account", p.People.WithAccounts(p.People.ShowAccount))
	post("/account/password", p.People.WithAccounts(p.People.SetPassword))
	post("/account/tokens", p.People.WithAccounts(p.People.MakeToken))
	post("/account/tokens/{token}/revoke", p.People.WithAccounts(p.People.RevokeToken))
	post("/account/passkeys/begin", p.People.WithAccounts(p.People.BeginPasskey))
	post("/account/passkeys", p.People.WithAccounts(p.People.MakePasskey))
	post("/account/passkeys/{key}/remove", p.People.WithAccounts(p.People.RemovePasskey))

	get("/people", p.People.Show)
	post("/people/signout", p.People.SignOutOthers)
	post("/people/browsers/{browser}", p.People.SignOutBrowser)
	post("/people/links/{link}/revoke", p.People.RevokeAnyLink)
	post("/people/files/{grant}/revoke", p.People.RevokeFiles)
	post("/people/invite", p.People.WithMembers(p.People.Invite))
	post("/people/members/{member}", p.People.WithMembers(p.People.ChangeMember))
	post("/people/members/{member}/remove", p.People.WithMembers(p.People.RemoveMember))
	get("/audit", p.People.ShowAudit)
	get("/audit.jsonl", p.People.ExportAudit)

	get("/usage", p.Usage.With(p.Usage.Show))
	get("/usage.csv", p.Usage.With(p.Usage.Export))
	post("/usage/budgets", p.Usage.With(p.Usage.SetBudgets))

	get("/nodes", p.Nodes.Show)

	get("/machines", p.Machines.With(p.Machines.Show))
	post("/machines/tokens", p.Machines.With(p.Machines.MakeToken))
	post("/machines/tokens/{token}/remove", p.Machines.With(p.Machines.RemoveToken))
	post("/machines/{machine}/rename", p.Machines.With(p.Machines.Rename))
	post("/machines/{machine}/drain", p.Machines.With(p.Machines.Drain))
	post("/machines/{machine}/revoke", p.Machines.With(p.Machines.Revoke))

	get("/automations", p.Automations.List)
	get("/automations/new", p.Automations.ShowNew)
	get("/automations/preview", p.Automations.PreviewSchedule)
	post("/automations", p.Automations.Create)
	get("/automations/{automation}", p.Automations.Show)
	get("/automations/{automation}/edit", p.Automations.ShowEdit)
	post("/automations/{automation}", p.Automations.Save)
	post("/automations/{automation}/enabled", p.Automations.Enable)
	post("/automations/{automation}/run", p.Automations.Run)
	post("/automations/{automation}/remove", p.Automations.Remove)
	post("/automations/{automation}/runs/{run}/cancel", p.Automations.CancelRun)

	p.sessionRoutes(r)
}

// sessionRoutes mounts the pages and forms of one session.
func (p PageRoutes) sessionRoutes(r chi.Router) {
	get := func(path string, h pageHandler) { r.Get("/s/{session}"+path, p.Adapt(h)) }
	post := func(path string, h pageHandler) { r.Post("/s/{session}"+path, p.Adapt(h)) }

	get("", p.Chat.ShowSession)
	post("/retry", p.Chat.Retry)
	post("/title", p.Chat.OnSession(p.Chat.Retitle))
	post("/archive", p.Chat.OnSession(p.Chat.Archive))
	post("/delete", p.Inbox.Delete)
	post("/pin", p.Inbox.Pin)
	post("/labels", p.Inbox.Label)
	post("/mute", p.Settings.WithNotify(p.Settings.Mute))

	get("/c/{chat}", p.Chat.Show)
	get("/c/{chat}/edits/{call}", p.Review.ShowEdits)
	get("/c/{chat}/edits/{call}/file/{file}", p.Review.ShowEditsFile)
	get("/c/{chat}/text", p.Chat.ShowText)
	get("/c/{chat}/complete", p.Chat.CompleteMessage)
	get("/c/{chat}/log", p.Chat.ShowAgentLog)
	get("/c/{chat}/attachments/{turn}/{n}", p.Chat.ShowAttachment)
	get("/c/{chat}/pictures/{turn}/{part}/{n}", p.Chat.ShowPicture)
	post("/c/{chat}/fork", p.Chat.Fork)
	post("/c/{chat}/message", p.Chat.OnChat(p.Chat.SendMessage))
	post("/c/{chat}/settings", p.Chat.SetSetting)
	post("/c/{chat}/stop", p.Chat.OnChat(p.Chat.StopTurn))
	post("/c/{chat}/resume", p.Chat.OnChat(p.Chat.ResumeTurn))
	post("/c/{chat}/background", p.Chat.MoveToBackground)
	post("/c/{chat}/tool", p.Chat.OnChat(p.Chat.ConfirmTool))
	post("/c/{chat}/input", p.Chat.OnChat(p.Chat.AnswerInput))
	post("/c/{chat}/answer", p.Chat.OnChat(p.Chat.DraftAnswer))
	post("/c/{chat}/queue/edit", p.Chat.OnChat(p.Chat.EditQueued))
	post("/c/{chat}/queue/up", p.Chat.OnChat(p.Chat.RaiseQueued))
	post("/c/{chat}/queue/remove", p.Chat.OnChat(p.Chat.RemoveQueued))

	get("/changes", p.Review.Show)
	get("/changes/file/{file}", p.Review.ShowFile)
	get("/changes/context", p.Review.ShowContext)
	get("/changes/image", p.Review.ShowImage)
	get("/changes/place", p.Review.FindPlace)
	post("/changes/reviewed", p.Review.MarkReviewed)
	post("/changes/op", p.Review.RunOperation)
	post("/changes/drafts", p.Review.SaveDraft)
	get("/threads", p.Review.ShowThreads)
	get("/threads.md", p.Review.ExportThreads)
	post("/threads/seen", p.Review.MarkSeen)
	post("/threads/{thread}/{verb}", p.Review.ChangeThread)
	post("/verdict", p.Review.GiveVerdict)
	post("/suggestions", p.Review.ApplySuggestions)
	get("/worktree", p.Review.ShowWorktree)
	post("/worktree", p.Review.ChangeWorktree)

	get("/t", p.Terminals.Show)
	post("/t", p.Terminals.Open)
	post("/t/login", p.Terminals.OpenLogin)
	post("/t/exited", p.Terminals.CloseExited)
	get("/t/{terminal}", p.Terminals.Show)
	get("/t/{terminal}/frame", p.Terminals.ShowFrame)
	get("/t/{terminal}/stream", p.Terminals.Stream)
	get("/t/{terminal}/commands/{command}", p.Terminals.ShowOutput)
	post("/t/{terminal}/claim", p.Terminals.OnTerminal(p.Terminals.Claim))
	post("/t/{terminal}/rename", p.Terminals.OnTerminal(p.Terminals.Rename))
	post("/t/{terminal}/clear", p.Terminals.OnTerminal(p.Terminals.Clear))
	post("/t/{terminal}/input", p.Terminals.OnTerminal(p.Terminals.TypeLine))
	post("/t/{terminal}/close", p.Terminals.Close)

	get("/share", p.People.ShowShare)
	post("/share", p.People.MakeLink)
	post("/share/{link}/revoke", p.People.RevokeLink)

	get("/customizations", p.Customs.Show)
	get("/customizations/file", p.Customs.ShowFile)
	post("/customizations", p.Customs.Switch)
	post("/customizations/server", p.Customs.SwitchServer)
}
