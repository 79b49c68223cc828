package ahp

import "reflect"

// Base returns the fields common to all states of a tool call, or nil for an unknown state. The
// caller must not modify it.
func (s ToolCallState) Base() *ToolCallBase {
	switch v := s.Value.(type) {
	case *ToolCallStreamingState:
		return &v.ToolCallBase
	case *ToolCallPendingConfirmationState:
		return &v.ToolCallBase
	case *ToolCallRunningState:
		return &v.ToolCallBase
	case *ToolCallAuthRequiredState:
		return &v.ToolCallBase
	case *ToolCallPendingResultConfirmationState:
		return &v.ToolCallBase
	case *ToolCallCompletedState:
		return &v.ToolCallBase
	case *ToolCallCancelledState:
		return &v.ToolCallBase
	}
	return nil
}

// Status returns the state's name, empty for an unknown state.
func (s ToolCallState) Status() ToolCallStatus {
	switch s.Value.(type) {
	case *ToolCallStreamingState:
		return ToolCallStatusStreaming
	case *ToolCallPendingConfirmationState:
		return ToolCallStatusPendingConfirmation
	case *ToolCallRunningState:
		return ToolCallStatusRunning
	case *ToolCallAuthRequiredState:
		return ToolCallStatusAuthRequired
	case *ToolCallPendingResultConfirmationState:
		return ToolCallStatusPendingResultConfirmation
	case *ToolCallCompletedState:
		return ToolCallStatusCompleted
	case *ToolCallCancelledState:
		return ToolCallStatusCancelled
	}
	return ""
}

func chatToolCallStart(s *ChatState, a *ChatToolCallStartAction) *ChatState {
	t := s.turn(a.TurnID)
	if t == nil {
		return s
	}
	call := &ToolCallStreamingState{ToolCallBase: ToolCallBase{
		ToolCallID: a.ToolCallID, ToolName: a.ToolName, DisplayName: a.DisplayName,
		Intention: a.Intention, Contributor: a.Contributor, Meta: a.Meta,
	}}
	return s.withParts(t.ResponseParts.with(ResponsePart{&ToolCallResponsePart{ToolCallState{call}}}))
}

// editToolCall replaces the state of a tool call of the running turn by the one f returns, unless
// nil. f gets the common fields, with the action's _meta if it has one.
func editToolCall(s *ChatState, turn, id string, meta Meta,
	f func(ToolCallState, ToolCallBase) ToolCallStateValue) *ChatState {
	t := s.turn(turn)
	if t == nil {
		return s
	}
	i := t.ResponseParts.calls.find(id)
	if i < 0 {
		return s
	}
	call := t.ResponseParts.At(i).Value.(*ToolCallResponsePart).ToolCall
	base := *call.Base()
	if meta != nil {
		base.Meta = meta
	}
	next := f(call, base)
	if next == nil || sameCall(next, call.Value) {
		return s
	}
	return s.withParts(t.ResponseParts.replaced(i,
		ResponsePart{&ToolCallResponsePart{ToolCallState{next}}})).refreshed()
}

// sameCall reports whether two states of a call are equal. It compares the length of a streaming
// call's text first: it mostly differs, and comparing the rest takes longer than anything else here.
func sameCall(a, b ToolCallStateValue) bool {
	if x, ok := a.(*ToolCallStreamingState); ok {
		if y, ok := b.(*ToolCallStreamingState); ok && x.PartialInput.Len() != y.PartialInput.Len() {
			return false
		}
	}
	return reflect.DeepEqual(a, b)
}

func chatToolCallDelta(s *ChatState, a *ChatToolCallDeltaAction) *ChatState {
	return editToolCall(s, a.TurnID, a.ToolCallID, a.Meta, func(c ToolCallState, base ToolCallBase) ToolCallStateValue {
		v, ok := c.Value.(*ToolCallStreamingState)
		if !ok {
			return nil
		}
		next := *v
		next.ToolCallBase = base
		next.PartialInput = v.PartialInput.Append(a.Content)
		if a.InvocationMessage != nil {
			next.InvocationMessage = a.InvocationMessage
		}
		return &next
	})
}

// chatToolCallReady sets the parameters of a call, or asks again about one that waits or runs. With
// `confirmed` it runs at once. Fields that the action lacks keep their values.
func chatToolCallReady(s *ChatState, a *ChatToolCallReadyAction) *ChatState {
	return editToolCall(s, a.TurnID, a.ToolCallID, a.Meta, func(c ToolCallState, base ToolCallBase) ToolCallStateValue {
		next := ToolCallPendingConfirmationState{}
		switch v := c.Value.(type) {
		case *ToolCallStreamingState:
		case *ToolCallPendingConfirmationState:
			next = *v
		case *ToolCallRunningState:
			next.ToolInput = v.ToolInput
		default:
			return nil
		}
		next.ToolCallBase = base
		next.ready(a)
		if a.Confirmed != "" {
			return &ToolCallRunningState{
				ToolCallBase: next.ToolCallBase, ToolCallParameterFields: next.ToolCallParameterFields,
				ToolCallPostConfirmationFields: ToolCallPostConfirmationFields{Confirmed: a.Confirmed},
			}
		}
		return &next
	})
}

// ready overwrites the fields that the action has.
func (v *ToolCallPendingConfirmationState) ready(a *ChatToolCallReadyAction) {
	v.InvocationMessage = a.InvocationMessage
	setIfPresent(&v.ToolInput, a.ToolInput)
	if canRefineContributor(v.Contributor, a.Contributor) {
		v.Contributor = a.Contributor
	}
	setIfPresent(&v.ConfirmationTitle, a.ConfirmationTitle)
	setIfPresent(&v.RiskAssessment, a.RiskAssessment)
	setIfPresent(&v.Edits, a.Edits)
	setIfPresent(&v.Editable, a.Editable)
	if a.Intention != "" {
		v.Intention = a.Intention
	}
	if a.Options != nil {
		v.Options = a.Options
	}
}

// canRefineContributor reports whether next may replace the contributor from chat/toolCallStart. It
// must not change who executes the call (AHP requirement 141): a client's call stays that client's,
// and no other becomes a client's. Unknown kinds neither replace nor are replaced, because their
// executor is unknown.
func canRefineContributor(now, next *ToolCallContributor) bool {
	if next == nil {
		return false
	}
	owner, known := now.owner()
	same, alsoKnown := next.owner()
	return known && alsoKnown && owner == same
}

// owner names the executor of the call: a client, or the host, which calls MCP servers too. known
// is false for unknown kinds. A nil contributor is the host.
func (u *ToolCallContributor) owner() (name string, known bool) {
	if u == nil {
		return "host", true
	}
	switch v := u.Value.(type) {
	case *ToolCallClientContributor:
		return "client " + v.ClientID, true
	case *ToolCallMcpContributor:
		return "host", true
	}
	return "", false
}

// setIfPresent sets *to unless from is nil.
func setIfPresent[T any](to **T, from *T) {
	if from != nil {
		*to = from
	}
}

// chatToolCallConfirmed answers a call that waits for confirmation; the first answer wins (AHP requirement 122).
func chatToolCallConfirmed(s *ChatState, a *ChatToolCallConfirmedAction) *ChatState {
	return editToolCall(s, a.TurnID, a.ToolCallID, a.Meta, func(c ToolCallState, base ToolCallBase) ToolCallStateValue {
		v, ok := c.Value.(*ToolCallPendingConfirmationState)
		if !ok {
			return nil
		}
		option := v.option(a.SelectedOptionID)
		if !a.Approved {
			return &ToolCallCancelledState{
				ToolCallBase: base, ToolCallParameterFields: v.ToolCallParameterFields, Reason: a.Reason,
				ReasonMessage: a.ReasonMessage, UserSuggestion: a.UserSuggestion, SelectedOption: option,
			}
		}
		params := v.ToolCallParameterFields
		// Referenced input was rewritten at its URI, before the answer is echoed.
		if a.EditedToolInput != "" && (params.ToolInput == nil || params.ToolInput.Ref == nil) {
			params.ToolInput = &ToolInput{Text: a.EditedToolInput}
		}
		return &ToolCallRunningState{
			ToolCallBase: base, ToolCallParameterFields: params,
			ToolCallPostConfirmationFields: ToolCallPostConfirmationFields{Confirmed: a.Confirmed,
				SelectedOption: option},
		}
	})
}

func (v *ToolCallPendingConfirmationState) option(id string) *ConfirmationOption {
	i := indexOf(v.Options, func(o *ConfirmationOption) bool { return o.ID == id && id != "" })
	if i < 0 {
		return nil
	}
	return &v.Options[i]
}

// chatToolCallComplete ends a call. A call that waits for authentication can only fail, keeps its
// content, and its result needs no confirmation (AHP requirement 127).
func chatToolCallComplete(s *ChatState, a *ChatToolCallCompleteAction) *ChatState {
	return editToolCall(s, a.TurnID, a.ToolCallID, a.Meta, func(c ToolCallState, base ToolCallBase) ToolCallStateValue {
		ask := a.RequiresResultConfirmation != nil && *a.RequiresResultConfirmation
		done := ToolCallCompletedState{ToolCallBase: base, ToolCallResult: a.Result}
		switch v := c.Value.(type) {
		case *ToolCallRunningState:
			done.ToolCallParameterFields = v.ToolCallParameterFields
			done.ToolCallPostConfirmationFields = v.ToolCallPostConfirmationFields
		case *ToolCallPendingConfirmationState:
			done.ToolCallParameterFields = v.ToolCallParameterFields
			done.Confirmed = ToolCallConfirmationReasonNotNeeded
		case *ToolCallAuthRequiredState:
			if a.Result.Success {
				return nil
			}
			ask = false
			done.ToolCallParameterFields = v.ToolCallParameterFields
			done.ToolCallPostConfirmationFields = v.ToolCallPostConfirmationFields
			if done.Content == nil {
				done.Content = v.Content
			}
		default:
			return nil
		}
		if ask {
			return &ToolCallPendingResultConfirmationState{
				done.ToolCallBase, done.ToolCallParameterFields, done.ToolCallResult,
				done.ToolCallPostConfirmationFields,
			}
		}
		return &done
	})
}

func chatToolCallResultConfirmed(s *ChatState, a *ChatToolCallResultConfirmedAction) *ChatState {
	return editToolCall(s, a.TurnID, a.ToolCallID, a.Meta, func(c ToolCallState, base ToolCallBase) ToolCallStateValue {
		v, ok := c.Value.(*ToolCallPendingResultConfirmationState)
		if !ok {
			return nil
		}
		if a.Approved {
			return &ToolCallCompletedState{
				base, v.ToolCallParameterFields, v.ToolCallResult, v.ToolCallPostConfirmationFields,
			}
		}
		return &ToolCallCancelledState{
			ToolCallBase: base, ToolCallParameterFields: v.ToolCallParameterFields,
			Reason: ToolCallCancellationReasonResultDenied, SelectedOption: v.SelectedOption,
		}
	})
}

func chatToolCallContentChanged(s *ChatState, a *ChatToolCallContentChangedAction) *ChatState {
	return editToolCall(s, a.TurnID, a.ToolCallID, a.Meta, func(c ToolCallState, base ToolCallBase) ToolCallStateValue {
		v, ok := c.Value.(*ToolCallRunningState)
		if !ok {
			return nil
		}
		next := *v
		next.ToolCallBase, next.Content = base, a.Content
		return &next
	})
}

// chatToolCallAuthRequired pauses a running call of an MCP server; no other call can need its authentication.
func chatToolCallAuthRequired(s *ChatState, a *ChatToolCallAuthRequiredAction) *ChatState {
	return editToolCall(s, a.TurnID, a.ToolCallID, a.Meta, func(c ToolCallState, base ToolCallBase) ToolCallStateValue {
		v, ok := c.Value.(*ToolCallRunningState)
		if !ok || base.Contributor == nil {
			return nil
		}
		if _, mcp := base.Contributor.Value.(*ToolCallMcpContributor); !mcp {
			return nil
		}
		return &ToolCallAuthRequiredState{
			base, v.ToolCallParameterFields, v.ToolCallPostConfirmationFields, a.Auth, v.Content,
		}
	})
}

func chatToolCallAuthResolved(s *ChatState, a *ChatToolCallAuthResolvedAction) *ChatState {
	return editToolCall(s, a.TurnID, a.ToolCallID, a.Meta, func(c ToolCallState, base ToolCallBase) ToolCallStateValue {
		v, ok := c.Value.(*ToolCallAuthRequiredState)
		if !ok {
			return nil
		}
		return &ToolCallRunningState{base, v.ToolCallParameterFields, v.ToolCallPostConfirmationFields, v.Content}
	})
}

// skipped returns a tool call that has not ended as cancelled, for the end of its turn; others are
// unchanged.
func (part *ToolCallResponsePart) skipped() *ToolCallResponsePart {
	if part.ToolCall.Base() == nil {
		return part
	}
	call := &ToolCallCancelledState{ToolCallBase: *part.ToolCall.Base(), Reason: ToolCallCancellationReasonSkipped}
	switch v := part.ToolCall.Value.(type) {
	case *ToolCallStreamingState:
		if v.InvocationMessage != nil {
			call.InvocationMessage = *v.InvocationMessage
		}
	case *ToolCallPendingConfirmationState:
		call.ToolCallParameterFields = v.ToolCallParameterFields
	case *ToolCallRunningState:
		call.ToolCallParameterFields = v.ToolCallParameterFields
	case *ToolCallAuthRequiredState:
		call.ToolCallParameterFields = v.ToolCallParameterFields
	case *ToolCallPendingResultConfirmationState:
		call.ToolCallParameterFields = v.ToolCallParameterFields
	default:
		return part
	}
	return &ToolCallResponsePart{ToolCallState{call}}
}
