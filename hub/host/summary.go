package host

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/worktrees"
)

// quiet actions change nothing in a summary; streamed text arrives thousands of times a second.
var quiet = map[string]bool{
	"chat/delta": true, "chat/reasoning": true, "chat/usage": true, "chat/toolCallDelta": true,
	"chat/toolCallContentChanged": true, "chat/draftChanged": true, "chat/turnsLoaded": true,
	"chat/backgroundWorkSet": true, "chat/backgroundWorkRemoved": true,
}

// deriveChat aggregates a chat's change into its session, then starts queued messages.
func (h *Host) deriveChat(tx *hub.Tx, e *hub.Envelope) {
	if _, draft := e.Action.(*ahp.ChatDraftChangedAction); draft || !quiet[e.Action.ActionType()] {
		defer h.provisional.reconsider(tx, e.Channel.Session)
	}
	if quiet[e.Action.ActionType()] {
		return
	}
	chat, ok := hub.StateOf[*ahp.ChatState](tx, e.Channel.URI)
	session, ok2 := hub.StateOf[*ahp.SessionState](tx, e.Channel.Session)
	if !ok || !ok2 {
		return
	}
	h.mirrorInputNeeded(tx, e.Channel, chat, session)
	h.mirrorSummary(tx, e.Channel, chat, session)
	switch a := e.Action.(type) {
	case *ahp.ChatTurnResumeAction:
		withdrawQuestions(tx, e.Channel.URI, chat)
		markInterrupted(tx, e.Channel.URI, chat, a)
	case *ahp.ChatTurnStartedAction:
		markInterrupted(tx, e.Channel.URI, chat, a)
		h.nameSession(tx, e.Channel.Session, a.Message.Text)
		if stamp, ok := core.ReadStamp(a.Message.Meta); ok {
			h.updateEntry(tx, e.Channel.Session, func(e *core.Entry) { e.By = stamp.By.Name })
		}
		h.markUnread(tx, e.Channel.Session)
	case *ahp.ChatToolCallConfirmedAction:
		allowKind(tx, session, e.Channel, chat, a)
	case *ahp.ChatInputRequestedAction:
		h.markUnread(tx, e.Channel.Session)
	case *ahp.ChatTurnCompleteAction, *ahp.ChatTurnCancelledAction:
		clearActivity(tx, e.Channel.URI, chat)
		h.turns.startQueued(tx, e.Channel, true)
	case *ahp.ChatErrorAction:
		clearActivity(tx, e.Channel.URI, chat)
		markInterrupted(tx, e.Channel.URI, chat, a)
		h.turns.startQueued(tx, e.Channel, true)
	case *ahp.ChatTruncatedAction:
		markInterrupted(tx, e.Channel.URI, chat, a)
		h.turns.startQueued(tx, e.Channel, false)
	case *ahp.ChatPendingMessageSetAction: // not Removed, which is part of starting a message
		h.turns.startQueued(tx, e.Channel, false)
	}
}

// mirrorSummary keeps the session's summary of a chat equal to the chat (AHP requirements 72 and
// 86).
func (h *Host) mirrorSummary(tx *hub.Tx, ch hub.ChannelInfo, chat *ahp.ChatState, session *ahp.SessionState) {
	i := slices.IndexFunc(session.Chats, func(c ahp.ChatSummary) bool { return c.Resource == ch.URI })
	if i < 0 {
		return
	}
	if changes, any := diffChat(session.Chats[i], summarizeChat(chat)); any {
		tx.Apply(ch.Session, &ahp.SessionChatUpdatedAction{Chat: ch.URI, Changes: changes})
	}
}

func summarizeChat(c *ahp.ChatState) ahp.ChatSummary {
	return ahp.ChatSummary{Resource: c.Resource, Title: c.Title, Status: c.Status, Activity: c.Activity,
		ModifiedAt: c.ModifiedAt, Origin: c.Origin, Interactivity: c.Interactivity,
		WorkingDirectories: c.WorkingDirectories, Changes: c.Changes, Movable: c.Movable}
}

// diffChat never sets the resource (AHP requirement 71). It ignores the title, which no action
// changes in the chat.
func diffChat(old, now ahp.ChatSummary) (d ahp.PartialChatSummary, any bool) {
	any = set(&d.Status, old.Status, now.Status) || any
	any = set(&d.Activity, old.Activity, now.Activity) || any
	any = set(&d.ModifiedAt, old.ModifiedAt, now.ModifiedAt) || any
	any = set(&d.Interactivity, old.Interactivity, now.Interactivity) || any
	if !slices.Equal(old.WorkingDirectories, now.WorkingDirectories) {
		d.WorkingDirectories, any = slices.Clip(append([]ahp.URI{}, now.WorkingDirectories...)), true
	}
	if now.Movable != nil && !reflect.DeepEqual(old.Movable, now.Movable) {
		d.Movable, any = now.Movable, true
	}
	return d, any
}

func set[T comparable](to **T, old, now T) bool {
	if old == now {
		return false
	}
	*to = &now
	return true
}

// deriveSession updates the session's entry, its record and the root's subscribers.
func (h *Host) deriveSession(tx *hub.Tx, e *hub.Envelope) {
	s, ok := hub.StateOf[*ahp.SessionState](tx, e.Channel.URI)
	if !ok {
		return
	}
	if gone, ok := e.Action.(*ahp.SessionActiveClientRemovedAction); ok {
		h.clients.Unlist(tx, e.Channel.URI, gone.ClientID)
	}
	if activity := activityOf(s); activity != s.Activity {
		tx.Apply(e.Channel.URI, &ahp.SessionActivityChangedAction{Activity: activity})
		return // that action's own derivation does the rest
	}
	h.updateEntry(tx, e.Channel.URI, func(e *core.Entry) { updateSummary(e, s) })
	h.provisional.reconsider(tx, e.Channel.URI)
}

// deriveAnnotations updates the counts in the session's summary.
func (h *Host) deriveAnnotations(tx *hub.Tx, e *hub.Envelope) {
	if s, ok := hub.StateOf[*ahp.AnnotationsState](tx, e.Channel.URI); ok {
		h.updateEntry(tx, e.Channel.Session,
			func(entry *core.Entry) { entry.Summary.Annotations = s.Summary(e.Channel.URI) })
		h.provisional.reconsider(tx, e.Channel.Session)
	}
}

// setChanges publishes the totals of a session's changed files.
func (h *Host) setChanges(tx *hub.Tx, session ahp.URI, changes *ahp.ChangesSummary) {
	h.updateEntry(tx, session, func(e *core.Entry) { e.Summary.Changes = changes })
	h.provisional.reconsider(tx, session)
}

// updateEntry changes a session's entry and notifies the root's subscribers of the differences.
func (h *Host) updateEntry(tx *hub.Tx, uri ahp.URI, change func(*core.Entry)) {
	old := h.core.Catalogue.Alive(uri)
	if old == nil {
		return
	}
	next := *old
	change(&next)
	changes, any := diffSummary(old.Summary, next.Summary)
	if !any && old.Lifecycle == next.Lifecycle && old.Branch == next.Branch && old.By == next.By &&
		old.Waiting == next.Waiting {
		return
	}
	h.core.Save(tx, &next)
	if any {
		h.notices.notifyChanged(tx, uri, changes)
	}
}

// updateSummary copies a session's state into its entry.
func updateSummary(e *core.Entry, s *ahp.SessionState) {
	sum := &e.Summary
	e.Lifecycle, e.Branch = s.Lifecycle, worktrees.ReadBranch(s.Meta).Name
	sum.Title, sum.Activity, sum.Project = s.Title, s.Activity, newestProject(s)
	sum.WorkingDirectories, sum.DefaultChat, sum.Origin = s.WorkingDirectories, s.DefaultChat, s.Origin
	sum.Status = statusOf(s)
	sum.ModifiedAt = max(sum.ModifiedAt, latest(s).ModifiedAt)
	sum.Chats = make([]ahp.SessionChatSummary, len(s.Chats))
	for i, c := range s.Chats {
		sum.Chats[i] = ahp.SessionChatSummary{Resource: c.Resource, Title: c.Title, Origin: c.Origin,
			Interactivity: c.Interactivity, Status: ahp.Ptr(c.Status), Changes: c.Changes}
	}
}

// statusOf aggregates the status (AHP requirement 73): the activity of the default chat, else of
// the latest one; a chat that needs input or failed takes precedence. The flags are the session's
// own.
func statusOf(s *ahp.SessionState) ahp.SessionStatus {
	status := ahp.SessionStatusIdle
	if main, ok := mainChat(s); ok {
		status = main.Status.Activity()
	}
	for _, c := range s.Chats {
		if c.Status.Activity() == ahp.SessionStatusError {
			status = ahp.SessionStatusError
		}
	}
	for _, c := range s.Chats {
		if c.Status.Activity() == ahp.SessionStatusInputNeeded {
			status = ahp.SessionStatusInputNeeded
		}
	}
	if s.Lifecycle == ahp.SessionLifecycleFailed {
		status = ahp.SessionStatusError
	}
	return s.Status.WithActivity(status)
}

// activityOf returns a session's activity: the main chat's, else any other's.
func activityOf(s *ahp.SessionState) string {
	main, _ := mainChat(s)
	activity := main.Activity
	for _, c := range s.Chats {
		activity = cmp.Or(activity, c.Activity)
	}
	return activity
}

func mainChat(s *ahp.SessionState) (ahp.ChatSummary, bool) {
	for _, c := range s.Chats {
		if c.Resource == s.DefaultChat {
			return c, true
		}
	}
	return latest(s), len(s.Chats) > 0
}

func latest(s *ahp.SessionState) (newest ahp.ChatSummary) {
	for _, c := range s.Chats {
		if c.ModifiedAt > newest.ModifiedAt {
			newest = c
		}
	}
	return newest
}

// diffSummary leaves out resource, provider and createdAt (AHP requirement 56).
func diffSummary(old, now ahp.SessionSummary) (d ahp.PartialSessionSummary, any bool) {
	any = set(&d.Title, old.Title, now.Title) || any
	any = set(&d.Status, old.Status, now.Status) || any
	any = set(&d.Activity, old.Activity, now.Activity) || any
	any = set(&d.ModifiedAt, old.ModifiedAt, now.ModifiedAt) || any
	any = set(&d.DefaultChat, old.DefaultChat, now.DefaultChat) || any
	any = replace(&d.Project, old.Project, now.Project) || any
	any = replace(&d.Annotations, old.Annotations, now.Annotations) || any
	any = replace(&d.Changes, old.Changes, now.Changes) || any
	if !slices.Equal(old.WorkingDirectories, now.WorkingDirectories) {
		d.WorkingDirectories, any = append([]ahp.URI{}, now.WorkingDirectories...), true
	}
	if !reflect.DeepEqual(old.Chats, now.Chats) {
		d.Chats, any = now.Chats, true
	}
	return d, any
}

func replace[T any](to **T, old, now *T) bool {
	if now == nil || reflect.DeepEqual(old, now) {
		return false
	}
	*to = now
	return true
}

// setSessionMeta publishes a value under the host's own key of a session's `_meta`; nil removes it.
// The hub's lock is held.
func setSessionMeta(tx *hub.Tx, session ahp.URI, key string, value any) {
	if s, ok := hub.StateOf[*ahp.SessionState](tx, session); ok {
		tx.Apply(session, &ahp.SessionMetaChangedAction{Meta: withHostMeta(s.Meta, key, value)})
	}
}

// withHostMeta returns a copy of m with a value set under the host's own key; nil removes it. Other
// keys are kept (AHP requirement 85).
func withHostMeta(m ahp.Meta, key string, value any) ahp.Meta {
	own := map[string]json.RawMessage{}
	_ = json.Unmarshal(m[core.MetaKey], &own) // absent at first
	delete(own, key)
	if raw, err := json.Marshal(value); err == nil && value != nil {
		own[key] = raw
	}
	out := core.CloneMeta(m)
	delete(out, core.MetaKey)
	if raw, err := json.Marshal(own); err == nil && len(own) > 0 {
		out[core.MetaKey] = raw
	}
	return out
}
