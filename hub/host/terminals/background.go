package terminals

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/texts"
)

// BucketBackground holds the background commands, so that a start after a crash removes them from
// the chats' lists.
const BucketBackground = "background" // key: terminal URI, value: background

// background is a command that continues after the turn that started it (spec/chat-channel.md).
type background struct {
	ID      string  `json:"id"`
	Session ahp.URI `json:"session"`
	Chat    ahp.URI `json:"chat"`
}

// Background lists a command of a session's agent in its chat until the command ends.
func (p *Part) Background(ctx context.Context, session ahp.URI, s agent.BackgroundSpec) error {
	t, ok := s.Terminal.(command)
	if !ok {
		return errors.New("only a terminal of this session can continue in the background")
	}
	b := background{ID: ids.New(), Session: session, Chat: s.Chat}
	raw, err := json.Marshal(b)
	if err != nil {
		return err
	}
	work := &ahp.ShellBackgroundWork{ID: b.ID, Label: texts.CutBytes(texts.OneLine(s.Label), core.MaxTitle),
		StartedAt: core.Timestamp(p.core.Now()), Command: texts.CutBytes(s.Command, mostCommand), Terminal: t.URI()}
	err = p.core.Do(ctx, func(tx *hub.Tx) {
		tx.Apply(s.Chat, &ahp.ChatBackgroundWorkSetAction{Work: ahp.BackgroundWork{Value: work}})
		t.releaseCall(tx)
		tx.Record(BucketBackground, t.URI(), raw)
	})
	if err != nil {
		return err
	}
	p.core.Go(func() { p.follow(t, b) }) // when the host stops, it waits for the calling turn before its own goroutines
	return nil
}

// releaseCall removes the tool call from the terminal's claim: the claim of a background command
// names only the session.
func (t *term) releaseCall(tx *hub.Tx) {
	if t.call == nil {
		return
	}
	chat := t.call.Chat
	t.call = nil
	s, open := hub.StateOf[*ahp.TerminalState](tx, t.info.URI)
	if !open || hasExited(s) {
		return
	}
	if _, session := s.Claim.Value.(*ahp.TerminalSessionClaim); session {
		tx.Apply(t.info.URI, t.sessionClaim(chat))
	}
}

const mostCommand = 8 << 10 // bytes of a background command sent to clients

// follow removes a command from its chat's list when it ends. If the host stops first, the next
// start does so.
func (p *Part) follow(t command, b background) {
	select {
	case <-t.program().Done():
	case <-p.core.Ctx.Done():
		return
	}
	if err := p.endBackground(p.core.Ctx, t.URI(), b); err != nil && p.core.Ctx.Err() == nil {
		p.core.Log.Warn("a command that ended is still listed", "terminal", t.info, "err", err)
	}
}

// endBackground removes a command from its chat's list.
func (p *Part) endBackground(ctx context.Context, terminal ahp.URI, b background) error {
	if info, known := p.core.Hub.Info(b.Chat); known {
		if err := p.core.Wake(ctx, info); err != nil {
			return err
		}
	}
	return p.core.Do(ctx, func(tx *hub.Tx) {
		if tx.State(b.Chat) != nil { // if disposed, its list is gone too
			tx.Apply(b.Chat, &ahp.ChatBackgroundWorkRemovedAction{ID: b.ID})
		}
		tx.Record(BucketBackground, terminal, nil)
	})
}

// recoverBackground removes the last run's commands from their chats' lists.
func (p *Part) recoverBackground(ctx context.Context) error {
	records, err := p.core.Store.Records(ctx, BucketBackground)
	if err != nil {
		return err
	}
	for _, r := range records {
		var b background
		if err := json.Unmarshal(r.Value, &b); err != nil {
			return err
		}
		if err := p.endBackground(ctx, r.Key, b); err != nil {
			p.core.Log.Error("cannot remove a background command of the last run from the list", "chat", b.Chat, "err",
				err)
		}
	}
	return nil
}
