package part

import (
	"strconv"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Composer is what stands below a transcript.
type Composer struct {
	Base     string // path of the chat
	Running  bool
	Steers   bool // the agent takes a message into the turn that runs
	Steering *ahp.PendingMessage
	Queue    []ahp.PendingMessage
	Draft    string
	Silent   string         // how long the agent has not answered
	Away     string         // why the agent's machine can't be reached; "" when it can
	WaitsFor string         // the machine that messages wait for, by name
	Failed   *ahp.ErrorInfo // why the agent does not run
	Editing  *Editing       // a message that is written anew
	Me       string         // who writes
	Agent    string         // its name
	Key      string         // tells a message that is sent again from a new one
	ReadOnly bool           // the chat takes no messages
	Archived bool

	Background []Background
	Settings   []Setting
}

// stays has a message sent without leaving the page; an edit changes all of it.
func (c Composer) stays() templ.Attributes {
	if c.Editing != nil {
		return nil
	}
	return templ.Attributes{"data-stay": "clear"}
}

// sendWord names when a message that is not queued reaches the agent: in the running turn, or first in the next one.
func (c Composer) sendWord() string {
	if c.Steers {
		return "now"
	}
	return "next"
}

// sendHint explains the same.
func (c Composer) sendHint() string {
	if c.Steers {
		return "The agent reads it during this turn."
	}
	return "Sent first when this turn ends."
}

func (c Composer) text() string {
	if c.Editing != nil {
		return c.Editing.Text
	}
	return c.Draft
}

// Background is a process that a chat started and that continues in the background.
type Background struct {
	ID, Label, StartedAt string
	Href                 string // to its terminal or chat
	Stop                 string // where a form ends it; "" when it cannot be ended
}

// BackgroundOf reads a chat's list; base is the chat's path.
func BackgroundOf(list []ahp.BackgroundWork, base string) (out []Background) {
	session := sessionBase(base)
	for _, w := range list {
		switch v := w.Value.(type) {
		case *ahp.ShellBackgroundWork:
			b := Background{ID: v.ID, Label: firstOf(v.Label, v.Command), StartedAt: v.StartedAt}
			if v.Terminal != "" {
				b.Href = session + "/t/" + Tail(v.Terminal)
				b.Stop = b.Href + "/close"
			}
			out = append(out, b)
		case *ahp.SubagentBackgroundWork:
			out = append(out, Background{ID: v.ID, Label: v.Label, StartedAt: v.StartedAt,
				Href: chatPath(session, v.Chat)})
		}
	}
	return out
}

// Attention is what waits for a person in a session.
type Attention struct {
	Approvals, Questions, Other int
	First                       string // where the first of them is: "/s/ab12/c/cd34#tool-x"
}

// Any reports whether there is something.
func (a Attention) Any() bool { return a.Count() > 0 }

// Count is how much there is.
func (a Attention) Count() int { return a.Approvals + a.Questions + a.Other }

// Words counts it: "2 approvals, 1 question".
func (a Attention) Words() string {
	out := ""
	for _, c := range []struct {
		n         int
		one, many string
	}{{a.Approvals, "approval", "approvals"}, {a.Questions, "question", "questions"}, {a.Other, "other request",
		"other requests"}} {
		if c.n == 0 {
			continue
		}
		if out != "" {
			out += ", "
		}
		if out += strconv.Itoa(c.n) + " " + c.many; c.n == 1 {
			out = out[:len(out)-len(c.many)] + c.one
		}
	}
	return out
}

// AttentionOf reads what a session's chats wait for; base is the session's path.
func AttentionOf(list []ahp.SessionInputRequest, base string) Attention {
	var a Attention
	for _, r := range list {
		to := ""
		switch v := r.Value.(type) {
		case *ahp.SessionToolConfirmationRequest:
			a.Approvals++
			to = chatPath(base, v.Chat) + "#tool-" + confirmationCall(v.ToolCall)
		case *ahp.SessionChatInputRequest:
			a.Questions++
			to = chatPath(base, v.Chat) + "#ask-" + v.Request.ID
		case *ahp.SessionToolClientExecutionRequest:
			continue // a client's work, not a person's
		case *ahp.SessionToolAuthenticationRequest:
			a.Other++
			to = chatPath(base, v.Chat) + "#tool-" + v.ToolCall.ToolCallID
		default:
			a.Other++
		}
		a.First = firstOf(a.First, to)
	}
	return a
}

func chatPath(base string, chat ahp.URI) string { return base + "/c/" + Tail(chat) }

func confirmationCall(s ahp.ToolCallConfirmationState) string {
	switch v := s.Value.(type) {
	case *ahp.ToolCallPendingConfirmationState:
		return v.ToolCallID
	case *ahp.ToolCallPendingResultConfirmationState:
		return v.ToolCallID
	}
	return ""
}
