package host

import (
	"fmt"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/texts"
)

// Rules of terminals.

const (
	mostKeys      = 64 << 10
	exitedAlready = "this terminal has exited: open another one"
)

func exited(s *ahp.TerminalState) bool {
	return s.Lifecycle.Status == ahp.TerminalLifecycleStatusExited
}

// checkTerminalInput lets the holder type and, while a session holds the terminal, everybody who may type.
func (h *Host) checkTerminalInput(r *core.Request, s *ahp.TerminalState, a *ahp.TerminalInputAction) string {
	switch {
	case exited(s):
		return exitedAlready
	case h.heldByClient(r, s):
		return "another client holds this terminal, so the keyboard is theirs: ask for it first"
	case len(a.Data) > mostKeys:
		return fmt.Sprintf("%d bytes are too many to type at once: at most %d", len(a.Data), mostKeys)
	}
	if t := h.terminalOf(r); t != nil && holds(r.Caller, s.Claim) {
		t.hold.typed(h, t)
	}
	return ""
}

// checkTerminalResized lets the holder resize. A session's own terminal has the size of
// whoever looks at it; a tool call's keeps the one its program was started with.
func (h *Host) checkTerminalResized(r *core.Request, s *ahp.TerminalState, a *ahp.TerminalResizedAction) string {
	switch {
	case exited(s):
		return exitedAlready
	case h.heldByOther(r, s):
		return "another client holds this terminal, so its size is theirs: claim the terminal first"
	case a.Cols < 1 || a.Rows < 1 || a.Cols > 1000 || a.Rows > 1000:
		return "a terminal has 1 to 1000 columns and rows"
	}
	return ""
}

func checkTerminalTitle(_ *core.Request, _ *ahp.TerminalState, a *ahp.TerminalTitleChangedAction) string {
	a.Title = texts.CutBytes(texts.OneLine(a.Title), core.MaxTitle)
	if a.Title == "" {
		return "a title needs at least one character"
	}
	return ""
}

func (h *Host) heldByOther(r *core.Request, s *ahp.TerminalState) bool {
	if claim, ok := s.Claim.Value.(*ahp.TerminalSessionClaim); ok {
		return claim.ToolCallID != ""
	}
	return h.heldByClient(r, s)
}

// heldByClient tells whether a client other than the caller holds the terminal, and is here.
func (h *Host) heldByClient(r *core.Request, s *ahp.TerminalState) bool {
	_, held := s.Claim.Value.(*ahp.TerminalClientClaim)
	if !held || holds(r.Caller, s.Claim) {
		return false
	}
	t := h.terminalOf(r)
	return t == nil || !t.hold.free(s.Claim)
}

// terminalOf returns the terminal of a request, nil when its program belongs to an earlier run.
func (h *Host) terminalOf(r *core.Request) *term {
	return h.terms.get(r.Info.URI)
}

// checkTerminalClaimed lets the holder pass a claim on, and anybody take one from a session
// for themselves (AHP requirements 165 and 167).
func (h *Host) checkTerminalClaimed(r *core.Request, s *ahp.TerminalState, a *ahp.TerminalClaimedAction) string {
	mine := holds(r.Caller, s.Claim)
	if h.heldByClient(r, s) {
		return "another client holds this terminal: ask it to hand the terminal over"
	}
	switch claim := a.Claim.Value.(type) {
	case *ahp.TerminalClientClaim:
		if claim.ClientID == "" || !mine && claim.ClientID != r.Caller.ClientID {
			return "a client can claim a terminal for itself only: name its own clientId"
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
