package terminals

import (
	"fmt"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	mostKeys      = 64 << 10 // bytes per input action
	exitedAlready = "this terminal has exited: open another one"
	ownersAlone   = "this terminal is outside of the session's sandbox: only the owner can control it"
)

// Rules returns the checks of clients' actions on terminals.
func (p *Part) Rules() map[string]core.Check {
	return map[string]core.Check{
		"terminal/input":        core.Rule(p.checkInput),
		"terminal/resized":      core.Rule(p.checkResized),
		"terminal/claimed":      core.Rule(p.checkClaimed),
		"terminal/titleChanged": core.Rule(checkTitle),
		"terminal/cleared":      core.Accept,
	}
}

func hasExited(s *ahp.TerminalState) bool {
	return s.Lifecycle.Status == ahp.TerminalLifecycleStatusExited
}

// checkInput lets the holder type and, while a session holds the terminal, every client with the
// right to.
func (p *Part) checkInput(r *core.Request, s *ahp.TerminalState, a *ahp.TerminalInputAction) string {
	switch {
	case hasExited(s):
		return exitedAlready
	case p.isSecretTo(r):
		return ownersSecrets
	case p.IsUnconfined(r.Info.URI) && !r.Caller.IsOwner():
		return ownersAlone
	case p.isHeldByClient(r, s):
		return "another client controls this terminal. Request control first"
	case len(a.Data) > mostKeys:
		return fmt.Sprintf("%d bytes are too many to type at once: at most %d", len(a.Data), mostKeys)
	}
	if t := p.get(r.Info.URI); t != nil && isHolder(r.Caller, s.Claim) {
		t.hold.noteTyping(p, t)
	}
	return ""
}

// checkResized lets the holder resize, and every client if the session holds the terminal. A tool
// call's terminal keeps its initial size.
func (p *Part) checkResized(r *core.Request, s *ahp.TerminalState, a *ahp.TerminalResizedAction) string {
	switch {
	case hasExited(s):
		return exitedAlready
	case p.isHeldByOther(r, s):
		return "another client controls this terminal, and with it the size. Request control first"
	case a.Cols < 1 || a.Rows < 1 || a.Cols > 1000 || a.Rows > 1000:
		return "a terminal has 1 to 1000 columns and rows"
	}
	return ""
}

func checkTitle(_ *core.Request, _ *ahp.TerminalState, a *ahp.TerminalTitleChangedAction) string {
	a.Title = texts.CutBytes(texts.OneLine(a.Title), core.MaxTitle)
	if a.Title == "" {
		return "a title needs at least one character"
	}
	return ""
}

// isHeldByOther reports whether the terminal's holder prevents the caller from resizing it.
func (p *Part) isHeldByOther(r *core.Request, s *ahp.TerminalState) bool {
	if claim, ok := s.Claim.Value.(*ahp.TerminalSessionClaim); ok {
		return claim.ToolCallID != ""
	}
	return p.isHeldByClient(r, s)
}

// isHeldByClient reports whether another client, which is connected, holds the terminal.
func (p *Part) isHeldByClient(r *core.Request, s *ahp.TerminalState) bool {
	_, held := s.Claim.Value.(*ahp.TerminalClientClaim)
	if !held || isHolder(r.Caller, s.Claim) {
		return false
	}
	t := p.get(r.Info.URI)
	return t == nil || !t.hold.isFree(s.Claim)
}

// checkClaimed lets the holder transfer its claim, and a client take a session's claim for itself
// (AHP requirements 165 and 167).
func (p *Part) checkClaimed(r *core.Request, s *ahp.TerminalState, a *ahp.TerminalClaimedAction) string {
	mine := isHolder(r.Caller, s.Claim)
	if p.isSecretTo(r) && !mine {
		return ownersSecrets
	}
	if p.IsUnconfined(r.Info.URI) && !r.Caller.IsOwner() {
		return ownersAlone
	}
	if p.isHeldByClient(r, s) {
		return "another client controls this terminal. Request control first"
	}
	switch claim := a.Claim.Value.(type) {
	case *ahp.TerminalClientClaim:
		if claim.ClientID == "" || !mine && claim.ClientID != r.Caller.ClientID {
			return "a client can only claim a terminal for itself. Use its own clientId"
		}
	case *ahp.TerminalSessionClaim:
		if claim.Session != r.Info.Session || claim.Chat == "" {
			return "a terminal can only be claimed for its own session and one of its chats"
		}
	default:
		return "a terminal is always claimed, by a client or a session"
	}
	return ""
}
