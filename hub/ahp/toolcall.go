package ahp

// ToolCallState is a tool call in one of its states.
type ToolCallState struct{ Value ToolCallStateValue }

// ToolCallStateValue is implemented by *ToolCallStreamingState, *ToolCallPendingConfirmationState,
// *ToolCallRunningState, *ToolCallAuthRequiredState, *ToolCallPendingResultConfirmationState,
// *ToolCallCompletedState, *ToolCallCancelledState and *UnknownVariant.
type ToolCallStateValue interface{ isToolCallState() }

func (*ToolCallStreamingState) isToolCallState()                 {}
func (*ToolCallPendingConfirmationState) isToolCallState()       {}
func (*ToolCallRunningState) isToolCallState()                   {}
func (*ToolCallAuthRequiredState) isToolCallState()              {}
func (*ToolCallPendingResultConfirmationState) isToolCallState() {}
func (*ToolCallCompletedState) isToolCallState()                 {}
func (*ToolCallCancelledState) isToolCallState()                 {}
func (*UnknownVariant) isToolCallState()                         {}

// MarshalJSON writes the variant with its discriminator.
func (u ToolCallState) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ToolCallState) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ToolCallStatus names a state of a tool call.
type ToolCallStatus string

// The values of ToolCallStatus.
const (
	ToolCallStatusStreaming                 ToolCallStatus = "streaming"
	ToolCallStatusPendingConfirmation       ToolCallStatus = "pending-confirmation"
	ToolCallStatusRunning                   ToolCallStatus = "running"
	ToolCallStatusAuthRequired              ToolCallStatus = "auth-required"
	ToolCallStatusPendingResultConfirmation ToolCallStatus = "pending-result-confirmation"
	ToolCallStatusCompleted                 ToolCallStatus = "completed"
	ToolCallStatusCancelled                 ToolCallStatus = "cancelled"
)

// ToolCallBase holds the fields of a tool call in every state.
type ToolCallBase struct {
	ToolCallID  string               `json:"toolCallId"`
	ToolName    string               `json:"toolName"`
	DisplayName string               `json:"displayName"`
	Intention   string               `json:"intention,omitempty"`
	Contributor *ToolCallContributor `json:"contributor,omitempty"` // nil for a tool of the host
	Meta        Meta                 `json:"_meta,omitzero"`
}

// ToolCallParameterFields holds a call's fields once its parameters are complete.
type ToolCallParameterFields struct {
	InvocationMessage StringOrMarkdown `json:"invocationMessage"`
	ToolInput         *ToolInput       `json:"toolInput,omitempty"`
}

// ToolCallPostConfirmationFields holds a call's fields once it may run.
type ToolCallPostConfirmationFields struct {
	Confirmed      ToolCallConfirmationReason `json:"confirmed"`
	SelectedOption *ConfirmationOption        `json:"selectedOption,omitempty"`
}

// ToolCallStreamingState is a call whose parameters are being written.
type ToolCallStreamingState struct {
	ToolCallBase
	PartialInput      Text              `json:"partialInput,omitzero"`
	InvocationMessage *StringOrMarkdown `json:"invocationMessage,omitempty"`
}

// ToolCallPendingConfirmationState is a call that waits for approval.
type ToolCallPendingConfirmationState struct {
	ToolCallBase
	ToolCallParameterFields
	ConfirmationTitle *StringOrMarkdown       `json:"confirmationTitle,omitempty"`
	RiskAssessment    *ToolCallRiskAssessment `json:"riskAssessment,omitempty"`
	Edits             *FileEditCollection     `json:"edits,omitempty"`
	Editable          *bool                   `json:"editable,omitempty"`
	Options           []ConfirmationOption    `json:"options,omitzero"`
}

// ToolCallRunningState is a running call.
type ToolCallRunningState struct {
	ToolCallBase
	ToolCallParameterFields
	ToolCallPostConfirmationFields
	Content []ToolResultContent `json:"content,omitzero"` // output so far
}

// ToolCallAuthRequiredState is a call that waits for a token, and then continues.
type ToolCallAuthRequiredState struct {
	ToolCallBase
	ToolCallParameterFields
	ToolCallPostConfirmationFields
	Auth    McpAuthRequirement  `json:"auth"`
	Content []ToolResultContent `json:"content,omitzero"`
}

// ToolCallPendingResultConfirmationState is a call whose result waits for approval.
type ToolCallPendingResultConfirmationState struct {
	ToolCallBase
	ToolCallParameterFields
	ToolCallResult
	ToolCallPostConfirmationFields
}

// ToolCallCompletedState is a call that ended by itself, in success or failure.
type ToolCallCompletedState struct {
	ToolCallBase
	ToolCallParameterFields
	ToolCallResult
	ToolCallPostConfirmationFields
}

// ToolCallCancelledState is a call that was refused or skipped, or whose result was refused.
type ToolCallCancelledState struct {
	ToolCallBase
	ToolCallParameterFields
	Reason         ToolCallCancellationReason `json:"reason"`
	ReasonMessage  *StringOrMarkdown          `json:"reasonMessage,omitempty"`
	UserSuggestion *Message                   `json:"userSuggestion,omitempty"`
	SelectedOption *ConfirmationOption        `json:"selectedOption,omitempty"`
}

// ToolCallConfirmationState is a tool call that waits for a person.
type ToolCallConfirmationState struct {
	Value ToolCallConfirmationStateValue
}

// ToolCallConfirmationStateValue is implemented by *ToolCallPendingConfirmationState,
// *ToolCallPendingResultConfirmationState and *UnknownVariant.
type ToolCallConfirmationStateValue interface{ isToolCallConfirmationState() }

func (*ToolCallPendingConfirmationState) isToolCallConfirmationState()       {}
func (*ToolCallPendingResultConfirmationState) isToolCallConfirmationState() {}
func (*UnknownVariant) isToolCallConfirmationState()                         {}

// MarshalJSON writes the variant with its discriminator.
func (u ToolCallConfirmationState) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ToolCallConfirmationState) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ToolCallConfirmationReason is the reason a call may run.
type ToolCallConfirmationReason string

// The values of ToolCallConfirmationReason.
const (
	ToolCallConfirmationReasonNotNeeded  ToolCallConfirmationReason = "not-needed"
	ToolCallConfirmationReasonUserAction ToolCallConfirmationReason = "user-action"
	ToolCallConfirmationReasonSetting    ToolCallConfirmationReason = "setting"
)

// ToolCallCancellationReason is the reason a call was cancelled.
type ToolCallCancellationReason string

// The values of ToolCallCancellationReason.
const (
	ToolCallCancellationReasonDenied       ToolCallCancellationReason = "denied"
	ToolCallCancellationReasonSkipped      ToolCallCancellationReason = "skipped"
	ToolCallCancellationReasonResultDenied ToolCallCancellationReason = "result-denied"
)

// ToolCallContributor is the source of a tool that is not the host's own.
type ToolCallContributor struct{ Value ToolCallContributorValue }

// ToolCallContributorValue is implemented by *ToolCallClientContributor, *ToolCallMcpContributor and *UnknownVariant.
type ToolCallContributorValue interface{ isToolCallContributor() }

func (*ToolCallClientContributor) isToolCallContributor() {}
func (*ToolCallMcpContributor) isToolCallContributor()    {}
func (*UnknownVariant) isToolCallContributor()            {}

// MarshalJSON writes the variant with its discriminator.
func (u ToolCallContributor) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ToolCallContributor) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ToolCallClientContributor names the client that runs the call.
type ToolCallClientContributor struct {
	ClientID string `json:"clientId"`
}

// ToolCallMcpContributor names the MCP server that runs the call.
type ToolCallMcpContributor struct {
	CustomizationID string `json:"customizationId"`
}

// ToolCallRiskAssessment is a judgement of how safe a call is.
type ToolCallRiskAssessment struct{ Value ToolCallRiskAssessmentValue }

// ToolCallRiskAssessmentValue is implemented by *ToolCallRiskAssessmentLoadingState,
// *ToolCallRiskAssessmentCompleteState and *UnknownVariant.
type ToolCallRiskAssessmentValue interface{ isToolCallRiskAssessment() }

func (*ToolCallRiskAssessmentLoadingState) isToolCallRiskAssessment()  {}
func (*ToolCallRiskAssessmentCompleteState) isToolCallRiskAssessment() {}
func (*UnknownVariant) isToolCallRiskAssessment()                      {}

// MarshalJSON writes the variant with its discriminator.
func (u ToolCallRiskAssessment) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ToolCallRiskAssessment) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ToolCallRiskAssessmentLoadingState: the assessment is being made.
type ToolCallRiskAssessmentLoadingState struct {
	Kind ToolCallRiskAssessmentKind `json:"kind"`
}

// ToolCallRiskAssessmentCompleteState is a judgement.
type ToolCallRiskAssessmentCompleteState struct {
	Kind   ToolCallRiskAssessmentKind `json:"kind"`
	Reason StringOrMarkdown           `json:"reason"`
	Safety float64                    `json:"safety"` // 0 is unsafe, 1 is safe
}

// ToolCallRiskAssessmentKind is the source of an assessment.
type ToolCallRiskAssessmentKind string

// The values of ToolCallRiskAssessmentKind.
const (
	ToolCallRiskAssessmentKindJudge ToolCallRiskAssessmentKind = "judge"
)

// ConfirmationOption is an answer the host offers for a confirmation.
type ConfirmationOption struct {
	ID    string                 `json:"id"`
	Label string                 `json:"label"`
	Kind  ConfirmationOptionKind `json:"kind"`
	Group *int64                 `json:"group,omitempty"` // options with the same number belong together
}

// ConfirmationOptionKind distinguishes options that approve the call from those that deny it.
type ConfirmationOptionKind string

// The values of ConfirmationOptionKind.
const (
	ConfirmationOptionKindApprove ConfirmationOptionKind = "approve"
	ConfirmationOptionKindDeny    ConfirmationOptionKind = "deny"
)
