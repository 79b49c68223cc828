package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/texts"
)

// bucketBackground keeps what goes on in the background, so that a start after a crash takes it off the chats' lists.
const bucketBackground = "background" // key: terminal URI, value: background

// background is a command that goes on after the turn that started it (spec/chat-channel.md).
type background struct {
	ID      string  `json:"id"`
	Session ahp.URI `json:"session"`
	Chat    ahp.URI `json:"chat"`
}

// Background lists a command in its chat until it is over.
func (a agentHost) Background(ctx context.Context, s agent.BackgroundSpec) error {
	h := a.l.h
	t, ok := s.Terminal.(commandTerminal)
	if !ok {
		return errors.New("only a terminal of this session goes on in the background")
	}
	b := background{ID: ids.New(), Session: a.l.uri, Chat: s.Chat}
	raw, err := json.Marshal(b)
	if err != nil {
		return err
	}
	work := &ahp.ShellBackgroundWork{ID: b.ID, Label: texts.CutBytes(texts.OneLine(s.Label), core.MaxTitle), StartedAt: core.Timestamp(h.core.Now()),
		Command: texts.CutBytes(s.Command, mostCommand), Terminal: t.URI()}
	err = h.core.Do(ctx, func(tx *hub.Tx) {
		tx.Apply(s.Chat, &ahp.ChatBackgroundWorkSetAction{Work: ahp.BackgroundWork{Value: work}})
		t.background(tx)
		tx.Record(bucketBackground, t.URI(), raw)
	})
	if err != nil {
		return err
	}
	h.core.Go(func() { h.follow(t, b) }) // the turn that calls this is waited for before the host's own goroutines are
	return nil
}

// background takes the tool call off the terminal's claim: the session's alone is that of one in the background.
func (t *term) background(tx *hub.Tx) {
	if t.call == nil {
		return
	}
	chat := t.call.Chat
	t.call = nil
	s, open := hub.StateOf[*ahp.TerminalState](tx, t.info.URI)
	if !open || exited(s) {
		return
	}
	if _, session := s.Claim.Value.(*ahp.TerminalSessionClaim); session {
		tx.Apply(t.info.URI, t.bySession(chat))
	}
}

const mostCommand = 8 << 10 // of a command in the background, as clients are told

// follow takes a command off its chat's list once it is over. When the host stops, the next start does.
func (h *Host) follow(t commandTerminal, b background) {
	select {
	case <-t.program().Done():
	case <-h.core.Ctx.Done():
		return
	}
	if err := h.backgroundOver(h.core.Ctx, t.URI(), b); err != nil && h.core.Ctx.Err() == nil {
		h.core.Log.Warn("a command that ended is still listed", "terminal", t.info, "err", err)
	}
}

func (h *Host) backgroundOver(ctx context.Context, terminal ahp.URI, b background) error {
	if info, known := h.core.Hub.Info(b.Chat); known {
		if err := h.core.Wake(ctx, info); err != nil {
			return err
		}
	}
	return h.core.Do(ctx, func(tx *hub.Tx) {
		if tx.State(b.Chat) != nil { // disposed meanwhile, with all that was listed in it
			tx.Apply(b.Chat, &ahp.ChatBackgroundWorkRemovedAction{ID: b.ID})
		}
		tx.Record(bucketBackground, terminal, nil)
	})
}

// recoverBackground takes off the lists what ended with the host.
func (h *Host) recoverBackground(ctx context.Context) error {
	if h.core.Store == nil {
		return nil
	}
	records, err := h.core.Store.Records(ctx, bucketBackground)
	if err != nil {
		return err
	}
	for _, r := range records {
		var b background
		if err := json.Unmarshal(r.Value, &b); err != nil {
			return err
		}
		if err := h.backgroundOver(ctx, r.Key, b); err != nil {
			h.core.Log.Error("what ended with the host is still listed", "chat", b.Chat, "err", err)
		}
	}
	return nil
}

// MoveToBackground has a chat's turn no longer wait for the command it runs. Errors: -32008 no such chat, -32009 not
// allowed, -32011 nothing runs that could be moved.
func (h *Host) MoveToBackground(c core.Caller, chat ahp.URI) error {
	info, known := h.core.Hub.Info(chat)
	if !known || info.Kind != ahp.ChannelChat || !c.Audience().Sees(info) {
		return core.NoChannel(chat)
	}
	if err := access.MayAct(c.Principal, "chat/turnCancelled", info); err != nil { // who may stop a turn may let it go on
		return core.Denied(err)
	}
	if l := h.liveIf(info.Session); l != nil && l.move(chat) {
		return nil
	}
	return ahp.Errorf(ahp.CodeConflict, "nothing runs here that could go on in the background")
}

func (l *live) move(chat ahp.URI) bool {
	l.mu.Lock()
	mover, ok := l.agent.(agent.Mover)
	l.mu.Unlock()
	return ok && mover.Move(chat)
}
