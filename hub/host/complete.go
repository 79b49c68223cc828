package host

import (
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// snapshots completes the states that clients subscribe to.
type snapshots struct{ core *core.Core }

// complete fills in fields that no action of the protocol changes, so that a snapshot is correct
// when it is made. root/sessionSummaryChanged and session/chatUpdated report later changes.
func (sn snapshots) complete(tx *hub.Tx, ch hub.ChannelInfo, s ahp.State) ahp.State {
	switch s := s.(type) {
	case *ahp.SessionState:
		return sn.completeSession(ch.URI, s)
	case *ahp.ChatState:
		return completeChat(tx, ch.Session, s)
	}
	return s
}

// completeSession sets the number of threads (AHP requirement 159), whose channel may be unloaded,
// and derives the status from the chats (AHP requirement 73).
func (sn snapshots) completeSession(uri ahp.URI, s *ahp.SessionState) *ahp.SessionState {
	out := *s
	out.Status, out.Project = statusOf(s), newestProject(s)
	if e := sn.core.Catalogue.Alive(uri); e != nil && e.Summary.Annotations != nil {
		out.Annotations = e.Summary.Annotations
	}
	return &out
}

// newestProject returns the project of the first directory, which may have been replaced.
func newestProject(s *ahp.SessionState) *ahp.ProjectInfo {
	if p := projectOf(s.WorkingDirectories); p != nil {
		return p
	}
	return s.Project
}

// completeChat adds the chat's changes from the session's list of chats (AHP requirement 86).
func completeChat(tx *hub.Tx, session ahp.URI, s *ahp.ChatState) *ahp.ChatState {
	state, _ := hub.StateOf[*ahp.SessionState](tx, session)
	if state == nil {
		return s
	}
	i := slices.IndexFunc(state.Chats, func(c ahp.ChatSummary) bool { return c.Resource == s.Resource })
	if i < 0 || state.Chats[i].Changes == nil {
		return s
	}
	out := *s
	out.Changes = state.Chats[i].Changes
	return &out
}
