package chat

import (
	"strings"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

// turnsShown is the number of newest turns on a page; a link loads older ones.
const turnsShown = 20

// turnsOf returns a chat's turns, the running one last.
func turnsOf(c *ahp.ChatState, base, dir string) []part.Turn {
	out := make([]part.Turn, 0, len(c.Turns)+1)
	for _, t := range c.Turns {
		out = append(out, part.Turn{ID: t.ID, Base: base, StartedAt: t.StartedAt, Duration: t.Duration,
			Message: t.Message, Parts: t.ResponseParts, Usage: t.Usage, State: t.State, Dir: dir,
			Changes: site.TurnChanges(t.Usage)})
	}
	if a := c.ActiveTurn; a != nil {
		out = append(out, part.Turn{ID: a.ID, Base: base, StartedAt: a.StartedAt, Message: a.Message,
			Parts: a.ResponseParts.Slice(), Usage: a.Usage, Dir: dir})
	}
	if n := len(out); n > 0 {
		out[n-1].Last = true
	}
	return out
}

// source returns the state that turn i was rendered from.
func source(c *ahp.ChatState, i int) any {
	if i < len(c.Turns) {
		return c.Turns[i]
	}
	return c.ActiveTurn
}

func composerOf(c *ahp.ChatState, sess *ahp.SessionState, base string) part.Composer {
	comp := part.Composer{Base: base, Running: c.ActiveTurn != nil, Steering: c.SteeringMessage,
		Queue: c.QueuedMessages, ReadOnly: c.Interactivity != "" && c.Interactivity != ahp.ChatInteractivityFull}
	comp.Settings = settingsOf(sess)
	if comp.Running && site.IsSilent(c.Activity) {
		comp.Silent = c.Activity
	}
	if sess != nil && sess.Lifecycle == ahp.SessionLifecycleFailed {
		if comp.Failed = sess.CreationError; comp.Failed == nil {
			comp.Failed = &ahp.ErrorInfo{Message: "No reason given."}
		}
		if saysSame(c, comp.Failed.Message) {
			comp.Failed = nil
		}
	}
	comp.Background = part.BackgroundOf(c.BackgroundWork, base)
	if c.Draft != nil {
		comp.Draft = c.Draft.Text
	}
	return comp
}

// saysSame reports whether the chat's last turn ended with an error that contains the text: it is shown only once.
func saysSame(c *ahp.ChatState, text string) bool {
	if c.ActiveTurn != nil || len(c.Turns) == 0 {
		return false
	}
	parts := c.Turns[len(c.Turns)-1].ResponseParts
	if len(parts) == 0 {
		return false
	}
	e, ok := parts[len(parts)-1].Value.(*ahp.ErrorResponsePart)
	return ok && strings.Contains(e.Error.Message, text)
}
