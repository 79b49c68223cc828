package ahp

import "reflect"

// Merge merges two neighbouring actions of one channel into one with the same effect:
// Reduce(Reduce(s, a), b) equals Reduce(s, merged) for every state s. It returns false if it
// cannot, and if their _meta differs, which belongs to each single action. The caller
// checks whether a client still waits for one of the actions.
//
// Merging a long run pair by pair takes linear time: the text of a merged action has room to grow.
func Merge(a, b Action) (Action, bool) {
	switch a := a.(type) {
	case *ChatDeltaAction:
		return mergeDelta(a, b)
	case *ChatReasoningAction:
		return mergeReasoning(a, b)
	case *ChatToolCallDeltaAction:
		return mergeToolCallDelta(a, b)
	case *TerminalDataAction:
		return mergeData(a, b)
	case *ChangesetContentChangedAction:
		return mergeContent(a, b)
	case nil:
		return nil, false
	}
	if info, ok := Info(a.ActionType()); !ok || info.Merge != MergeLast {
		return nil, false
	}
	keyA, keyB := mergeKey(a), mergeKey(b)
	if keyA.of == "" || keyA.of != keyB.of || keyA.id != keyB.id || !sameMeta(keyA.meta, keyB.meta) {
		return nil, false
	}
	return b, true
}

// Merged merges a run of actions without a new action for each step.
type Merged struct {
	Action Action
	own    bool // Action was created here and is not shared yet
}

// Merging starts a run with a.
func Merging(a Action) Merged { return Merged{Action: a} }

// Add merges one more action, or returns false and changes nothing. Action may be shared only after
// the last Add.
func (m *Merged) Add(next Action) bool {
	if m.own && appendMerged(m.Action, next) {
		return true
	}
	a, ok := Merge(m.Action, next)
	if ok {
		m.Action, m.own = a, a != next
	}
	return ok
}

// appendMerged appends a delta to a merged one of the same stream, and reports whether it did.
func appendMerged(to, next Action) bool {
	switch a := to.(type) {
	case *ChatDeltaAction:
		if b, ok := next.(*ChatDeltaAction); ok && a.joins(b) {
			a.merged = a.merged.Append(b.Content)
			a.Content = a.merged.String()
			return true
		}
	case *TerminalDataAction:
		if b, ok := next.(*TerminalDataAction); ok {
			a.merged = a.merged.Append(b.Data)
			a.Data = a.merged.String()
			return true
		}
	}
	return false
}

func (a *ChatDeltaAction) joins(b *ChatDeltaAction) bool {
	return a.TurnID == b.TurnID && a.PartID == b.PartID && sameMeta(a.Meta, b.Meta)
}

func sameMeta(a, b Meta) bool { return reflect.DeepEqual(a, b) }

func appendText(merged Text, a, b string) Text {
	if merged.Len() != len(a) {
		merged = NewText(a)
	}
	return merged.Append(b)
}

func mergeDelta(a *ChatDeltaAction, next Action) (Action, bool) {
	b, ok := next.(*ChatDeltaAction)
	if !ok || !a.joins(b) {
		return nil, false
	}
	text := appendText(a.merged, a.Content, b.Content)
	return &ChatDeltaAction{TurnID: a.TurnID, PartID: a.PartID, Content: text.String(), Meta: a.Meta, merged: text},
		true
}

func mergeReasoning(a *ChatReasoningAction, next Action) (Action, bool) {
	b, ok := next.(*ChatReasoningAction)
	if !ok || a.TurnID != b.TurnID || a.PartID != b.PartID || !sameMeta(a.Meta, b.Meta) {
		return nil, false
	}
	text := appendText(a.merged, a.Content, b.Content)
	return &ChatReasoningAction{TurnID: a.TurnID, PartID: a.PartID, Content: text.String(), Meta: a.Meta, merged: text},
		true
}

func mergeToolCallDelta(a *ChatToolCallDeltaAction, next Action) (Action, bool) {
	b, ok := next.(*ChatToolCallDeltaAction)
	if !ok || a.TurnID != b.TurnID || a.ToolCallID != b.ToolCallID || !sameMeta(a.Meta, b.Meta) {
		return nil, false
	}
	text := appendText(a.merged, a.Content, b.Content)
	out := &ChatToolCallDeltaAction{
		TurnID: a.TurnID, ToolCallID: a.ToolCallID, Content: text.String(),
		InvocationMessage: a.InvocationMessage, Meta: a.Meta, merged: text,
	}
	setIfPresent(&out.InvocationMessage, b.InvocationMessage)
	return out, true
}

func mergeData(a *TerminalDataAction, next Action) (Action, bool) {
	b, ok := next.(*TerminalDataAction)
	if !ok {
		return nil, false
	}
	text := appendText(a.merged, a.Data, b.Data)
	return &TerminalDataAction{Data: text.String(), merged: text}, true
}

// mergeContent keeps the operations of a if b does not change them.
func mergeContent(a *ChangesetContentChangedAction, next Action) (Action, bool) {
	b, ok := next.(*ChangesetContentChangedAction)
	if !ok {
		return nil, false
	}
	if b.Operations == nil && a.Operations != nil {
		return &ChangesetContentChangedAction{Files: b.Files, Operations: a.Operations}, true
	}
	return b, true
}

// target identifies what an action replaces. Of two neighbouring actions with the same target, the
// second suffices.
type target struct {
	of   string // the action's type
	id   string
	meta Meta
}

func mergeKey(a Action) target {
	if a == nil {
		return target{}
	}
	k := target{of: a.ActionType()}
	switch a := a.(type) {
	case *UnknownAction:
		return target{}
	case *SessionChatAddedAction:
		k.id = a.Summary.Resource
	case *SessionActiveClientSetAction:
		k.id = a.ActiveClient.ClientID
	case *SessionMcpServerStateChangedAction:
		k.id = a.ID
	case *ChatUsageAction:
		k.id, k.meta = a.TurnID, a.Meta
	case *ChatToolCallContentChangedAction:
		k.id, k.meta = a.TurnID+"\x00"+a.ToolCallID, a.Meta
	case *ChatBackgroundWorkSetAction:
		k.id = a.Work.id()
	case *ChangesetFileSetAction:
		k.id = a.File.ID
	case *ChangesetOperationStatusChangedAction:
		k.id = a.OperationID
	case *AutomationSetAction:
		k.id = a.Automation.Resource
	}
	return k
}
