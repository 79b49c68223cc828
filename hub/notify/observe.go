package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	noticeBucket = "notice" // not fanned out yet

	fresh = time.Minute // a comment with an older timestamp was moved or edited, not added
)

// Derive sees every accepted envelope, under the hub's lock and after the host's own part. It
// records notices in the same step.
func (n *Notifier) Derive(tx *hub.Tx, e *hub.Envelope) {
	switch a := e.Action.(type) {
	case *ahp.SessionInputNeededSetAction:
		n.observeRequest(tx, e, a.Request)
	case *ahp.ChatTurnCompleteAction:
		n.observeEnd(tx, e, a)
	case *ahp.ChatErrorAction:
		n.put(tx, e.At, Notice{ID: id(Failed, e.Channel.URI+"#"+a.TurnID+"@"+fmt.Sprint(e.Seq)), Kind: Failed,
			About: e.Channel,
			Text:  line(a.Part.Error.Message), Path: n.turnPath(e.Channel, a.TurnID), To: n.visitors(e.Channel)})
	case *ahp.AnnotationsSetAction:
		n.observeComments(tx, e, a.Annotation.ID, a.Annotation.Entries...)
	case *ahp.AnnotationsEntrySetAction:
		n.observeComments(tx, e, a.AnnotationID, a.Entry)
	}
}

// observeRequest handles requests that block a turn until a person answers.
func (n *Notifier) observeRequest(tx *hub.Tx, e *hub.Envelope, r ahp.SessionInputRequest) {
	switch r := r.Value.(type) {
	case *ahp.SessionToolConfirmationRequest:
		call, text, stage := describeCall(r.ToolCall)
		chat := n.chat(tx, e, r.Chat)
		n.put(tx, e.At, Notice{ID: id(Approval, r.ID+"#"+stage), Kind: Approval, About: chat, Waits: r.ID, Text: text,
			Guest: stage == "call" && n.isOfGuest(tx, chat.URI),
			Path:  anchor(n.chatPath(chat), "tool-"+call), To: n.visitors(chat)})
	case *ahp.SessionToolAuthenticationRequest:
		chat := n.chat(tx, e, r.Chat)
		n.put(tx, e.At, Notice{ID: id(Question, r.ID), Kind: Question, About: chat, Waits: r.ID,
			Text: line(r.ToolCall.DisplayName + " wants you to sign in"),
			// only the owner can
			Path: anchor(n.chatPath(chat), "tool-"+r.ToolCall.ToolCallID), To: []string{access.Owner("").ID}})
	case *ahp.SessionChatInputRequest:
		chat := n.chat(tx, e, r.Chat)
		n.put(tx, e.At, Notice{ID: id(Question, r.ID), Kind: Question, About: chat, Waits: r.ID,
			Text: line(r.Request.Message),
			Path: anchor(n.chatPath(chat), "ask-"+r.Request.ID), To: n.visitors(chat)})
	}
}

// isOfGuest reports whether a chat's turn answers a prompt that the owner did not write.
func (n *Notifier) isOfGuest(tx *hub.Tx, chat ahp.URI) bool {
	s, ok := hub.StateOf[*ahp.ChatState](tx, chat)
	return ok && s.ActiveTurn != nil && n.cfg.Guest(s.ActiveTurn.Message)
}

// describeCall returns a waiting tool call, a line of text (the tool's name and the agent's name
// for the step), and the stage: the call's result may wait for confirmation too.
func describeCall(c ahp.ToolCallConfirmationState) (call, text, stage string) {
	switch c := c.Value.(type) {
	case *ahp.ToolCallPendingConfirmationState:
		return c.ToolCallID, describeStep(c.ToolCallBase, c.InvocationMessage.Text), "call"
	case *ahp.ToolCallPendingResultConfirmationState:
		return c.ToolCallID, describeStep(c.ToolCallBase, c.InvocationMessage.Text), "result"
	}
	return "", "", ""
}

func describeStep(c ahp.ToolCallBase, message string) string {
	name, what := line(c.DisplayName), line(message)
	switch {
	case what == "":
		return name
	case name == "" || strings.Contains(what, name):
		return what
	}
	return texts.ElideRunes(name+": "+what, longestLine)
}

// observeEnd skips sub-agents, whose turn is a step of another one, and turns with a successor in
// the queue.
func (n *Notifier) observeEnd(tx *hub.Tx, e *hub.Envelope, a *ahp.ChatTurnCompleteAction) {
	chat, ok := hub.StateOf[*ahp.ChatState](tx, e.Channel.URI)
	if !ok || len(chat.QueuedMessages) > 0 || isOfTool(chat) {
		return
	}
	n.put(tx, e.At, Notice{ID: id(Finished, e.Channel.URI+"#"+a.TurnID+"@"+fmt.Sprint(e.Seq)), Kind: Finished,
		About: e.Channel,
		Text:  "After " + formatDuration(time.Duration(a.Duration)*time.Millisecond), Path: n.turnPath(e.Channel,
			a.TurnID),
		To: n.visitors(e.Channel)})
}

func isOfTool(c *ahp.ChatState) bool {
	if c.Origin == nil {
		return false
	}
	_, tool := c.Origin.Value.(*ahp.ChatOriginTool)
	return tool
}

// observeComments handles new entries of a thread. The host sets a comment's timestamp once, so
// moved and edited entries keep theirs.
func (n *Notifier) observeComments(tx *hub.Tx, e *hub.Envelope, thread string, entries ...ahp.AnnotationEntry) {
	people := n.cfg.Host.Review(e.Channel.Session).People
	for _, entry := range entries {
		by, at, ok := n.cfg.Author(entry)
		if !ok || e.At.Sub(at).Abs() > fresh {
			continue
		}
		cause := e.Channel.URI + "#" + thread + "#" + entry.ID
		base := Notice{About: e.Channel, Thread: thread, By: by, Text: line(entry.Text.Text),
			Path: anchor("/s/"+n.cfg.Short(e.Channel.Session)+"/threads", "thread-"+thread)}
		called := except(ids(review.Mentions(entry.Text.Text, people)), by.ID)
		if m := base; len(called) > 0 {
			m.ID, m.Kind, m.To = id(Mention, cause), Mention, called
			n.put(tx, e.At, m)
		}
		base.ID, base.Kind = id(Comment, cause), Comment
		base.To = except(append(n.threadAuthors(tx, e.Channel.URI, thread), access.Owner("").ID),
			append(called, by.ID)...)
		n.put(tx, e.At, base)
	}
}

// threadAuthors returns the principals who wrote in a thread.
func (n *Notifier) threadAuthors(tx *hub.Tx, channel ahp.URI, thread string) (out []string) {
	s, ok := hub.StateOf[*ahp.AnnotationsState](tx, channel)
	if !ok {
		return nil
	}
	for _, t := range s.Annotations {
		if t.ID != thread {
			continue
		}
		for _, e := range t.Entries {
			if by, _, ok := n.cfg.Author(e); ok && !slices.Contains(out, by.ID) {
				out = append(out, by.ID)
			}
		}
	}
	return out
}

// Judged handles verdicts, which are not actions of the protocol, as Derive handles envelopes.
func (n *Notifier) Judged(tx *hub.Tx, session ahp.URI, event review.Event) {
	g, ok := event.(review.Given)
	if !ok {
		return
	}
	words := map[review.Kind]string{review.Approve: "Approved", review.RequestChanges: "Changes requested",
		review.Comment: "Commented"}[g.Kind]
	text := line(g.Summary)
	if text != "" {
		text = ": " + text
	}
	about := hub.ChannelInfo{URI: session, Kind: ahp.ChannelSession, Session: session}
	n.put(tx, g.At, Notice{ID: id(Verdict, fmt.Sprint(session, g.By.ID, g.At.UnixNano())), Kind: Verdict, About: about,
		By:   g.By,
		Text: texts.ElideRunes(words+text, longestLine), Path: "/s/" + n.cfg.Short(session) + "/changes",
		To: except(n.visitors(about), g.By.ID)})
}

// FilesAsked handles a client's request for files, which only the owner can grant and which belongs
// to no session.
func (n *Notifier) FilesAsked(tx *hub.Tx, ask, text string) {
	n.put(tx, time.Now(), Notice{ID: id(Question, "files "+ask), Kind: Question,
		About: hub.ChannelInfo{URI: ahp.RootURI, Kind: ahp.ChannelRoot}, Brief: true,
		Session: "Files", Text: line(text), Path: anchor("/", "files-"+ask), To: []string{access.Owner("").ID}})
}

// put records a notice once, in the step of its cause.
func (n *Notifier) put(tx *hub.Tx, at time.Time, x Notice) {
	if !n.seen.isFirst(x.ID) {
		return
	}
	session := x.uri()
	x.At, x.Short, x.Title = at.UTC(), cmp.Or(x.Short, n.cfg.Short(session)), cmp.Or(x.Title, said[x.Kind])
	if x.Session == "" {
		x.Session = n.titleOf(tx, session)
	}
	if x.By.Name = texts.ElideRunes(clean(x.By.Name), 60); x.By.ID != "" && x.By.Name != "" {
		x.Title += " by " + x.By.Name
	}
	raw, err := json.Marshal(x)
	if err != nil {
		n.log.Error("cannot record a notification", "kind", x.Kind, "err", err)
		return
	}
	tx.Record(noticeBucket, x.ID, raw)
	tx.Effect("notify", func(context.Context) { n.enqueueNotice(x) })
}

func (n *Notifier) titleOf(tx *hub.Tx, session ahp.URI) string {
	title := ""
	if s, ok := hub.StateOf[*ahp.SessionState](tx, session); ok {
		title = s.Title
	} else if s, ok := n.cfg.Host.Summary(session); ok {
		title = s.Title
	}
	if title = line(title); title == "" {
		return "New session"
	}
	return texts.ElideRunes(title, 80)
}

// visitors returns everyone who has been in the session, and the owner. Their rights are checked
// when the notice is sent.
func (n *Notifier) visitors(about hub.ChannelInfo) []string {
	session := about.Session
	if session == "" {
		session = about.URI
	}
	return except(append([]string{access.Owner("").ID}, ids(n.cfg.Host.Review(session).People)...))
}

func ids(people []review.Person) []string {
	out := make([]string, len(people))
	for i, p := range people {
		out[i] = p.ID
	}
	return out
}

// except returns a list without some ids, without duplicates and without agents.
func except(list []string, without ...string) (out []string) {
	for _, id := range list {
		if id != "" && !strings.HasPrefix(id, "agent:") && !slices.Contains(without, id) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

func (n *Notifier) chat(tx *hub.Tx, e *hub.Envelope, chat ahp.URI) hub.ChannelInfo {
	if info, ok := tx.Info(chat); ok {
		return info
	}
	return e.Channel
}

func (n *Notifier) chatPath(chat hub.ChannelInfo) string {
	if chat.Kind != ahp.ChannelChat {
		return "/s/" + n.cfg.Short(chat.Session)
	}
	return "/s/" + n.cfg.Short(chat.Session) + "/c/" + n.cfg.ChatID(chat.URI)
}

func (n *Notifier) turnPath(chat hub.ChannelInfo, turn string) string {
	return anchor(n.chatPath(chat), "turn-"+turn)
}

// anchor returns a path with an escaped fragment; agents and clients choose the ids.
func anchor(path, id string) string { return path + "#" + url.PathEscape(id) }

func formatDuration(d time.Duration) string {
	if d < time.Second {
		return "less than a second"
	}
	return d.Round(time.Second).String()
}
