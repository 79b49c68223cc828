package pages

import (
	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
)

// Routes mounts every page and form. hub/access says who may visit each.
func (p *Pages) Routes(r chi.Router) {
	get := func(path string, h site.Handler) { r.Get(path, p.Adapt(h)) }
	post := func(path string, h site.Handler) { r.Post(path, p.Adapt(h)) }

	get("/", p.inbox.Show)
	get("/live", p.Live.ServeStream)
	get("/new", p.chat.ShowNew)
	post("/new", p.chat.CreateSession)
	post("/files/{ask}", p.inbox.AnswerFiles)
	get("/deleted", p.inbox.ShowDeleted)
	post("/deleted/{session}", p.inbox.Restore)

	get("/settings", p.settings.Show)
	post("/settings/theme", p.settings.SetTheme)
	get("/help", p.settings.ShowHelp)
	get("/settings/notifications", p.settings.WithNotify(p.settings.ShowNotifications))
	post("/settings/notifications", p.settings.WithNotify(p.settings.ChooseNotifications))
	post("/settings/notifications/browser", p.settings.WithNotify(p.settings.SetNotifyHere))
	post("/settings/notifications/mail", p.settings.WithNotify(p.settings.SetMail))
	post("/settings/notifications/mail/verify", p.settings.WithNotify(p.settings.VerifyMail))
	post("/settings/notifications/hooks", p.settings.WithNotify(p.settings.MakeHook))
	post("/settings/notifications/hooks/{hook}/test", p.settings.WithNotify(p.settings.TestHook))
	post("/settings/notifications/hooks/{hook}/remove", p.settings.WithNotify(p.settings.RemoveHook))
	get("/notifications/stream", p.settings.WithNotify(p.settings.StreamNotices))

	get("/account", p.people.WithAccounts(p.people.ShowAccount))
	post("/account/password", p.people.WithAccounts(p.people.SetPassword))
	post("/account/tokens", p.people.WithAccounts(p.people.MakeToken))
	post("/account/tokens/{token}/revoke", p.people.WithAccounts(p.people.RevokeToken))
	post("/account/passkeys/begin", p.people.WithAccounts(p.people.BeginPasskey))
	post("/account/passkeys", p.people.WithAccounts(p.people.MakePasskey))
	post("/account/passkeys/{key}/remove", p.people.WithAccounts(p.people.RemovePasskey))

	get("/people", p.people.Show)
	post("/people/signout", p.people.SignOutOthers)
	post("/people/browsers/{browser}", p.people.SignOutBrowser)
	post("/people/links/{link}/revoke", p.people.RevokeAnyLink)
	post("/people/files/{grant}/revoke", p.people.RevokeFiles)
	post("/people/invite", p.people.WithMembers(p.people.Invite))
	post("/people/members/{member}", p.people.WithMembers(p.people.ChangeMember))
	post("/people/members/{member}/remove", p.people.WithMembers(p.people.RemoveMember))
	get("/audit", p.people.ShowAudit)
	get("/audit.jsonl", p.people.ExportAudit)

	get("/automations", p.automations.List)
	get("/automations/new", p.automations.ShowNew)
	get("/automations/preview", p.automations.PreviewSchedule)
	post("/automations", p.automations.Create)
	get("/automations/{automation}", p.automations.Show)
	get("/automations/{automation}/edit", p.automations.ShowEdit)
	post("/automations/{automation}", p.automations.Save)
	post("/automations/{automation}/enabled", p.automations.Enable)
	post("/automations/{automation}/run", p.automations.Run)
	post("/automations/{automation}/remove", p.automations.Remove)
	post("/automations/{automation}/runs/{run}/cancel", p.automations.CancelRun)

	p.sessionRoutes(r)
}

// sessionRoutes mounts the pages and forms of one session.
func (p *Pages) sessionRoutes(r chi.Router) {
	get := func(path string, h site.Handler) { r.Get("/s/{session}"+path, p.Adapt(h)) }
	post := func(path string, h site.Handler) { r.Post("/s/{session}"+path, p.Adapt(h)) }

	get("", p.chat.ShowSession)
	post("/retry", p.chat.Retry)
	post("/title", p.chat.OnSession(p.chat.Retitle))
	post("/archive", p.chat.OnSession(p.chat.Archive))
	post("/delete", p.inbox.Delete)
	post("/mute", p.settings.WithNotify(p.settings.Mute))

	get("/c/{chat}", p.chat.Show)
	get("/c/{chat}/edits/{call}", p.review.ShowEdits)
	get("/c/{chat}/edits/{call}/file/{file}", p.review.ShowEditsFile)
	get("/c/{chat}/text", p.chat.ShowText)
	get("/c/{chat}/complete", p.chat.CompleteMessage)
	get("/c/{chat}/attachments/{turn}/{n}", p.chat.ShowAttachment)
	post("/c/{chat}/fork", p.chat.Fork)
	post("/c/{chat}/message", p.chat.OnChat(p.chat.SendMessage))
	post("/c/{chat}/settings", p.chat.SetSetting)
	post("/c/{chat}/stop", p.chat.OnChat(p.chat.StopTurn))
	post("/c/{chat}/resume", p.chat.OnChat(p.chat.ResumeTurn))
	post("/c/{chat}/background", p.chat.MoveToBackground)
	post("/c/{chat}/tool", p.chat.OnChat(p.chat.ConfirmTool))
	post("/c/{chat}/input", p.chat.OnChat(p.chat.AnswerInput))
	post("/c/{chat}/answer", p.chat.OnChat(p.chat.DraftAnswer))
	post("/c/{chat}/queue/edit", p.chat.OnChat(p.chat.EditQueued))
	post("/c/{chat}/queue/up", p.chat.OnChat(p.chat.RaiseQueued))
	post("/c/{chat}/queue/remove", p.chat.OnChat(p.chat.RemoveQueued))

	get("/changes", p.review.Show)
	get("/changes/file/{file}", p.review.ShowFile)
	get("/changes/context", p.review.ShowContext)
	get("/changes/image", p.review.ShowImage)
	get("/changes/place", p.review.FindPlace)
	post("/changes/reviewed", p.review.MarkReviewed)
	post("/changes/op", p.review.RunOperation)
	post("/changes/drafts", p.review.SaveDraft)
	post("/changes/send", p.review.SendComments)
	get("/threads", p.review.ShowThreads)
	get("/threads.md", p.review.ExportThreads)
	post("/threads/seen", p.review.MarkSeen)
	post("/threads/{thread}/{verb}", p.review.ChangeThread)
	post("/verdict", p.review.GiveVerdict)
	post("/suggestions", p.review.ApplySuggestions)
	get("/worktree", p.review.ShowWorktree)
	post("/worktree", p.review.ChangeWorktree)

	get("/t", p.terminals.Show)
	post("/t", p.terminals.Open)
	post("/t/exited", p.terminals.CloseExited)
	get("/t/{terminal}", p.terminals.Show)
	get("/t/{terminal}/frame", p.terminals.ShowFrame)
	get("/t/{terminal}/stream", p.terminals.Stream)
	get("/t/{terminal}/commands/{command}", p.terminals.ShowOutput)
	post("/t/{terminal}/claim", p.terminals.OnTerminal(p.terminals.Claim))
	post("/t/{terminal}/rename", p.terminals.OnTerminal(p.terminals.Rename))
	post("/t/{terminal}/clear", p.terminals.OnTerminal(p.terminals.Clear))
	post("/t/{terminal}/input", p.terminals.OnTerminal(p.terminals.TypeLine))
	post("/t/{terminal}/close", p.terminals.Close)

	get("/share", p.people.ShowShare)
	post("/share", p.people.MakeLink)
	post("/share/{link}/revoke", p.people.RevokeLink)

	get("/customizations", p.customs.Show)
	get("/customizations/file", p.customs.ShowFile)
	post("/customizations", p.customs.Switch)
	post("/customizations/server", p.customs.SwitchServer)
}
