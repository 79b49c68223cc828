package host

import (
	"bytes"
	"context"
	"slices"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/threads"
)

// refers reports whether the part of a session that a guest sees refers to a file version: in
// changes, or in tool calls and threads unless the changes hide the file. name is the file's path.
func (h *Host) refers(ctx context.Context, c core.Caller, session, uri ahp.URI, name string) bool {
	if c.Scope.IsChangeset() && h.core.Ensure(ctx, c.Scope.URI) != nil {
		return false
	}
	mentioned := false
	for _, channel := range h.core.Hub.OfSession(session) {
		info, known := h.core.Hub.Info(channel)
		st, _, awake := h.core.Hub.State(channel)
		if !known || !awake || !c.Audience().Sees(info) {
			continue
		}
		switch s := c.Audience().State(info, st).(type) {
		case *ahp.ChangesetState:
			if slices.ContainsFunc(s.Files, func(f ahp.ChangesetFile) bool { return fileNames(&f, uri) }) {
				return true
			}
			if all, ok := st.(*ahp.ChangesetState); ok && hidesFile(c, all, name) {
				return false
			}
		case *ahp.AnnotationsState:
			mentioned = mentioned || slices.ContainsFunc(s.Annotations,
				func(t ahp.Annotation) bool { return threads.ThreadOrigin(&t).Version == uri })
		case *ahp.ChatState:
			mentioned = mentioned || chatNames(s, uri)
		}
	}
	return mentioned && !access.IsPrivateName(name)
}

// hidesFile reports whether a changeset hides a file from a guest.
func hidesFile(c core.Caller, s *ahp.ChangesetState, name string) bool {
	uri := core.FileURI(name)
	return slices.ContainsFunc(s.Files, func(f ahp.ChangesetFile) bool {
		return c.Hides(access.HidingOf(&f)) && (f.Edit.After != nil && f.Edit.After.URI == uri ||
			f.Edit.Before != nil && f.Edit.Before.URI == uri)
	})
}

func fileNames(f *ahp.ChangesetFile, uri ahp.URI) bool {
	if editNames(&f.Edit, uri) {
		return true
	}
	if !bytes.Contains(f.Meta[core.MetaKey], []byte(`"seen":`)) {
		return false // almost always; avoids decoding notes
	}
	seen := changes.ReadFileNote(f.Meta).Seen
	return seen != nil && (seen.Before == uri || seen.After == uri)
}

func editNames(e *ahp.FileEdit, uri ahp.URI) bool {
	return e.Before != nil && e.Before.Content.URI == uri || e.After != nil && e.After.Content.URI == uri
}

func chatNames(s *ahp.ChatState, uri ahp.URI) bool {
	if s.ActiveTurn != nil && partsName(s.ActiveTurn.ResponseParts.Slice(), uri) {
		return true
	}
	return slices.ContainsFunc(s.Turns, func(t *ahp.Turn) bool { return partsName(t.ResponseParts, uri) })
}

func partsName(parts []ahp.ResponsePart, uri ahp.URI) bool {
	return slices.ContainsFunc(parts, func(p ahp.ResponsePart) bool {
		switch v := p.Value.(type) {
		case *ahp.ToolCallResponsePart:
			return callNames(v.ToolCall, uri)
		case *ahp.ResourceResponsePart:
			return v.URI == uri
		}
		return false
	})
}

// callNames checks a call's proposed edits and its results. Results of clients' tools do not count,
// as the client could name any URI.
func callNames(call ahp.ToolCallState, uri ahp.URI) bool {
	var content []ahp.ToolResultContent
	var by *ahp.ToolCallContributor
	switch c := call.Value.(type) {
	case *ahp.ToolCallPendingConfirmationState:
		return c.Edits != nil && slices.ContainsFunc(c.Edits.Items,
			func(e ahp.FileEdit) bool { return editNames(&e, uri) })
	case *ahp.ToolCallRunningState:
		content, by = c.Content, c.Contributor
	case *ahp.ToolCallPendingResultConfirmationState:
		content, by = c.Content, c.Contributor
	case *ahp.ToolCallCompletedState:
		content, by = c.Content, c.Contributor
	}
	if by != nil {
		if _, ofClient := by.Value.(*ahp.ToolCallClientContributor); ofClient {
			return false
		}
	}
	return slices.ContainsFunc(content, func(r ahp.ToolResultContent) bool {
		switch v := r.Value.(type) {
		case *ahp.ToolResultFileEditContent:
			return editNames(&ahp.FileEdit{Before: v.Before, After: v.After}, uri)
		case *ahp.ToolResultResourceContent:
			return v.URI == uri
		}
		return false
	})
}
