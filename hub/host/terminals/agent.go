package terminals

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/texts"
)

// StartCommand starts a command of a session's agent in a terminal that its tool call owns.
func (p *Part) StartCommand(ctx context.Context, session ahp.URI, s agent.TerminalSpec) (agent.Terminal, error) {
	dir := s.Dir
	if dir == "" {
		dirs, err := p.cfg.Directories(ctx, session)
		if err != nil {
			return nil, err
		}
		dir = append(dirs, p.cfg.DefaultDir)[0]
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	info := hub.ChannelInfo{URI: newURI(), Kind: ahp.ChannelTerminal, Session: session, Chat: s.Chat}
	call := &ahp.TerminalSessionClaim{Session: session, Chat: s.Chat, TurnID: s.TurnID, ToolCallID: s.ToolCallID}
	t, err := p.start(info, ahp.TerminalClaim{Value: call}, machine.TerminalSpec{
		Command: s.Command, Dir: dir, Env: s.Env, Cols: s.Cols, Rows: s.Rows,
		Title: texts.CutBytes(texts.OneLine(s.Title), core.MaxTitle),
	}, kind{agents: true, given: true, unconfined: s.Unconfined})
	if err != nil {
		return nil, err
	}
	return command{t}, nil
}

// command implements agent.Terminal for a command that an agent started.
type command struct{ *term }

// URI returns the terminal's channel.
func (t command) URI() ahp.URI { return t.info.URI }

// Wait blocks until the command ends or is moved to the background.
func (t command) Wait(ctx context.Context) (int, string, error) {
	program := t.program()
	select {
	case <-program.Done():
		code, _ := program.ExitCode()
		return code, t.Tail(), nil
	case <-t.detached:
		return 0, t.Tail(), agent.ErrDetached
	case <-ctx.Done():
		return 0, "", context.Cause(ctx)
	}
}

// Tail returns the end of the command's output so far.
func (t command) Tail() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.tail[max(0, len(t.tail)-mostTail):])
}

// Kill ends the command and its child processes; the terminal remains.
func (t command) Kill() {
	program := t.program()
	if err := program.Kill(); err != nil {
		t.part.core.Log.Warn("a command does not end", "terminal", t.info, "err", err)
	}
}
