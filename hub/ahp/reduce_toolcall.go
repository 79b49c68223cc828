package ahp

import "reflect"

// Base returns what every state of a tool call has, nil for an unknown state. It must not be written to.
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

// editToolCall moves a tool call of the running turn to the state f returns; nil leaves it. f is given the common
// fields with the action's _meta in place, if it has one.
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

// sameCall compares two states of a call. Of one that streams the text is compared first: it mostly differs, and
// looking at all the rest takes longer than anything else here.
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

// chatToolCallReady settles the parameters of a call, or asks once more about one that waits or runs. With `confirmed`
// it runs at once. What the host sent before stays where the
// action brings nothing in its place.
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

// ready lays what the action brings over what was known.
func (v *ToolCallPendingConfirmationState) ready(a *ChatToolCallReadyAction) {
	v.InvocationMessage = a.InvocationMessage
	keep(&v.ToolInput, a.ToolInput)
	if canRefineContributor(v.Contributor, a.Contributor) {
		v.Contributor = a.Contributor
	}
	keep(&v.ConfirmationTitle, a.ConfirmationTitle)
	keep(&v.RiskAssessment, a.RiskAssessment)
	keep(&v.Edits, a.Edits)
	keep(&v.Editable, a.Editable)
	if a.Intention != "" {
		v.Intention = a.Intention
	}
	if a.Options != nil {
		v.Options = a.Options
	}
}

// canRefineContributor reports whether next may stand in the place of what chat/toolCallStart said. It must not change
// who executes the call (AHP requirement 141): a call of a client stays that client's, and no other becomes a client's.
// Who executes calls of a kind of a later version is not known, so nothing takes its place and it takes none.
func canRefineContributor(now, next *ToolCallContributor) bool {
	if next == nil {
		return false
	}
	owner, known := now.owner()
	same, alsoKnown := next.owner()
	return known && alsoKnown && owner == same
}

// owner names who executes the call: a client, or the host, which calls MCP servers too. It returns false when that is
// not known. A nil contributor is the host.
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

// keep sets *to unless there is nothing to set it to.
func keep[T any](to **T, from *T) {
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
		// Referenced input was rewritten where it is kept, before the answer is echoed.
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

// chatToolCallComplete ends a call. A call that waits for authentication can only fail, keeps what it had produced,
// and its result is not put up for confirmation (AHP requirement 127).
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

// skipped returns the part as it stands once its turn is over, if it is a tool call that had not ended.
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
