package ahp

// ChatToolCallStartAction is chat/toolCallStart: a call starts, its parameters follow.
type ChatToolCallStartAction struct {
	TurnID      string               `json:"turnId"`
	ToolCallID  string               `json:"toolCallId"`
	ToolName    string               `json:"toolName"`
	DisplayName string               `json:"displayName"`
	Intention   string               `json:"intention,omitempty"`
	Contributor *ToolCallContributor `json:"contributor,omitempty"`
	Meta        Meta                 `json:"_meta,omitzero"`
}

// ActionType returns "chat/toolCallStart".
func (*ChatToolCallStartAction) ActionType() string { return "chat/toolCallStart" }

// ChatToolCallDeltaAction is chat/toolCallDelta: more of the parameters.
type ChatToolCallDeltaAction struct {
	TurnID            string            `json:"turnId"`
	ToolCallID        string            `json:"toolCallId"`
	Content           string            `json:"content,omitempty"`
	InvocationMessage *StringOrMarkdown `json:"invocationMessage,omitempty"`
	Meta              Meta              `json:"_meta,omitzero"`

	merged Text // set by Merge: Content with room to grow
}

// ActionType returns "chat/toolCallDelta".
func (*ChatToolCallDeltaAction) ActionType() string { return "chat/toolCallDelta" }

// ChatToolCallReadyAction is chat/toolCallReady: the parameters are complete, or a running call asks again.
type ChatToolCallReadyAction struct {
	TurnID            string                     `json:"turnId"`
	ToolCallID        string                     `json:"toolCallId"`
	Contributor       *ToolCallContributor       `json:"contributor,omitempty"`
	Intention         string                     `json:"intention,omitempty"`
	InvocationMessage StringOrMarkdown           `json:"invocationMessage"`
	ToolInput         *ToolInput                 `json:"toolInput,omitempty"`
	ConfirmationTitle *StringOrMarkdown          `json:"confirmationTitle,omitempty"`
	RiskAssessment    *ToolCallRiskAssessment    `json:"riskAssessment,omitempty"`
	Edits             *FileEditCollection        `json:"edits,omitempty"`
	Editable          *bool                      `json:"editable,omitempty"`
	Confirmed         ToolCallConfirmationReason `json:"confirmed,omitempty"` // runs at once when set
	Options           []ConfirmationOption       `json:"options,omitzero"`
	Meta              Meta                       `json:"_meta,omitzero"`
}

// ActionType returns "chat/toolCallReady".
func (*ChatToolCallReadyAction) ActionType() string { return "chat/toolCallReady" }

// ChatToolCallCompleteAction is chat/toolCallComplete.
type ChatToolCallCompleteAction struct {
	TurnID                     string         `json:"turnId"`
	ToolCallID                 string         `json:"toolCallId"`
	Result                     ToolCallResult `json:"result"`
	RequiresResultConfirmation *bool          `json:"requiresResultConfirmation,omitempty"`
	Meta                       Meta           `json:"_meta,omitzero"`
}

// ActionType returns "chat/toolCallComplete".
func (*ChatToolCallCompleteAction) ActionType() string { return "chat/toolCallComplete" }

// ChatToolCallResultConfirmedAction is chat/toolCallResultConfirmed.
type ChatToolCallResultConfirmedAction struct {
	TurnID     string `json:"turnId"`
	ToolCallID string `json:"toolCallId"`
	Approved   bool   `json:"approved"`
	Meta       Meta   `json:"_meta,omitzero"`
}

// ActionType returns "chat/toolCallResultConfirmed".
func (*ChatToolCallResultConfirmedAction) ActionType() string { return "chat/toolCallResultConfirmed" }

// ChatToolCallContentChangedAction is chat/toolCallContentChanged: all output so far.
type ChatToolCallContentChangedAction struct {
	TurnID     string              `json:"turnId"`
	ToolCallID string              `json:"toolCallId"`
	Content    []ToolResultContent `json:"content"`
	Meta       Meta                `json:"_meta,omitzero"`
}

// ActionType returns "chat/toolCallContentChanged".
func (*ChatToolCallContentChangedAction) ActionType() string { return "chat/toolCallContentChanged" }

// ChatToolCallAuthRequiredAction is chat/toolCallAuthRequired.
type ChatToolCallAuthRequiredAction struct {
	TurnID     string             `json:"turnId"`
	ToolCallID string             `json:"toolCallId"`
	Auth       McpAuthRequirement `json:"auth"`
	Meta       Meta               `json:"_meta,omitzero"`
}

// ActionType returns "chat/toolCallAuthRequired".
func (*ChatToolCallAuthRequiredAction) ActionType() string { return "chat/toolCallAuthRequired" }

// ChatToolCallAuthResolvedAction is chat/toolCallAuthResolved.
type ChatToolCallAuthResolvedAction struct {
	TurnID     string `json:"turnId"`
	ToolCallID string `json:"toolCallId"`
	Meta       Meta   `json:"_meta,omitzero"`
}

// ActionType returns "chat/toolCallAuthResolved".
func (*ChatToolCallAuthResolvedAction) ActionType() string { return "chat/toolCallAuthResolved" }

// ChatToolCallConfirmedAction is chat/toolCallConfirmed. Approved decides which other fields apply.
type ChatToolCallConfirmedAction struct {
	TurnID           string                     `json:"turnId"`
	ToolCallID       string                     `json:"toolCallId"`
	Approved         bool                       `json:"approved"`
	Confirmed        ToolCallConfirmationReason `json:"confirmed,omitempty"`       // the reason, if approved
	EditedToolInput  string                     `json:"editedToolInput,omitempty"` // if approved with changes
	SelectedOptionID string                     `json:"selectedOptionId,omitempty"`
	Reason           ToolCallCancellationReason `json:"reason,omitempty"` // denied or skipped, if not approved
	ReasonMessage    *StringOrMarkdown          `json:"reasonMessage,omitempty"`
	UserSuggestion   *Message                   `json:"userSuggestion,omitempty"`
	Meta             Meta                       `json:"_meta,omitzero"`
}

// ActionType returns "chat/toolCallConfirmed".
func (*ChatToolCallConfirmedAction) ActionType() string { return "chat/toolCallConfirmed" }
