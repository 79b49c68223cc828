package access

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// World returns the current state of a channel. Audiences of a changeset need it twice: a thread
// belongs to a changeset as long as its file does, and an action on a thread carries only the
// thread's id.
type World interface {
	State(uri ahp.URI) (s ahp.State, seq int64, awake bool)
}

// scopeAudience sees one part of a session: the session cut down to what concerns the part, and the
// threads about it.
type scopeAudience struct {
	guestAudience
	scope Scope
	world World
}

func (a scopeAudience) Key() string { return a.guestAudience.Key() + "|" + a.scope.URI }

func (a scopeAudience) Sees(ch hub.ChannelInfo) bool {
	return Principal{Role: RoleViewer, Session: a.session, Scope: a.scope}.sees(ch)
}

// State cuts down root, the session and its threads.
func (a scopeAudience) State(ch hub.ChannelInfo, s ahp.State) ahp.State {
	if !a.Sees(ch) {
		return nil
	}
	switch s := s.(type) {
	case *ahp.RootState:
		return &ahp.RootState{Agents: agentsFor(s.Agents), ActiveSessions: ahp.Ptr(int64(1)),
			Terminals: a.terminals(s.Terminals)}
	case *ahp.SessionState:
		return a.sessionState(s)
	case *ahp.AnnotationsState:
		return a.threads(s)
	}
	return a.shown.state(s)
}

// Action returns actions that concern the scope. An action of root or the session that this table
// does not name is dropped.
func (a scopeAudience) Action(ch hub.ChannelInfo, act ahp.Action) ahp.Action {
	if !a.Sees(ch) {
		return nil
	}
	keep := true
	switch ch.Kind {
	case ahp.ChannelRoot:
		return a.rootAction(act)
	case ahp.ChannelSession:
		keep = a.sessionAction(act)
	case ahp.ChannelAnnotations:
		keep = a.threadAction(ch.URI, act)
	}
	if !keep {
		return nil
	}
	return a.shown.action(act)
}

func (a scopeAudience) rootAction(act ahp.Action) ahp.Action {
	switch act := act.(type) {
	case *ahp.RootAgentsChangedAction:
		return &ahp.RootAgentsChangedAction{Agents: agentsFor(act.Agents)}
	case *ahp.RootTerminalsChangedAction:
		return &ahp.RootTerminalsChangedAction{Terminals: a.terminals(act.Terminals)}
	}
	return nil
}

// terminals keeps those of the scope's chat.
func (a scopeAudience) terminals(all []ahp.TerminalInfo) []ahp.TerminalInfo {
	return slices.DeleteFunc(a.guestAudience.terminals(all), func(t ahp.TerminalInfo) bool {
		claim, ok := t.Claim.Value.(*ahp.TerminalSessionClaim)
		return !ok || !a.scope.IsChat() || claim.Chat != a.scope.URI
	})
}

// Titles of a part, in place of the session's own: that one is made of the first message, which the
// part may not contain.
const (
	untitledChat   = "Chat"
	changesetTitle = "Changes"
)

// sessionState returns the part of the session that concerns the scope: its working directories, its
// one chat or changeset, and the number of threads about it.
func (a scopeAudience) sessionState(s *ahp.SessionState) *ahp.SessionState {
	out := &ahp.SessionState{Provider: s.Provider, Title: changesetTitle, Status: ahp.SessionStatusIdle,
		Lifecycle:          s.Lifecycle,
		WorkingDirectories: s.WorkingDirectories, ActiveClients: []ahp.SessionActiveClient{},
		Chats: []ahp.ChatSummary{}}
	if s.Annotations != nil {
		out.Annotations = a.countThreads(s.Annotations.Resource)
	}
	if a.scope.IsChangeset() {
		for _, c := range s.Changesets {
			if c.URITemplate == a.scope.URI {
				out.Changesets = []ahp.Changeset{c}
			}
		}
		return out
	}
	for _, c := range s.Chats {
		if c.Resource != a.scope.URI {
			continue
		}
		out.Title, out.Status, out.Activity = cmp.Or(c.Title, untitledChat), c.Status, c.Activity
		out.Chats, out.DefaultChat, out.Config = []ahp.ChatSummary{c}, c.Resource, s.Config
		if len(c.WorkingDirectories) > 0 {
			out.WorkingDirectories = c.WorkingDirectories
		}
	}
	for _, r := range s.InputNeeded {
		if a.concerns(r) {
			out.InputNeeded = append(out.InputNeeded, r)
		}
	}
	return out
}

// countThreads counts the threads that the channel shows this audience (AHP requirement 159); nil
// when they are not in memory.
func (a scopeAudience) countThreads(uri ahp.URI) *ahp.AnnotationsSummary {
	s, ok := a.state(uri).(*ahp.AnnotationsState)
	if !ok {
		return nil
	}
	return a.threads(s).Summary(uri)
}

func (a scopeAudience) concerns(r ahp.SessionInputRequest) bool {
	switch v := r.Value.(type) {
	case *ahp.SessionChatInputRequest:
		return v.Chat == a.scope.URI
	case *ahp.SessionToolConfirmationRequest:
		return v.Chat == a.scope.URI
	case *ahp.SessionToolClientExecutionRequest:
		return v.Chat == a.scope.URI
	case *ahp.SessionToolAuthenticationRequest:
		return v.Chat == a.scope.URI
	}
	return false
}

func (a scopeAudience) sessionAction(act ahp.Action) bool {
	if _, ready := act.(*ahp.SessionReadyAction); ready || a.scope.IsChangeset() {
		return ready
	}
	switch act := act.(type) {
	case *ahp.SessionChatAddedAction:
		return act.Summary.Resource == a.scope.URI
	case *ahp.SessionChatUpdatedAction:
		return act.Chat == a.scope.URI
	case *ahp.SessionChatRemovedAction:
		return act.Chat == a.scope.URI
	case *ahp.SessionInputNeededSetAction:
		return a.concerns(act.Request)
	case *ahp.SessionInputNeededRemovedAction:
		return strings.HasPrefix(act.ID, a.scope.URI+"#") // the host builds ids of input requests this way
	case *ahp.SessionConfigChangedAction:
		return true
	}
	return false
}

func (a scopeAudience) threads(s *ahp.AnnotationsState) *ahp.AnnotationsState {
	out := &ahp.AnnotationsState{Annotations: []ahp.Annotation{}}
	about := a.about()
	for _, t := range s.Annotations {
		if about(&t) {
			out.Annotations = append(out.Annotations, t)
		}
	}
	return out
}

// about returns a predicate for threads about the scope: on a turn of its chat, or on a file that
// its changeset contains now.
func (a scopeAudience) about() func(*ahp.Annotation) bool {
	if a.scope.IsChat() {
		return func(t *ahp.Annotation) bool { return t.Origin.Chat == a.scope.URI && t.Origin.TurnID != "" }
	}
	files := map[ahp.URI]bool{}
	if cs, ok := a.state(a.scope.URI).(*ahp.ChangesetState); ok {
		for i := range cs.Files {
			for _, side := range []*ahp.FileEditSide{cs.Files[i].Edit.Before, cs.Files[i].Edit.After} {
				if side != nil {
					files[side.URI] = true
				}
			}
		}
	}
	return func(t *ahp.Annotation) bool { return files[t.Resource] }
}

func (a scopeAudience) state(uri ahp.URI) ahp.State {
	if a.world == nil {
		return nil
	}
	s, _, _ := a.world.State(uri)
	return s
}

// threadAction reports whether an action's thread is about the scope. Removals of unknown threads
// pass: an id reveals nothing, and a client without the thread ignores them.
func (a scopeAudience) threadAction(channel ahp.URI, act ahp.Action) bool {
	about := a.about()
	here := func(id string, gone bool) bool {
		now := a.thread(channel, id)
		return now == nil && gone || now != nil && about(now)
	}
	switch act := act.(type) {
	case *ahp.AnnotationsSetAction:
		return about(&act.Annotation) && here(act.Annotation.ID, true)
	case *ahp.AnnotationsUpdatedAction:
		return a.staysInScope(channel, act, about)
	case *ahp.AnnotationsEntrySetAction:
		return here(act.AnnotationID, false)
	case *ahp.AnnotationsEntryRemovedAction:
		return here(act.AnnotationID, false)
	case *ahp.AnnotationsRemovedAction:
		return here(act.AnnotationID, true)
	}
	return false
}

// staysInScope reports whether a thread is about the scope both before and after a change.
func (a scopeAudience) staysInScope(channel ahp.URI, act *ahp.AnnotationsUpdatedAction,
	about func(*ahp.Annotation) bool) bool {
	now := a.thread(channel, act.AnnotationID)
	if now == nil || !about(now) {
		return false
	}
	then := *now
	then.Resource = cmp.Or(act.Resource, then.Resource)
	if act.Origin != nil {
		then.Origin = *act.Origin
	}
	return about(&then)
}

func (a scopeAudience) thread(channel ahp.URI, id string) *ahp.Annotation {
	s, ok := a.state(channel).(*ahp.AnnotationsState)
	if !ok {
		return nil
	}
	for i := range s.Annotations {
		if s.Annotations[i].ID == id {
			return &s.Annotations[i]
		}
	}
	return nil
}
