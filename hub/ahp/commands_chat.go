package ahp

// CreateChatParams create a chat in the session Channel; the client chooses its name.
type CreateChatParams struct {
	Channel            URI         `json:"channel"`
	Chat               URI         `json:"chat"`
	InitialMessage     *Message    `json:"initialMessage,omitempty"`
	Source             *ChatSource `json:"source,omitempty"`
	WorkingDirectories []URI       `json:"workingDirectories,omitzero"`
	Meta               Meta        `json:"_meta,omitzero"`
}

// ChatSource is the starting point of a new chat.
type ChatSource struct{ Value ChatSourceValue }

// ChatSourceValue is implemented by *ForkChatSource, *SideChatSource and *UnknownVariant.
type ChatSourceValue interface{ isChatSource() }

func (*ForkChatSource) isChatSource() {}
func (*SideChatSource) isChatSource() {}
func (*UnknownVariant) isChatSource() {}

// MarshalJSON writes the variant with its discriminator.
func (u ChatSource) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ChatSource) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ForkChatSource starts with another chat's history up to a finished turn.
type ForkChatSource struct {
	Chat   URI    `json:"chat"`
	TurnID string `json:"turnId"`
}

// SideChatSource starts empty, with another chat as context.
type SideChatSource struct {
	Chat      URI                `json:"chat"`
	TurnID    string             `json:"turnId"`
	Selection *SideChatSelection `json:"selection,omitempty"`
}

// DisposeChatParams are the params of disposeChat.
type DisposeChatParams struct {
	Channel URI  `json:"channel"`
	Meta    Meta `json:"_meta,omitzero"`
}

// FetchTurnsParams ask for older turns; they arrive as chat/turnsLoaded before the answer.
type FetchTurnsParams struct {
	Channel URI    `json:"channel"`
	Cursor  string `json:"cursor,omitempty"`
	Meta    Meta   `json:"_meta,omitzero"`
}

// FetchTurnsResult is empty.
type FetchTurnsResult struct{}

// MoveChatParams move the chat Channel.
type MoveChatParams struct {
	Channel     URI                 `json:"channel"`
	Destination MoveChatDestination `json:"destination"`
	Meta        Meta                `json:"_meta,omitzero"`
}

// MoveChatSessionDestination is a position in a session: after another chat, or first.
type MoveChatSessionDestination struct {
	Session URI `json:"session"`
	After   URI `json:"after,omitempty"`
}

// MoveChatNewSessionDestination is a new session.
type MoveChatNewSessionDestination struct{}

// MoveChatResult names the session that now has the chat.
type MoveChatResult struct {
	Session URI `json:"session"`
}

// MoveChatDestination is the target of a moved chat.
type MoveChatDestination struct{ Value MoveChatDestinationValue }

// MoveChatDestinationValue is implemented by *MoveChatSessionDestination, *MoveChatNewSessionDestination and
// *UnknownVariant.
type MoveChatDestinationValue interface{ isMoveChatDestination() }

func (*MoveChatSessionDestination) isMoveChatDestination()    {}
func (*MoveChatNewSessionDestination) isMoveChatDestination() {}
func (*UnknownVariant) isMoveChatDestination()                {}

// MarshalJSON writes the variant with its discriminator.
func (u MoveChatDestination) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *MoveChatDestination) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// CreateTerminalParams create a terminal; the client chooses the channel's name.
type CreateTerminalParams struct {
	Channel URI           `json:"channel"`
	Claim   TerminalClaim `json:"claim"`
	Name    string        `json:"name,omitempty"`
	Cwd     URI           `json:"cwd,omitempty"`
	Cols    *int64        `json:"cols,omitempty"`
	Rows    *int64        `json:"rows,omitempty"`
	Meta    Meta          `json:"_meta,omitzero"`
}

// DisposeTerminalParams are the params of disposeTerminal.
type DisposeTerminalParams struct {
	Channel URI  `json:"channel"`
	Meta    Meta `json:"_meta,omitzero"`
}

// InvokeChangesetOperationParams run an operation of the changeset Channel.
type InvokeChangesetOperationParams struct {
	Channel     URI                       `json:"channel"`
	OperationID string                    `json:"operationId"`
	Target      *ChangesetOperationTarget `json:"target,omitempty"`
	Meta        Meta                      `json:"_meta,omitzero"`
}

// InvokeChangesetOperationResult is the result of invokeChangesetOperation.
type InvokeChangesetOperationResult struct {
	Message  *StringOrMarkdown           `json:"message,omitempty"`
	FollowUp *ChangesetOperationFollowUp `json:"followUp,omitempty"`
}

// ChangesetOperationFollowUp is something to show after an operation.
type ChangesetOperationFollowUp struct {
	Content  ContentRef `json:"content"`
	External *bool      `json:"external,omitempty"`
}

// ChangesetOperationTarget is the target of an operation.
type ChangesetOperationTarget struct{ Value ChangesetOperationTargetValue }

// ChangesetOperationTargetValue is implemented by *ChangesetOperationResourceTarget, *ChangesetOperationRangeTarget
// and *UnknownVariant.
type ChangesetOperationTargetValue interface{ isChangesetOperationTarget() }

func (*ChangesetOperationResourceTarget) isChangesetOperationTarget() {}
func (*ChangesetOperationRangeTarget) isChangesetOperationTarget()    {}
func (*UnknownVariant) isChangesetOperationTarget()                   {}

// MarshalJSON writes the variant with its discriminator.
func (u ChangesetOperationTarget) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ChangesetOperationTarget) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ChangesetOperationResourceTarget points at a file.
type ChangesetOperationResourceTarget struct {
	Resource URI           `json:"resource"`
	Side     ChangesetSide `json:"side,omitempty"`
}

// ChangesetOperationRangeTarget points at a part of a file.
type ChangesetOperationRangeTarget struct {
	Resource URI           `json:"resource"`
	Side     ChangesetSide `json:"side,omitempty"`
	Range    TextRange     `json:"range"`
}

// ListAutomationTriggerDefinitionsParams are the params of listAutomationTriggerDefinitions.
type ListAutomationTriggerDefinitionsParams struct {
	Channel            URI    `json:"channel"`
	Provider           string `json:"provider,omitempty"`
	WorkingDirectories []URI  `json:"workingDirectories,omitzero"`
	SessionConfig      Meta   `json:"sessionConfig,omitzero"`
	Meta               Meta   `json:"_meta,omitzero"`
}

// ListAutomationTriggerDefinitionsResult is the result of listAutomationTriggerDefinitions.
type ListAutomationTriggerDefinitionsResult struct {
	Items []AutomationTriggerDefinition `json:"items"`
}

// RunAutomationParams start a run.
type RunAutomationParams struct {
	Channel    URI    `json:"channel"`
	Automation URI    `json:"automation"`
	RequestID  string `json:"requestId"` // a repeated ID returns the same run
	Meta       Meta   `json:"_meta,omitzero"`
}

// RunAutomationResult is the result of runAutomation.
type RunAutomationResult struct {
	Resource URI `json:"resource"`
}

// FetchAutomationRunsParams ask for older runs; they arrive as automation/set before the answer.
type FetchAutomationRunsParams struct {
	Channel    URI    `json:"channel"`
	Automation URI    `json:"automation"`
	Cursor     string `json:"cursor,omitempty"`
	Meta       Meta   `json:"_meta,omitzero"`
}

// FetchAutomationRunsResult is empty.
type FetchAutomationRunsResult struct{}
