package host

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/texts"
)

func (h *Host) openChat(tx *hub.Tx, session ahp.URI, s *ahp.ChatState) {
	h.core.MustOpen(tx, hub.ChannelInfo{URI: s.Resource, Kind: ahp.ChannelChat, Session: session}, s)
}

// CreateChat adds a chat to a session. When it returns, the catalogue lists the chat (AHP
// requirement 90). A fork is an independent copy of the source's turns (95).
//
// Errors: -32001 no such session, -32010 the URI is taken, -32602 the source, a directory or the
// first message is invalid, -32009 not allowed.
func (h *Host) CreateChat(ctx context.Context, c core.Caller, p ahp.CreateChatParams) error {
	info, known := h.core.Hub.Info(p.Channel)
	if !known || info.Kind != ahp.ChannelSession || !c.Audience().Sees(info) {
		return core.NoSession(p.Channel)
	}
	if err := c.MayCall("createChat", info); err != nil {
		return err
	}
	if err := h.core.Ensure(ctx, info.URI); err != nil {
		return err
	}
	if err := h.ensureSource(ctx, info.URI, p.Source); err != nil {
		return err
	}
	var refused error
	err := h.core.Hub.Do(func(tx *hub.Tx) { refused = h.createChat(tx, c, info, p) })
	if err != nil {
		return err
	}
	return refused
}

func (h *Host) ensureSource(ctx context.Context, session ahp.URI, src *ahp.ChatSource) error {
	if src == nil {
		return nil
	}
	chat, ok := sourceChat(src)
	if !ok { // AHP requirements 91 and 93
		return core.BadParams("source: only a fork or a side chat is supported")
	}
	info, known := h.core.Hub.Info(chat)
	if !known || info.Kind != ahp.ChannelChat || info.Session != session { // AHP requirement 92
		return core.BadParams("source: there is no chat %s in this session", chat)
	}
	return h.core.Ensure(ctx, chat)
}

func sourceChat(src *ahp.ChatSource) (ahp.URI, bool) {
	switch v := src.Value.(type) {
	case *ahp.ForkChatSource:
		return v.Chat, true
	case *ahp.SideChatSource:
		return v.Chat, true
	}
	return "", false
}

// fillNewChat fills a new chat from its source.
func (h *Host) fillNewChat(tx *hub.Tx, s *ahp.SessionState, to *ahp.ChatState, src *ahp.ChatSource) error {
	if side, ok := src.Value.(*ahp.SideChatSource); ok {
		return h.startSideChat(tx, s, to, side)
	}
	return h.forkChat(tx, s, to, src)
}

func (h *Host) createChat(tx *hub.Tx, c core.Caller, info hub.ChannelInfo, p ahp.CreateChatParams) error {
	session, ok := hub.StateOf[*ahp.SessionState](tx, info.URI)
	if !ok {
		return core.NoSession(info.URI)
	}
	if err := h.checkNewChat(tx, session, p); err != nil {
		return err
	}
	chat := &ahp.ChatState{Resource: p.Chat, Title: chatTitle(len(session.Chats), p.InitialMessage),
		Status: ahp.SessionStatusIdle, ModifiedAt: core.Timestamp(h.core.Now()), Movable: ahp.Ptr(true),
		WorkingDirectories: p.WorkingDirectories, Changesets: h.Changes.ChatCatalogue(info.URI, p.Chat,
			p.WorkingDirectories), Turns: []*ahp.Turn{}, Origin: &ahp.ChatOrigin{Value: &ahp.ChatOriginUser{}}}
	if p.Source != nil {
		if err := h.fillNewChat(tx, session, chat, p.Source); err != nil {
			return err
		}
	}
	start := &ahp.ChatTurnStartedAction{TurnID: ids.New()}
	if p.InitialMessage != nil {
		start.Message = *p.InitialMessage
		r := &core.Request{Tx: tx, Caller: c, Info: hub.ChannelInfo{URI: p.Chat, Kind: ahp.ChannelChat,
			Session: info.URI}, State: chat, Now: h.core.Now()}
		if reason := h.turns.checkTurnStarted(r, chat, start); reason != "" {
			return core.BadParams("initialMessage: %s", reason)
		}
	}
	h.addChat(tx, info.URI, chat)
	if p.InitialMessage != nil {
		tx.Apply(p.Chat, start)
	}
	return nil
}

// chatTitle returns the title of a new chat, from its first message. No action changes it later.
func chatTitle(n int, first *ahp.Message) string {
	if first != nil && firstLine(first.Text) != "" {
		return texts.CutBytes(firstLine(first.Text), 80)
	}
	return fmt.Sprintf("Chat %d", n+1)
}

// addChat opens a chat and lists it in its session.
func (h *Host) addChat(tx *hub.Tx, session ahp.URI, chat *ahp.ChatState) {
	h.openChat(tx, session, chat)
	tx.Apply(session, &ahp.SessionChatAddedAction{Summary: summarizeChat(chat)})
}

func (h *Host) checkNewChat(tx *hub.Tx, s *ahp.SessionState, p ahp.CreateChatParams) error {
	if many := h.agents.Info(s.Provider).Capabilities; many == nil || many.MultipleChats == nil {
		return core.BadParams("the agent of this session cannot have more chats. Create another session")
	}
	if len(s.Chats) >= h.core.Limits.Chats { // AHP requirement 97
		return core.BadParams("this session already has %d chats. Dispose some first", len(s.Chats))
	}
	if err := core.CheckNewURI("chat", "chat", p.Chat, "ahp-chat"); err != nil {
		return err
	}
	if _, taken := tx.Info(p.Chat); taken || h.core.Catalogue.Get(p.Chat) != nil {
		return ahp.Errorf(ahp.CodeAlreadyExists, "the channel %s already exists. Choose another URI", p.Chat)
	}
	for _, d := range p.WorkingDirectories { // AHP requirement 117
		if !slices.Contains(s.WorkingDirectories, d) {
			return core.BadParams("workingDirectories: %s is not one of the session's", d)
		}
	}
	return nil
}

// forkChat copies the source's turns up to a completed turn (AHP requirements 93 and 95).
func (h *Host) forkChat(tx *hub.Tx, s *ahp.SessionState, to *ahp.ChatState, src *ahp.ChatSource) error {
	f, _ := src.Value.(*ahp.ForkChatSource)
	many := h.agents.Info(s.Provider).Capabilities.MultipleChats
	if f == nil || many.Fork == nil || !*many.Fork {
		return core.BadParams("source: the agent of this session cannot fork chats")
	}
	from, ok := hub.StateOf[*ahp.ChatState](tx, f.Chat)
	if !ok {
		return core.BadParams("source: there is no chat %s in this session", f.Chat)
	}
	i := core.TurnIndex(from, f.TurnID)
	if i < 0 {
		return core.BadParams("source: %s is not a completed turn of that chat", f.TurnID)
	}
	to.Turns = slices.Clone(from.Turns[:i+1]) // turns are immutable, so the copy shares them
	to.Origin = &ahp.ChatOrigin{Value: &ahp.ChatOriginFork{Chat: f.Chat, TurnID: f.TurnID}}
	if to.Title == chatTitle(len(s.Chats), nil) {
		to.Title = texts.CutBytes("Fork of "+from.Title, core.MaxTitle)
	}
	return nil
}

// DisposeChat removes a chat. If it is the default chat, another one becomes the default. The last
// chat cannot be removed.
func (h *Host) DisposeChat(ctx context.Context, c core.Caller, p ahp.DisposeChatParams) error {
	info, known := h.core.Hub.Info(p.Channel)
	if !known || info.Kind != ahp.ChannelChat || !c.Audience().Sees(info) {
		return core.NoChannel(p.Channel)
	}
	if err := c.MayCall("disposeChat", info); err != nil {
		return err
	}
	if err := h.moves.wakeChats(ctx, info.Session); err != nil {
		return err
	}
	var refused error
	err := h.core.Hub.Do(func(tx *hub.Tx) {
		s, ok := hub.StateOf[*ahp.SessionState](tx, info.Session)
		if !ok {
			refused = core.NoChannel(info.URI)
			return
		}
		if s.DefaultChat == info.URI {
			next := nextDefault(s, info.URI)
			if next == "" {
				refused = core.BadParams("channel: this is the session's only chat. Dispose the session instead")
				return
			}
			h.moves.promoteChat(tx, info.Session, next)
		}
		h.closeChat(tx, info)
	})
	if err != nil {
		return err
	}
	return refused
}

func (h *Host) closeChat(tx *hub.Tx, info hub.ChannelInfo) {
	h.forgetInputNeeded(tx, info.Session, info.URI)
	h.Changes.CloseChat(tx, info.Session, info.URI)
	tx.Close(info.URI)
	tx.Apply(info.Session, &ahp.SessionChatRemovedAction{Chat: info.URI}) // AHP requirement 102
	tx.Effect(info.URI, func(context.Context) { h.turns.endRun(info, "") })
}

// Older turns. A cursor names the oldest turn that its client has.

const turnsPage = 50

// TurnsView returns a chat for a subscriber that asked for the newest n turns, with a cursor for
// FetchTurns if there are older ones (AHP requirement 33).
func TurnsView(s *ahp.ChatState, n int64) *ahp.ChatState {
	if n < 0 || n >= int64(len(s.Turns)) {
		return s
	}
	view := *s
	view.Turns = s.Turns[len(s.Turns)-int(n):]
	view.TurnsNextCursor = turnsCursor(s.Turns, len(s.Turns)-int(n))
	return &view
}

// turnsCursor returns the cursor for all turns before turns[i].
func turnsCursor(turns []*ahp.Turn, i int) string {
	if i <= 0 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte("before:" + turnID(turns, i)))
}

func turnID(turns []*ahp.Turn, i int) string {
	if i < len(turns) {
		return turns[i].ID
	}
	return ""
}

// FetchTurns sends older turns to the requesting connection, as chat/turnsLoaded, before it returns
// (AHP requirements 88 and 89).
func (h *Host) FetchTurns(ctx context.Context, c core.Caller, p ahp.FetchTurnsParams) error {
	if err := h.Prepare(ctx, c, p.Channel); err != nil {
		return err
	}
	s, ok := hub.StateOf[*ahp.ChatState](h.core.Hub, p.Channel)
	if !ok {
		return core.BadParams("channel: %s is not a chat", p.Channel)
	}
	end, err := turnsBefore(s.Turns, p.Cursor)
	if err != nil || c.Conn == nil {
		return err
	}
	start := max(0, end-turnsPage)
	c.Conn.Tell(p.Channel, &ahp.ChatTurnsLoadedAction{Turns: s.Turns[start:end], TurnsNextCursor: turnsCursor(s.Turns,
		start)})
	return nil
}

// turnsBefore returns the number of turns before a cursor. Without a cursor, it counts all turns.
func turnsBefore(turns []*ahp.Turn, cursor string) (int, error) {
	if cursor == "" {
		return len(turns), nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	id, ok := strings.CutPrefix(string(raw), "before:")
	i := slices.IndexFunc(turns, func(t *ahp.Turn) bool { return t.ID == id })
	switch {
	case err == nil && ok && id == "":
		return len(turns), nil
	case err != nil || !ok || i < 0:
		return 0, core.BadParams("cursor: it is not from this chat, or its turn was removed. Subscribe again")
	}
	return i, nil
}

// MoveChat moves a movable chat within its session, or with the chats its tools created into
// another session or a new one. If it fails, nothing changes.
//
// Errors: -32008 no such chat, -32001 no such session, -32004 the chat is busy, -32009 not allowed,
// -32602 the chat cannot be moved, or not to that destination.
func (h *Host) MoveChat(ctx context.Context, c core.Caller, p ahp.MoveChatParams) (ahp.MoveChatResult, error) {
	info, known := h.core.Hub.Info(p.Channel)
	if !known || info.Kind != ahp.ChannelChat || !c.Audience().Sees(info) {
		return ahp.MoveChatResult{}, core.NoChannel(p.Channel)
	}
	if err := c.MayCall("moveChat", info); err != nil {
		return ahp.MoveChatResult{}, err
	}
	if err := h.moves.wakeChats(ctx, info.Session); err != nil {
		return ahp.MoveChatResult{}, err
	}
	switch to := p.Destination.Value.(type) {
	case *ahp.MoveChatSessionDestination:
		return h.moves.moveInto(ctx, c, info, to)
	case *ahp.MoveChatNewSessionDestination:
		return h.moves.moveOut(ctx, c, info)
	}
	return ahp.MoveChatResult{}, core.BadParams("destination: name a session or request a new one")
}
