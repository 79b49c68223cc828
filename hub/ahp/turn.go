package ahp

// Turn is a finished turn: a message and its response.
type Turn struct {
	ID            string         `json:"id"`
	StartedAt     string         `json:"startedAt,omitempty"`
	Duration      *int64         `json:"duration,omitempty"` // ms, measured by the host that ran the turn
	Message       Message        `json:"message"`
	ResponseParts []ResponsePart `json:"responseParts"`
	Usage         *UsageInfo     `json:"usage,omitempty"`
	State         TurnState      `json:"state"`
}

// ActiveTurn is the running turn.
type ActiveTurn struct {
	ID            string     `json:"id"`
	StartedAt     string     `json:"startedAt"`
	Message       Message    `json:"message"`
	ResponseParts Parts      `json:"responseParts"`
	Usage         *UsageInfo `json:"usage,omitempty"`
}

// TurnState is how a turn ended.
type TurnState string

// The values of TurnState.
const (
	TurnStateComplete  TurnState = "complete"
	TurnStateCancelled TurnState = "cancelled"
	TurnStateError     TurnState = "error"
)

// ResponsePart is one piece of a response.
type ResponsePart struct{ Value ResponsePartValue }

// ResponsePartValue is implemented by *MarkdownResponsePart, *ResourceResponsePart, *ToolCallResponsePart,
// *ReasoningResponsePart, *SystemNotificationResponsePart, *InputRequestResponsePart, *ErrorResponsePart and
// *UnknownVariant.
type ResponsePartValue interface{ isResponsePart() }

func (*MarkdownResponsePart) isResponsePart()           {}
func (*ResourceResponsePart) isResponsePart()           {}
func (*ToolCallResponsePart) isResponsePart()           {}
func (*ReasoningResponsePart) isResponsePart()          {}
func (*SystemNotificationResponsePart) isResponsePart() {}
func (*InputRequestResponsePart) isResponsePart()       {}
func (*ErrorResponsePart) isResponsePart()              {}
func (*UnknownVariant) isResponsePart()                 {}

// MarshalJSON writes the variant with its discriminator.
func (u ResponsePart) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ResponsePart) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// MarkdownResponsePart is text for the user. It grows by chat/delta.
type MarkdownResponsePart struct {
	ID      string `json:"id"`
	Content Text   `json:"content"`
}

// ReasoningResponsePart is the model's thinking. It grows by chat/reasoning.
type ReasoningResponsePart struct {
	ID      string `json:"id"`
	Content Text   `json:"content"`
}

// ResourceResponsePart is content by URI.
type ResourceResponsePart struct {
	URI         URI    `json:"uri"`
	SizeHint    *int64 `json:"sizeHint,omitempty"`
	ContentType string `json:"contentType,omitempty"`
	Nonce       string `json:"nonce,omitempty"`
}

// ToolCallResponsePart is a tool call.
type ToolCallResponsePart struct {
	ToolCall ToolCallState `json:"toolCall"`
}

// InputRequestResponsePart is a set of questions to the user. Without Response it is open.
type InputRequestResponsePart struct {
	Request  ChatInputRequest      `json:"request"`
	Response ChatInputResponseKind `json:"response,omitempty"`
}

// SystemNotificationResponsePart is a message from the host to the user.
type SystemNotificationResponsePart struct {
	Content StringOrMarkdown `json:"content"`
	Meta    Meta             `json:"_meta,omitzero"`
}

// ErrorResponsePart is a failure. It is the last part of the turn that it ended.
type ErrorResponsePart struct {
	Error     ErrorInfo `json:"error"`
	Resumable *bool     `json:"resumable,omitempty"` // chat/turnResume needs true
}
