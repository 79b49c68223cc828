package part

import (
	"strconv"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Composer is the form below a transcript.
type Composer struct {
	Base     string // path of the chat
	Running  bool
	Steers   bool // the agent accepts messages during a turn
	Steering *ahp.PendingMessage
	Queue    []ahp.PendingMessage
	Draft    string
	Silent   string         // how long the agent has not responded
	Away     string         // why the agent's machine is unreachable; "" if it is reachable
	WaitsFor string         // name of the machine that messages wait for
	Failed   *ahp.ErrorInfo // why the agent did not start
	Editing  *Editing       // the message being edited
	Me       string         // the author's name
	Agent    string         // the agent's name
	Key      string         // distinguishes a resent message from a new one
	ReadOnly bool           // the chat accepts no messages
	Archived bool

	Background []Background
	Settings   []Setting
}

// stays makes the script send a message without leaving the page. An edit reloads the page.
func (c Composer) stays() templ.Attributes {
	if c.Editing != nil {
		return nil
	}
	return templ.Attributes{"data-stay": "clear"}
}

// sendWord describes when an unqueued message reaches the agent: during the running turn, or first in the next one.
func (c Composer) sendWord() string {
	if c.Steers {
		return "now"
	}
	return "next"
}

// sendHint explains sendWord.
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
	Href                 string // of its terminal or chat
	Stop                 string // target of the form that stops it; "" if it cannot be stopped
}

// BackgroundOf converts a chat's background work; base is the chat's path.
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

// Attention counts the open requests of a session.
type Attention struct {
	Approvals, Questions, Other int
	First                       string // address of the first request: "/s/ab12/c/cd34#tool-x"
}

// Any reports whether there are requests.
func (a Attention) Any() bool { return a.Count() > 0 }

// Count returns the number of requests.
func (a Attention) Count() int { return a.Approvals + a.Questions + a.Other }

// Words describes the counts: "2 approvals, 1 question".
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

// AttentionOf counts the requests of a session's chats; base is the session's path.
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
			continue // for a client, not a person
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
