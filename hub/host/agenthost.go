package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/texts"
)

// agentHost implements agent.Host for the agent of one session.
type agentHost struct{ l *sessionRuntime }

// Spawn creates a chat for a tool call, with a turn that the agent runs itself.
func (a agentHost) Spawn(ctx context.Context, spec agent.SpawnSpec) (agent.Turn, func(error), error) {
	l := a.l
	spec.Title, spec.Message = l.hide(spec.Title), l.hide(spec.Message)
	chat := &ahp.ChatState{Resource: core.NewChatURI(), Title: texts.CutBytes(cmp.Or(texts.OneLine(spec.Title),
		"Sub-chat"), core.MaxTitle), Status: ahp.SessionStatusIdle, ModifiedAt: core.Timestamp(l.h.core.Now()),
		Interactivity: ahp.ChatInteractivityReadOnly, Turns: []*ahp.Turn{},
		Origin: &ahp.ChatOrigin{Value: &ahp.ChatOriginTool{Chat: spec.Chat, ToolCallID: spec.ToolCallID}}}
	r := newRun(ctx, chat.Resource, ids.New())
	r.spawned = true
	start := &ahp.ChatTurnStartedAction{TurnID: r.id, StartedAt: chat.ModifiedAt,
		Message: ahp.Message{Text: spec.Message, Origin: ahp.MessageOrigin{Kind: ahp.MessageKindAgent}}}
	if err := l.adopt(r); err != nil {
		return agent.Turn{}, nil, err
	}
	var refused error
	err := l.h.core.Do(ctx, func(tx *hub.Tx) {
		if refused = l.h.maySpawn(tx, l.uri, spec.Chat); refused == nil {
			l.h.inheritAuthor(tx, spec.Chat, &start.Message)
			l.h.addChat(tx, l.uri, chat)
			tx.Apply(chat.Resource, start)
		}
	})
	if err := errors.Join(err, refused); err != nil {
		l.abandon(r)
		return agent.Turn{}, nil, err
	}
	turn := agent.Turn{ID: r.id, Chat: r.chat, Message: start.Message, Out: &out{l, r}}
	_, end := l.turnSpan(ctx, r)
	return turn, func(err error) { end(err); l.finish(r, err, l.h.core.Now()); r.cancel(nil); l.abandon(r) }, nil
}

// Reply posts the agent's reply to a review thread, under the same rules as people's replies.
func (a agentHost) Reply(ctx context.Context, thread, text string) error {
	l := a.l
	session, ok := hub.StateOf[*ahp.SessionState](l.h.core.Hub, l.uri)
	if !ok {
		return errDisposed
	}
	name := cmp.Or(l.h.agents.Info(session.Provider).DisplayName, session.Provider)
	out, err := l.h.Dispatch(ctx, core.Caller{Principal: access.Agent(session.Provider, name, l.uri)},
		core.AnnotationsURI(l.uri), 0, &ahp.AnnotationsEntrySetAction{AnnotationID: thread,
			Entry: ahp.AnnotationEntry{ID: ids.New(), Text: ahp.Markdown(l.hide(text))}})
	return outcomeError(out, err)
}

// adopt registers a turn before it starts, so that the effect of its start does not run it too.
func (l *sessionRuntime) adopt(r *run) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return context.Cause(l.ctx)
	}
	l.runs[r.chat] = r
	close(r.done) // no caller waits for r: the turn that spawned it does
	return nil
}

func (l *sessionRuntime) abandon(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.over.Store(true)
	if l.runs[r.chat] == r {
		delete(l.runs, r.chat)
	}
}

// maySpawn limits the number and depth of spawned chats (AHP requirement 97).
func (h *Host) maySpawn(tx *hub.Tx, session, parent ahp.URI) error {
	s, ok := hub.StateOf[*ahp.SessionState](tx, session)
	if !ok {
		return errDisposed
	}
	if len(s.Chats) >= h.core.Limits.Chats {
		return fmt.Errorf("this session already has %d chats", len(s.Chats))
	}
	if depth := depthOf(s, parent); depth >= h.core.Limits.ChatDepth {
		return fmt.Errorf("a chat %d levels deep cannot start another one", depth)
	}
	return nil
}

func depthOf(s *ahp.SessionState, chat ahp.URI) int {
	origin := map[ahp.URI]ahp.URI{}
	for _, c := range s.Chats {
		if c.Origin == nil {
			continue
		}
		if tool, ok := c.Origin.Value.(*ahp.ChatOriginTool); ok {
			origin[c.Resource] = tool.Chat
		}
	}
	depth := 0
	for at := origin[chat]; at != "" && depth <= len(s.Chats); at = origin[at] {
		depth++
	}
	return depth
}

// inheritAuthor copies the author of the parent's prompt to a sub-chat's prompt, so that a guest's
// request keeps a guest's rights.
func (h *Host) inheritAuthor(tx *hub.Tx, parent ahp.URI, m *ahp.Message) {
	s, ok := hub.StateOf[*ahp.ChatState](tx, parent)
	if !ok || s.ActiveTurn == nil {
		return
	}
	if st, ok := core.ReadStamp(s.ActiveTurn.Message.Meta); ok {
		m.Meta = st.Write(m.Meta)
	}
}
