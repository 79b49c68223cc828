package ahp

// ToolCallState is one of the kinds of ToolCallStateValue.
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

// ToolCallStatus is an open set of names: unknown ones survive.
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

// ToolCallBase is a part of the protocol.
type ToolCallBase struct {
	ToolCallID  string               `json:"toolCallId"`
	ToolName    string               `json:"toolName"`
	DisplayName string               `json:"displayName"`
	Intention   string               `json:"intention,omitempty"`
	Contributor *ToolCallContributor `json:"contributor,omitempty"`
	Meta        Meta                 `json:"_meta,omitzero"`
}

// ToolCallParameterFields is a part of the protocol.
type ToolCallParameterFields struct {
	InvocationMessage StringOrMarkdown `json:"invocationMessage"`
	ToolInput         *ToolInput       `json:"toolInput,omitempty"`
}

// ToolCallPostConfirmationFields is a part of the protocol.
type ToolCallPostConfirmationFields struct {
	Confirmed      ToolCallConfirmationReason `json:"confirmed"`
	SelectedOption *ConfirmationOption        `json:"selectedOption,omitempty"`
}

// ToolCallStreamingState is a part of the protocol.
type ToolCallStreamingState struct {
	ToolCallBase
	PartialInput      Text              `json:"partialInput,omitzero"`
	InvocationMessage *StringOrMarkdown `json:"invocationMessage,omitempty"`
}

// ToolCallPendingConfirmationState is a part of the protocol.
type ToolCallPendingConfirmationState struct {
	ToolCallBase
	ToolCallParameterFields
	ConfirmationTitle *StringOrMarkdown       `json:"confirmationTitle,omitempty"`
	RiskAssessment    *ToolCallRiskAssessment `json:"riskAssessment,omitempty"`
	Edits             *FileEditCollection     `json:"edits,omitempty"`
	Editable          *bool                   `json:"editable,omitempty"`
	Options           []ConfirmationOption    `json:"options,omitzero"`
}

// ToolCallRunningState is a part of the protocol.
type ToolCallRunningState struct {
	ToolCallBase
	ToolCallParameterFields
	ToolCallPostConfirmationFields
	Content []ToolResultContent `json:"content,omitzero"`
}

// ToolCallAuthRequiredState is a part of the protocol.
type ToolCallAuthRequiredState struct {
	ToolCallBase
	ToolCallParameterFields
	ToolCallPostConfirmationFields
	Auth    McpAuthRequirement  `json:"auth"`
	Content []ToolResultContent `json:"content,omitzero"`
}

// ToolCallPendingResultConfirmationState is a part of the protocol.
type ToolCallPendingResultConfirmationState struct {
	ToolCallBase
	ToolCallParameterFields
	ToolCallResult
	ToolCallPostConfirmationFields
}

// ToolCallCompletedState is a part of the protocol.
type ToolCallCompletedState struct {
	ToolCallBase
	ToolCallParameterFields
	ToolCallResult
	ToolCallPostConfirmationFields
}

// ToolCallCancelledState is a part of the protocol.
type ToolCallCancelledState struct {
	ToolCallBase
	ToolCallParameterFields
	Reason         ToolCallCancellationReason `json:"reason"`
	ReasonMessage  *StringOrMarkdown          `json:"reasonMessage,omitempty"`
	UserSuggestion *Message                   `json:"userSuggestion,omitempty"`
	SelectedOption *ConfirmationOption        `json:"selectedOption,omitempty"`
}

// ToolCallConfirmationState is one of the kinds of ToolCallConfirmationStateValue.
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

// ToolCallConfirmationReason is an open set of names: unknown ones survive.
type ToolCallConfirmationReason string

// The values of ToolCallConfirmationReason.
const (
	ToolCallConfirmationReasonNotNeeded  ToolCallConfirmationReason = "not-needed"
	ToolCallConfirmationReasonUserAction ToolCallConfirmationReason = "user-action"
	ToolCallConfirmationReasonSetting    ToolCallConfirmationReason = "setting"
)

// ToolCallCancellationReason is an open set of names: unknown ones survive.
type ToolCallCancellationReason string

// The values of ToolCallCancellationReason.
const (
	ToolCallCancellationReasonDenied       ToolCallCancellationReason = "denied"
	ToolCallCancellationReasonSkipped      ToolCallCancellationReason = "skipped"
	ToolCallCancellationReasonResultDenied ToolCallCancellationReason = "result-denied"
)

// ToolCallContributor is one of the kinds of ToolCallContributorValue.
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

// ToolCallClientContributor is a part of the protocol.
type ToolCallClientContributor struct {
	ClientID string `json:"clientId"`
}

// ToolCallMcpContributor is a part of the protocol.
type ToolCallMcpContributor struct {
	CustomizationID string `json:"customizationId"`
}

// ToolCallRiskAssessment is one of the kinds of ToolCallRiskAssessmentValue.
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

// ToolCallRiskAssessmentLoadingState is a part of the protocol.
type ToolCallRiskAssessmentLoadingState struct {
	Kind ToolCallRiskAssessmentKind `json:"kind"`
}

// ToolCallRiskAssessmentCompleteState is a part of the protocol.
type ToolCallRiskAssessmentCompleteState struct {
	Kind   ToolCallRiskAssessmentKind `json:"kind"`
	Reason StringOrMarkdown           `json:"reason"`
	Safety float64                    `json:"safety"`
}

// ToolCallRiskAssessmentKind is an open set of names: unknown ones survive.
type ToolCallRiskAssessmentKind string

// The values of ToolCallRiskAssessmentKind.
const (
	ToolCallRiskAssessmentKindJudge ToolCallRiskAssessmentKind = "judge"
)

// ConfirmationOption is a part of the protocol.
type ConfirmationOption struct {
	ID    string                 `json:"id"`
	Label string                 `json:"label"`
	Kind  ConfirmationOptionKind `json:"kind"`
	Group *int64                 `json:"group,omitempty"`
}

// ConfirmationOptionKind is an open set of names: unknown ones survive.
type ConfirmationOptionKind string

// The values of ConfirmationOptionKind.
const (
	ConfirmationOptionKindApprove ConfirmationOptionKind = "approve"
	ConfirmationOptionKindDeny    ConfirmationOptionKind = "deny"
)
