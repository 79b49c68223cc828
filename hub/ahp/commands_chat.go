package ahp

// CreateChatParams are the params of createChat.
type CreateChatParams struct {
	Channel            URI         `json:"channel"`
	Chat               URI         `json:"chat"`
	InitialMessage     *Message    `json:"initialMessage,omitempty"`
	Source             *ChatSource `json:"source,omitempty"`
	WorkingDirectories []URI       `json:"workingDirectories,omitzero"`
	Meta               Meta        `json:"_meta,omitzero"`
}

// ChatSource is one of the kinds of ChatSourceValue.
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

// ForkChatSource is a part of the protocol.
type ForkChatSource struct {
	Chat   URI    `json:"chat"`
	TurnID string `json:"turnId"`
}

// SideChatSource is a part of the protocol.
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

// FetchTurnsParams are the params of fetchTurns.
type FetchTurnsParams struct {
	Channel URI    `json:"channel"`
	Cursor  string `json:"cursor,omitempty"`
	Meta    Meta   `json:"_meta,omitzero"`
}

// FetchTurnsResult is the result of fetchTurns.
type FetchTurnsResult struct{}

// MoveChatParams are the params of moveChat.
type MoveChatParams struct {
	Channel     URI                 `json:"channel"`
	Destination MoveChatDestination `json:"destination"`
	Meta        Meta                `json:"_meta,omitzero"`
}

// MoveChatSessionDestination is a part of the protocol.
type MoveChatSessionDestination struct {
	Session URI `json:"session"`
	After   URI `json:"after,omitempty"`
}

// MoveChatNewSessionDestination is a part of the protocol.
type MoveChatNewSessionDestination struct{}

// MoveChatResult is the result of moveChat.
type MoveChatResult struct {
	Session URI `json:"session"`
}

// MoveChatDestination is one of the kinds of MoveChatDestinationValue.
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

// CreateTerminalParams are the params of createTerminal.
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

// InvokeChangesetOperationParams are the params of invokeChangesetOperation.
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

// ChangesetOperationFollowUp is a part of the protocol.
type ChangesetOperationFollowUp struct {
	Content  ContentRef `json:"content"`
	External *bool      `json:"external,omitempty"`
}

// ChangesetOperationTarget is one of the kinds of ChangesetOperationTargetValue.
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

// ChangesetOperationResourceTarget is a part of the protocol.
type ChangesetOperationResourceTarget struct {
	Resource URI           `json:"resource"`
	Side     ChangesetSide `json:"side,omitempty"`
}

// ChangesetOperationRangeTarget is a part of the protocol.
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

// RunAutomationParams are the params of runAutomation.
type RunAutomationParams struct {
	Channel    URI    `json:"channel"`
	Automation URI    `json:"automation"`
	RequestID  string `json:"requestId"`
	Meta       Meta   `json:"_meta,omitzero"`
}

// RunAutomationResult is the result of runAutomation.
type RunAutomationResult struct {
	Resource URI `json:"resource"`
}

// FetchAutomationRunsParams are the params of fetchAutomationRuns.
type FetchAutomationRunsParams struct {
	Channel    URI    `json:"channel"`
	Automation URI    `json:"automation"`
	Cursor     string `json:"cursor,omitempty"`
	Meta       Meta   `json:"_meta,omitzero"`
}

// FetchAutomationRunsResult is the result of fetchAutomationRuns.
type FetchAutomationRunsResult struct{}
