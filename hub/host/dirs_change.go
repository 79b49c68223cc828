package host

import (
	"context"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Clients' changes to a session's directories. The agent's capabilities decide whether it can have
// several, and what may happen to the first.

// checkDirs validates an action's directory before the hub's lock is taken. The returned check
// rejects an invalid one after the rights and the other rules.
func (h *Host) checkDirs(ctx context.Context, info hub.ChannelInfo, a ahp.Action, check hub.Check) hub.Check {
	var uri ahp.URI
	switch a := a.(type) {
	case *ahp.SessionWorkingDirectorySetAction:
		uri = a.Directory
	case *ahp.SessionWorkingDirectoryReplacedAction:
		uri = a.Replacement
	default:
		return check
	}
	provider := ""
	if e := h.core.Catalogue.Alive(info.Session); e != nil {
		provider = e.Summary.Provider
	}
	dirs, err := h.newDirs(ctx, info.Session, provider, []ahp.URI{uri})
	return func(tx *hub.Tx, s ahp.State, a ahp.Action) (ahp.Action, string) {
		a, reason := check(tx, s, a)
		switch {
		case reason != "":
			return nil, reason
		case err != nil:
			return nil, err.Error()
		}
		switch a := a.(type) { // the check's own copy
		case *ahp.SessionWorkingDirectorySetAction:
			a.Directory = dirs[0]
		case *ahp.SessionWorkingDirectoryReplacedAction:
			a.Replacement = dirs[0]
		}
		return a, ""
	}
}

// multipleDirs returns the capability of a session's agent for several directories, or nil if its
// directory is fixed.
func (h *Host) multipleDirs(r *core.Request, s *ahp.SessionState) *ahp.MultipleWorkingDirectoriesCapability {
	if c := h.agents.Info(s.Provider).Capabilities; c != nil {
		return c.MultipleWorkingDirectories
	}
	return nil
}

func (h *Host) checkDirSet(r *core.Request, s *ahp.SessionState, _ *ahp.SessionWorkingDirectorySetAction) string {
	switch {
	case h.multipleDirs(r, s) == nil:
		return fixedDirs
	case len(s.WorkingDirectories) >= mostDirs:
		return "this session has the maximum number of directories. Remove one first"
	}
	return checkIdle(s)
}

// mostDirs bounds the directories of a session.
const mostDirs = 32

func (h *Host) checkDirRemoved(r *core.Request, s *ahp.SessionState,
	a *ahp.SessionWorkingDirectoryRemovedAction) string {
	can := h.multipleDirs(r, s)
	switch {
	case can == nil:
		return fixedDirs
	case isPrimary(s, a.Directory) && (isTrue(can.ImmutablePrimary) || isTrue(can.PrimaryReplacement)):
		return "the first directory of this session can't be removed"
	case len(s.WorkingDirectories) == 1 && isPrimary(s, a.Directory):
		return "this is the session's only directory"
	}
	return checkUnused(s, a.Directory)
}

func (h *Host) checkDirReplaced(r *core.Request, s *ahp.SessionState,
	a *ahp.SessionWorkingDirectoryReplacedAction) string {
	can := h.multipleDirs(r, s)
	switch {
	case can == nil:
		return fixedDirs
	case !slices.Contains(s.WorkingDirectories, a.Directory):
		return "this session has no such directory. It may have been replaced already"
	case isPrimary(s, a.Directory) && !isTrue(can.PrimaryReplacement):
		return "the first directory of this session can't be replaced"
	}
	return checkUnused(s, a.Directory)
}

func isPrimary(s *ahp.SessionState, dir ahp.URI) bool {
	return len(s.WorkingDirectories) > 0 && s.WorkingDirectories[0] == dir
}

func isTrue(b *bool) bool { return b != nil && *b }

// checkIdle rejects a change of directories while an agent works in them. The next turn opens the
// agent in the new directories.
func checkIdle(s *ahp.SessionState) string {
	for _, c := range s.Chats {
		if isWorking(c.Status) {
			return "the agent is working in these directories. Wait for its turn to end, or cancel it"
		}
	}
	return ""
}

// checkUnused rejects the removal of a directory that a chat uses (AHP requirement 117) or an agent
// works in.
func checkUnused(s *ahp.SessionState, dir ahp.URI) string {
	for _, c := range s.Chats {
		if slices.Contains(c.WorkingDirectories, dir) {
			return "the chat " + c.Title + " uses this directory. Remove it from the chat first"
		}
	}
	return checkIdle(s)
}

func (h *Host) handleDirSet(_ context.Context, e *hub.Envelope, _ *ahp.SessionWorkingDirectorySetAction) {
	h.handleDirsChanged(e.Channel.URI)
}

func (h *Host) handleDirRemoved(_ context.Context, e *hub.Envelope, _ *ahp.SessionWorkingDirectoryRemovedAction) {
	h.handleDirsChanged(e.Channel.URI)
}

func (h *Host) handleDirReplaced(_ context.Context, e *hub.Envelope, _ *ahp.SessionWorkingDirectoryReplacedAction) {
	h.handleDirsChanged(e.Channel.URI)
}

// handleDirsChanged closes the session's agent; the next turn opens it in the current directories.
func (h *Host) handleDirsChanged(session ahp.URI) {
	h.dropIdle(session)
	h.Customs.Refresh(session)
}
