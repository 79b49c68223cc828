package pages

import (
	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
)

// chatRoutes are the pages and forms of a conversation.
func (p *Pages) chatRoutes(r chi.Router) {
	get := func(path string, h site.Handler) { r.Get("/s/{session}/c/{chat}"+path, p.Adapt(h)) }
	post := func(path string, h site.Handler) { r.Post("/s/{session}/c/{chat}"+path, p.Adapt(h)) }
	r.Post("/s/{session}/retry", p.Adapt(p.retry))
	get("", p.chat)
	get("/edits/{call}", p.edits)
	get("/edits/{call}/file/{file}", p.editsFile)
	get("/text", p.text)
	get("/complete", p.complete)
	get("/attachments/{turn}/{n}", p.attachment)
	post("/fork", p.fork)
	post("/message", p.onChat(p.sendMessage))
	post("/settings", p.setSetting)
	post("/stop", p.onChat(p.stopTurn))
	post("/resume", p.onChat(p.resumeTurn))
	post("/background", p.toBackground)
	post("/tool", p.onChat(p.confirmTool))
	post("/input", p.onChat(p.answerInput))
	post("/answer", p.onChat(p.draftAnswer))
	post("/queue/edit", p.onChat(p.queueEdit))
	post("/queue/up", p.onChat(p.queueUp))
	post("/queue/remove", p.onChat(p.queueRemove))
}
