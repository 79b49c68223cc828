package ahp

import "testing"

// A call that waits for a sign-in can fail, and cannot succeed (AHP requirement 127).
func TestCallWaitingForSignInCannotSucceed(t *testing.T) {
	waits := &ToolCallAuthRequiredState{ToolCallBase: ToolCallBase{ToolCallID: "c", ToolName: "t"}}
	s := &ChatState{ActiveTurn: &ActiveTurn{ID: "t",
		ResponseParts: NewParts(ResponsePart{&ToolCallResponsePart{ToolCallState{waits}}})}}
	if next := Reduce(s, &ChatToolCallCompleteAction{TurnID: "t", ToolCallID: "c",
		Result: ToolCallResult{Success: true}}); next != State(s) {
		t.Error("it succeeded")
	}
	next := Reduce(s, &ChatToolCallCompleteAction{TurnID: "t", ToolCallID: "c"}).(*ChatState)
	call := next.ActiveTurn.ResponseParts.Call("c")
	if _, ok := call.Value.(*ToolCallCompletedState); !ok {
		t.Errorf("after a failure it is %T", call.Value)
	}
}
