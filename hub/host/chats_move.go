package host

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/worktrees"
)

// mover moves chats between sessions, or into a new session, with their turns and review marks.
type mover struct{ h *Host }

// wakeChats loads a session and all its chats.
func (mv *mover) wakeChats(ctx context.Context, session ahp.URI) error {
	if err := mv.h.core.Ensure(ctx, session); err != nil {
		return err
	}
	s, ok := hub.StateOf[*ahp.SessionState](mv.h.core.Hub, session)
	if !ok {
		return core.NoSession(session)
	}
	for _, c := range s.Chats {
		if err := mv.h.core.Ensure(ctx, c.Resource); err != nil {
			return err
		}
	}
	return nil
}

func (mv *mover) moveInto(ctx context.Context, c core.Caller, info hub.ChannelInfo,
	to *ahp.MoveChatSessionDestination) (res ahp.MoveChatResult, err error) {
	dest, known := mv.h.core.Hub.Info(to.Session)
	if !known || dest.Kind != ahp.ChannelSession || !c.Audience().Sees(dest) {
		return res, core.NoSession(to.Session)
	}
	if err := c.MayCall("moveChat", dest); err != nil {
		return res, err
	}
	if err := mv.h.core.Ensure(ctx, to.Session); err != nil {
		return res, err
	}
	err = mv.relocate(ctx, to.Session, func(tx *hub.Tx, moves func(move) error) error {
		return mv.placeChat(tx, info, to, moves)
	})
	if err != nil {
		return res, err
	}
	return ahp.MoveChatResult{Session: to.Session}, nil
}

// relocate runs a step that moves chats twice. The first run only determines the chats, because
// their change records are carried over first. The step calls moves after all its checks, and does
// nothing if moves fails.
func (mv *mover) relocate(ctx context.Context, to ahp.URI, step func(tx *hub.Tx, moves func(move) error) error) error {
	var m move
	look := errors.New("only looking")
	var refused error
	err := mv.h.core.Hub.Do(func(tx *hub.Tx) { refused = step(tx, func(found move) error { m = found; return look }) })
	if err != nil || refused != look {
		return cmp.Or(err, refused) // nil if the chat only moved within its session
	}
	c, err := mv.h.Changes.Carry(ctx, m.from, to, m.turns())
	if err != nil {
		return ahp.Errorf(ahp.CodeInternalError, "the changes of its turns can't be moved: %v", err)
	}
	err = mv.h.core.Hub.Do(func(tx *hub.Tx) {
		refused = step(tx, func(now move) error {
			if !slices.Equal(now.turns(), m.turns()) {
				return ahp.Errorf(ahp.CodeConflict, "the chat has a new message. Try again")
			}
			return nil
		})
		if refused == nil {
			mv.h.Changes.HandTurns(tx, c)
		}
	})
	if err = cmp.Or(err, refused); err == nil {
		mv.h.Changes.CarryMarks(ctx, c)
	}
	return err
}

func (mv *mover) placeChat(tx *hub.Tx, info hub.ChannelInfo, to *ahp.MoveChatSessionDestination,
	moves func(move) error) error {
	m, err := mv.prepare(tx, info)
	if err != nil {
		return err
	}
	dest, ok := hub.StateOf[*ahp.SessionState](tx, to.Session)
	if !ok || mv.h.disposing.held(to.Session) {
		return core.NoSession(to.Session)
	}
	order, err := orderWith(dest, m, to.After)
	if err != nil {
		return err
	}
	if to.Session != info.Session {
		if err := mv.checkFits(m, dest); err != nil {
			return err
		}
		if err := moves(m); err != nil {
			return err
		}
		mv.moveFamily(tx, m, to.Session)
	}
	tx.Apply(to.Session, &ahp.SessionChatsReorderedAction{Chats: order})
	return nil
}

// move is a chat to be moved, with the chats that move with it.
type move struct {
	from   ahp.URI
	state  *ahp.SessionState // of the source session
	family []ahp.ChatSummary // the chat first, then the chats its tools created
	chats  []*ahp.ChatState
}

// turns returns the ids of the turns of all moved chats.
func (m move) turns() (ids []string) {
	for _, c := range m.chats {
		for _, t := range c.Turns {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

func (mv *mover) prepare(tx *hub.Tx, info hub.ChannelInfo) (m move, err error) {
	now, _ := tx.Info(info.URI)
	s, ok := hub.StateOf[*ahp.SessionState](tx, now.Session)
	chat, here := hub.StateOf[*ahp.ChatState](tx, info.URI)
	if !ok || !here || now.Session != info.Session || mv.h.disposing.held(info.Session) {
		return m, core.NoChannel(info.URI)
	}
	if chat.Movable == nil || !*chat.Movable || s.DefaultChat == info.URI {
		return m, core.BadParams("channel: a session's default chat and chats created by a tool cannot be moved")
	}
	m = move{from: info.Session, state: s, family: family(s, info.URI)}
	for _, c := range m.family {
		state, ok := hub.StateOf[*ahp.ChatState](tx, c.Resource)
		if !ok {
			return m, ahp.Errorf(ahp.CodeConflict, "%s was just created. Try again", c.Resource)
		}
		m.chats = append(m.chats, state)
	}
	return m, nil
}

// family returns a chat and all chats that its tools created, recursively, in the session's order.
func family(s *ahp.SessionState, chat ahp.URI) []ahp.ChatSummary {
	var list []ahp.ChatSummary
	for _, c := range s.Chats {
		if c.Resource == chat {
			list = append(list, c)
		}
	}
	for _, c := range s.Chats {
		if o := c.Origin; o != nil && c.Resource != chat {
			if tool, ok := o.Value.(*ahp.ChatOriginTool); ok && tool.Chat == chat {
				list = append(list, family(s, c.Resource)...)
			}
		}
	}
	return list
}

// orderWith returns the order of a session's chats with the moved ones after another chat, or
// first. Within its own session, a chat moves without its family.
func orderWith(s *ahp.SessionState, m move, after ahp.URI) ([]ahp.URI, error) {
	same := slices.ContainsFunc(s.Chats, func(c ahp.ChatSummary) bool { return c.Resource == m.family[0].Resource })
	var rest, moved []ahp.URI
	for i, c := range m.family {
		if i == 0 || !same {
			moved = append(moved, c.Resource)
		}
	}
	for _, c := range s.Chats {
		if !slices.Contains(moved, c.Resource) {
			rest = append(rest, c.Resource)
		}
	}
	at := 0
	if after != "" {
		if at = slices.Index(rest, after) + 1; at == 0 {
			return nil, core.BadParams("destination.after: %s is not another chat of that session", after)
		}
	}
	return slices.Insert(rest, at, moved...), nil
}

// checkIdle returns an error if a chat is busy and cannot leave its session.
func (m move) checkIdle() error {
	for _, c := range m.chats {
		if c.ActiveTurn != nil || len(c.QueuedMessages) > 0 || len(c.BackgroundWork) > 0 {
			return ahp.Errorf(ahp.CodeTurnInProgress,
				"something is running or waiting in %q. Wait until it ends or cancel it", c.Title)
		}
	}
	return nil
}

func (mv *mover) checkFits(m move, dest *ahp.SessionState) error {
	if err := m.checkIdle(); err != nil {
		return err
	}
	switch {
	case dest.Provider != m.state.Provider:
		return core.BadParams("destination: the agent of that session is %s, and of this chat %s", dest.Provider,
			m.state.Provider)
	case len(dest.Chats)+len(m.family) > mv.h.core.Limits.Chats:
		return core.BadParams("destination: that session has %d chats already", len(dest.Chats))
	}
	for _, c := range m.chats {
		for _, d := range c.WorkingDirectories { // AHP requirement 117
			if !slices.Contains(dest.WorkingDirectories, d) {
				return core.BadParams("destination: %s is not a directory of that session", d)
			}
		}
	}
	return nil
}

// moveFamily moves the chats from one session's list to another's.
func (mv *mover) moveFamily(tx *hub.Tx, m move, to ahp.URI) {
	for i, c := range m.family {
		mv.removeChat(tx, m.from, c.Resource)
		tx.Move(c.Resource, to)
		tx.Apply(to, &ahp.SessionChatAddedAction{Summary: c})
		mv.settleChat(tx, to, m.chats[i])
	}
}

// removeChat removes a chat from its session, with its pending input requests.
func (mv *mover) removeChat(tx *hub.Tx, session, chat ahp.URI) {
	mv.h.forgetInputNeeded(tx, session, chat)
	mv.h.Changes.CloseChat(tx, session, chat)
	tx.Apply(session, &ahp.SessionChatRemovedAction{Chat: chat}) // AHP requirement 102
	was := hub.ChannelInfo{URI: chat, Kind: ahp.ChannelChat, Session: session}
	tx.Effect(chat, func(context.Context) { mv.h.turns.endRun(was, "") })
}

// settleChat sets a moved chat's changesets to those of its new session.
func (mv *mover) settleChat(tx *hub.Tx, session ahp.URI, chat *ahp.ChatState) {
	if len(chat.Changesets) > 0 {
		tx.Apply(chat.Resource, &ahp.ChatChangesetsChangedAction{Changesets: mv.h.Changes.ChatCatalogue(session,
			chat.Resource, chat.WorkingDirectories)})
	}
}

// moveOut moves a chat into a new session with the agent, directories and settings of the old one.
func (mv *mover) moveOut(ctx context.Context, c core.Caller, info hub.ChannelInfo) (res ahp.MoveChatResult, err error) {
	if err := c.MayCall("createSession", core.RootInfo); err != nil {
		return res, err
	}
	to := core.NewSessionURI()
	if err := mv.h.checkNewURI(to); err != nil {
		return res, err
	}
	err = mv.relocate(ctx, to, func(tx *hub.Tx, moves func(move) error) error {
		m, err := mv.prepare(tx, info)
		if err == nil {
			err = m.checkIdle()
		}
		if err == nil {
			err = moves(m)
		}
		if err == nil {
			mv.createSession(tx, m, to)
		}
		return err
	})
	if err != nil {
		mv.h.Changes.Forget(ctx, to)
		return res, err
	}
	return ahp.MoveChatResult{Session: to}, nil
}

func (mv *mover) createSession(tx *hub.Tx, m move, to ahp.URI) {
	dirs := m.state.WorkingDirectories
	if own := m.chats[0].WorkingDirectories; len(own) > 0 {
		dirs = own
	}
	first := m.family[0]
	first.Movable = ahp.Ptr(false)
	s := &ahp.SessionState{
		Provider: m.state.Provider, Title: first.Title, Status: ahp.SessionStatusIdle,
		Lifecycle:          ahp.SessionLifecycleCreating,
		WorkingDirectories: dirs, Config: cloneConfig(m.state.Config), ActiveClients: []ahp.SessionActiveClient{},
		Project:     projectOf(dirs),
		Annotations: &ahp.AnnotationsSummary{Resource: core.AnnotationsURI(to)},
		Chats:       append([]ahp.ChatSummary{first}, m.family[1:]...), DefaultChat: first.Resource,
		Changesets: mv.h.Changes.Catalogue(to),
	}
	mv.h.core.MustOpen(tx, core.SessionInfo(to), s)
	mv.h.enlist(tx, to, s, core.Timestamp(mv.h.core.Now()))
	for i, c := range m.family {
		mv.removeChat(tx, m.from, c.Resource)
		tx.Move(c.Resource, to)
		mv.settleChat(tx, to, m.chats[i])
	}
	tx.Apply(first.Resource, &ahp.ChatMovableChangedAction{Movable: false})
	tx.Effect(to, func(context.Context) { mv.h.begin(to) })
}

func cloneConfig(c *ahp.SessionConfigState) *ahp.SessionConfigState {
	if c == nil {
		return nil
	}
	own := *c
	own.Values = maps.Clone(c.Values)
	delete(own.Values, worktrees.IsolationKey) // the directory belongs to the old session
	return &own
}

// nextDefault returns the chat that replaces a disposed default chat, or "".
func nextDefault(s *ahp.SessionState, gone ahp.URI) ahp.URI {
	for _, c := range s.Chats {
		made := false
		if c.Origin != nil {
			_, made = c.Origin.Value.(*ahp.ChatOriginTool)
		}
		if c.Resource != gone && !made && (c.Interactivity == "" || c.Interactivity == ahp.ChatInteractivityFull) {
			return c.Resource
		}
	}
	return ""
}

// promoteChat makes a chat the session's default, which is never movable.
func (mv *mover) promoteChat(tx *hub.Tx, session, chat ahp.URI) {
	tx.Apply(session, &ahp.SessionDefaultChatChangedAction{DefaultChat: chat})
	tx.Apply(chat, &ahp.ChatMovableChangedAction{Movable: false})
}
