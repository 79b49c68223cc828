package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/texts"
)

// agentTerminal starts a command of a session's agent in a terminal that the tool call owns.
func (h *Host) agentTerminal(ctx context.Context, session ahp.URI, s agent.TerminalSpec) (agent.Terminal, error) {
	dir := s.Dir
	if dir == "" {
		dirs, err := h.sessionDirs(ctx, session)
		if err != nil {
			return nil, err
		}
		dir = append(dirs, h.cfg.DefaultDir)[0]
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	info := hub.ChannelInfo{URI: newTerminalURI(), Kind: ahp.ChannelTerminal, Session: session, Chat: s.Chat}
	claim := ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: session, Chat: s.Chat, TurnID: s.TurnID, ToolCallID: s.ToolCallID}}
	t, err := h.startTerminal(info, claim, machine.TerminalSpec{
		Command: s.Command, Dir: dir, Env: s.Env, Cols: s.Cols, Rows: s.Rows, Title: texts.CutBytes(texts.OneLine(s.Title), core.MaxTitle),
	}, true)
	if err != nil {
		return nil, err
	}
	return commandTerminal{t}, nil
}

// commandTerminal is the agent's hand on a command it started.
type commandTerminal struct{ *term }

// URI names the terminal's channel.
func (t commandTerminal) URI() ahp.URI { return t.info.URI }

// Wait blocks until the command is over, or somebody has it go on in the background.
func (t commandTerminal) Wait(ctx context.Context) (int, string, error) {
	p := t.program()
	select {
	case <-p.Done():
		code, _ := p.ExitCode()
		return code, t.Tail(), nil
	case <-t.detached:
		return 0, t.Tail(), agent.ErrDetached
	case <-ctx.Done():
		return 0, "", context.Cause(ctx)
	}
}

// Tail is the end of the command's output so far.
func (t commandTerminal) Tail() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.tail[max(0, len(t.tail)-mostTail):])
}

// Kill ends the command and what it started; the terminal stays to be looked at.
func (t commandTerminal) Kill() {
	p := t.program()
	if err := p.Kill(); err != nil {
		t.h.core.Log.Warn("a command does not end", "terminal", t.info, "err", err)
	}
}

// recoverTerminals marks the terminals of the last run as exited and gives them back
// what was saved of their screens. Nobody follows a channel yet, so each is opened anew.
func (h *Host) recoverTerminals(ctx context.Context) error {
	if h.core.Store == nil {
		return nil
	}
	saved, err := h.savedTerminals(ctx)
	if err != nil {
		return err
	}
	for _, t := range h.core.RootState().Terminals {
		if err := h.recoverTerminal(ctx, t, saved[t.Resource]); err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) savedTerminals(ctx context.Context) (map[ahp.URI]*ahp.TerminalState, error) {
	records, err := h.core.Store.Records(ctx, bucketTerminals)
	if err != nil {
		return nil, fmt.Errorf("host: read the terminals of the last run: %w", err)
	}
	out := make(map[ahp.URI]*ahp.TerminalState, len(records))
	for _, r := range records {
		var s savedTerminal
		if err := json.Unmarshal(r.Value, &s); err != nil || s.State == nil {
			h.core.Log.Warn("a terminal's saved screen cannot be read", "terminal", r.Key, "err", err)
			continue
		}
		out[r.Key] = s.State
	}
	return out, h.printedSince(ctx, out)
}

func (h *Host) recoverTerminal(ctx context.Context, t ahp.TerminalInfo, saved *ahp.TerminalState) error {
	info, known := h.core.Hub.Info(t.Resource)
	if !known {
		info = hub.ChannelInfo{URI: t.Resource, Kind: ahp.ChannelTerminal}
		saved = nil // closed, but the list was not told
	} else if saved == nil {
		saved = h.lastTerminal(ctx, t.Resource)
	}
	if claim, ok := t.Claim.Value.(*ahp.TerminalSessionClaim); ok && claim.ToolCallID != "" && saved != nil {
		h.adoptExited(info)
	}
	return h.core.Do(ctx, func(tx *hub.Tx) {
		tx.Close(t.Resource)
		if saved != nil {
			s := *saved
			if !exited(&s) {
				s.Lifecycle = ahp.TerminalLifecycleState{Status: ahp.TerminalLifecycleStatusExited}
			}
			h.core.MustOpen(tx, info, &s)
		}
		h.listTerminal(tx, t.Resource)
	})
}

// adoptExited counts a terminal of an earlier run among those that agents leave behind.
func (h *Host) adoptExited(info hub.ChannelInfo) {
	t := &term{h: h, info: info, agents: true}
	t.ctx, t.cancel = context.WithCancel(h.core.Ctx)
	if err := h.terms.add(t); err == nil {
		h.retain(t)
	}
}

// lastTerminal is what the journal knows of a terminal: everything but its output.
func (h *Host) lastTerminal(ctx context.Context, uri ahp.URI) *ahp.TerminalState {
	if err := h.core.Hub.Ensure(ctx, h.core.Loader(), uri); err != nil {
		h.core.Log.Warn("a terminal of the last run is lost", "terminal", uri, "err", err)
		return nil
	}
	s, _ := hub.StateOf[*ahp.TerminalState](h.core.Hub, uri)
	return s
}
