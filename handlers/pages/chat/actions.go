package chat

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

// chatForm is a form of one chat.
type chatForm struct {
	site.Visit
	chat ahp.URI
	back string // where a browser goes afterwards
}

// chatForm reads the session and chat of a form's path.
func (p *Pages) chatForm(w http.ResponseWriter, r *http.Request) (chatForm, error) {
	r.Body = http.MaxBytesReader(w, r.Body, site.MaxForm)
	v, err := p.FindVisit(r)
	if err != nil {
		return chatForm{}, err
	}
	if err := p.Prepare(r.Context(), v.Who, v.Session); err != nil {
		return chatForm{}, err
	}
	if err := site.ParseForm(r); err != nil {
		return chatForm{}, &site.Fault{Status: http.StatusRequestEntityTooLarge,
			Text: "The form is too large. Send at most 2 MB.", Cause: err}
	}
	s, _ := hub.StateOf[*ahp.SessionState](p.Hub, v.Session)
	id := chi.URLParam(r, "chat")
	chat, ok := site.ChatByID(s, id)
	if !ok {
		return chatForm{}, site.NotFound("Chat not found in this session.")
	}
	return chatForm{Visit: v, chat: chat, back: "/s/" + v.Short + "/c/" + id}, nil
}

// OnChat returns a handler that dispatches the action of a chat's form.
func (p *Pages) OnChat(action func(r *http.Request, f chatForm) (ahp.Action, error)) site.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		f, err := p.chatForm(w, r)
		if err != nil {
			return err
		}
		a, err := action(r, f)
		if err != nil {
			return err
		}
		if a == nil { // already done
			return site.FinishForm(w, r, f.back)
		}
		if err := p.Act(r.Context(), f.chat, a); err != nil {
			return err
		}
		return site.FinishForm(w, r, f.back)
	}
}

func userMessage(text string) ahp.Message {
	return ahp.Message{Text: text, Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}
}

// SendMessage starts a turn, or queues or steers while one runs. While the agent's machine is offline, it queues. The
// page may be out of date, so a plain send queues while a turn runs, and queueing or steering an idle chat starts
// a turn. A chat has at most one steering message: a second one is queued.
func (p *Pages) SendMessage(r *http.Request, f chatForm) (ahp.Action, error) {
	m, err := message(r)
	if err != nil {
		return nil, err
	}
	if err := p.Prepare(r.Context(), f.Who, f.chat); err != nil {
		return nil, err
	}
	chat, _ := hub.StateOf[*ahp.ChatState](p.Hub, f.chat)
	if chat == nil {
		return nil, live.ErrGone
	}
	key := messageKey(r)
	if isSaid(chat, key, m.Text) {
		return nil, p.AwaitDurable(r.Context(), 0)
	}
	if r.PostForm.Get("edit") != "" {
		if err := p.resend(r, f, chat, &m); err != nil {
			return nil, err
		}
	}
	switch {
	case chat.ActiveTurn == nil && !p.Host.IsOffline(f.chat):
		return &ahp.ChatTurnStartedAction{TurnID: newID(chat, key), StartedAt: p.Timestamp(), Message: m}, nil
	case r.PostForm.Get("how") == "steer" && chat.ActiveTurn != nil && chat.SteeringMessage == nil:
		return &ahp.ChatPendingMessageSetAction{Kind: ahp.PendingMessageKindSteering, ID: newID(chat, key), Message: m}, nil
	}
	return &ahp.ChatPendingMessageSetAction{Kind: ahp.PendingMessageKindQueued, ID: newID(chat, key), Message: m}, nil
}

// message returns the text and attachments of a form.
func message(r *http.Request) (ahp.Message, error) {
	text := strings.TrimSpace(strings.ReplaceAll(r.PostForm.Get("text"), "\r\n", "\n"))
	files, err := attached(r)
	if err != nil {
		return ahp.Message{}, err
	}
	if text == "" && len(files) == 0 {
		return ahp.Message{}, site.BadRequest("Write a message first.")
	}
	m := userMessage(text)
	m.Attachments = append(files, mentioned(r.PostForm["file"], text)...)
	return m, nil
}

// StopTurn cancels the running turn.
func (p *Pages) StopTurn(_ *http.Request, f chatForm) (ahp.Action, error) {
	chat, _ := hub.StateOf[*ahp.ChatState](p.Hub, f.chat)
	if chat == nil || chat.ActiveTurn == nil {
		return nil, site.Refused("nothing is running anymore")
	}
	return &ahp.ChatTurnCancelledAction{TurnID: chat.ActiveTurn.ID}, nil
}

// MoveToBackground makes the running turn stop waiting for its command.
func (p *Pages) MoveToBackground(w http.ResponseWriter, r *http.Request) error {
	f, err := p.chatForm(w, r)
	if err != nil {
		return err
	}
	if err := p.Host.MoveToBackground(p.CallerOf(r.Context()), f.chat); err != nil {
		return err
	}
	return site.FinishForm(w, r, f.back)
}

// ResumeTurn resumes the last stopped turn.
func (p *Pages) ResumeTurn(r *http.Request, _ chatForm) (ahp.Action, error) {
	return &ahp.ChatTurnResumeAction{TurnID: r.PostForm.Get("turn")}, nil
}

// EditQueued changes the text of a queued message; its attachments stay.
func (p *Pages) EditQueued(r *http.Request, f chatForm) (ahp.Action, error) {
	m := userMessage(r.PostForm.Get("text"))
	if chat, ok := hub.StateOf[*ahp.ChatState](p.Hub, f.chat); ok {
		was, _ := queued(chat, r.PostForm.Get("id"))
		m.Attachments = was.Attachments
	}
	return &ahp.ChatPendingMessageSetAction{Kind: ahp.PendingMessageKindQueued, ID: r.PostForm.Get("id"), Message: m},
		nil
}

// RemoveQueued removes a queued or steering message.
func (p *Pages) RemoveQueued(r *http.Request, _ chatForm) (ahp.Action, error) {
	return &ahp.ChatPendingMessageRemovedAction{Kind: ahp.PendingMessageKind(r.PostForm.Get("kind")),
		ID: r.PostForm.Get("id")}, nil
}

// RaiseQueued moves a queued message one place forward.
func (p *Pages) RaiseQueued(r *http.Request, f chatForm) (ahp.Action, error) {
	chat, _ := hub.StateOf[*ahp.ChatState](p.Hub, f.chat)
	if chat == nil {
		return nil, live.ErrGone
	}
	var order []string
	for _, m := range chat.QueuedMessages {
		order = append(order, m.ID)
		if n := len(order) - 1; n > 0 && m.ID == r.PostForm.Get("id") {
			order[n-1], order[n] = order[n], order[n-1]
		}
	}
	return &ahp.ChatQueuedMessagesReorderedAction{Order: order}, nil
}

// ConfirmTool answers an approval card: choice is the option's kind and id, as in "approve:once".
func (p *Pages) ConfirmTool(r *http.Request, f chatForm) (ahp.Action, error) {
	kind, option, _ := strings.Cut(r.PostForm.Get("choice"), ":")
	turn, call := r.PostForm.Get("turn"), r.PostForm.Get("call")
	approved := kind == string(ahp.ConfirmationOptionKindApprove)
	if kind == "" {
		return nil, site.BadRequest("Choose one of the answers.")
	}
	tool, waits := p.toolCall(f.chat, call)
	if shown := r.PostForm.Get("shown"); waits && shown != "" && shown != tool.Shown() {
		return nil, site.Refused("this request changed after you opened it. Read it again, then answer")
	}
	if r.PostForm.Get("stage") == string(ahp.ToolCallStatusPendingResultConfirmation) {
		return &ahp.ChatToolCallResultConfirmedAction{TurnID: turn, ToolCallID: call, Approved: approved}, nil
	}
	a := &ahp.ChatToolCallConfirmedAction{TurnID: turn, ToolCallID: call, Approved: approved, SelectedOptionID: option}
	if approved {
		a.Confirmed = ahp.ToolCallConfirmationReasonUserAction
		if edited := r.PostForm.Get("input"); edited != "" && edited != formInput(tool) {
			a.EditedToolInput = edited
		}
		return a, nil
	}
	a.Reason = ahp.ToolCallCancellationReasonDenied
	if why := strings.TrimSpace(strings.Join(r.PostForm["reason"], " ")); why != "" { // each denying option has a field
		text := ahp.Plain(why)
		a.ReasonMessage = &text
	}
	return a, nil
}

// formInput returns the input of a call with line ends as forms submit them.
func formInput(t part.Tool) string {
	if t.Input == nil {
		return ""
	}
	return strings.ReplaceAll(t.Input.Text, "\n", "\r\n")
}

// toolCall finds a tool call of the running turn.
func (p *Pages) toolCall(chat ahp.URI, call string) (part.Tool, bool) {
	c, _ := hub.StateOf[*ahp.ChatState](p.Hub, chat)
	if c == nil || c.ActiveTurn == nil {
		return part.Tool{}, false
	}
	for _, rp := range c.ActiveTurn.ResponseParts.All() {
		if t, ok := rp.Value.(*ahp.ToolCallResponsePart); ok {
			if tool := part.ToolOf(t.ToolCall); tool.ToolCallID == call {
				return tool, true
			}
		}
	}
	return part.Tool{}, false
}

// OnSession returns a handler that dispatches the action of a session's form.
func (p *Pages) OnSession(action func(r *http.Request) (ahp.Action, error)) site.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		r.Body = http.MaxBytesReader(w, r.Body, site.MaxForm)
		v, err := p.FindVisit(r)
		if err != nil {
			return err
		}
		a, err := action(r)
		if err != nil {
			return err
		}
		if err := p.Act(r.Context(), v.Session, a); err != nil {
			return err
		}
		return site.FinishForm(w, r, "/s/"+v.Short)
	}
}

// Retitle changes a session's title.
func (p *Pages) Retitle(r *http.Request) (ahp.Action, error) {
	return &ahp.SessionTitleChangedAction{Title: r.PostFormValue("title")}, nil
}

// Archive archives or unarchives a session.
func (p *Pages) Archive(r *http.Request) (ahp.Action, error) {
	return &ahp.SessionIsArchivedChangedAction{IsArchived: r.PostFormValue("archived") == "yes"}, nil
}
