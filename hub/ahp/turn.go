package ahp

// Turn is a part of the protocol.
type Turn struct {
	ID            string         `json:"id"`
	StartedAt     string         `json:"startedAt,omitempty"`
	Duration      *int64         `json:"duration,omitempty"`
	Message       Message        `json:"message"`
	ResponseParts []ResponsePart `json:"responseParts"`
	Usage         *UsageInfo     `json:"usage,omitempty"`
	State         TurnState      `json:"state"`
}

// ActiveTurn is a part of the protocol.
type ActiveTurn struct {
	ID            string         `json:"id"`
	StartedAt     string         `json:"startedAt"`
	Message       Message        `json:"message"`
	ResponseParts []ResponsePart `json:"responseParts"`
	Usage         *UsageInfo     `json:"usage,omitempty"`
}

// TurnState is an open set of names: unknown ones survive.
type TurnState string

// The values of TurnState.
const (
	TurnStateComplete  TurnState = "complete"
	TurnStateCancelled TurnState = "cancelled"
	TurnStateError     TurnState = "error"
)

// ResponsePart is one of the kinds of ResponsePartValue.
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

// MarkdownResponsePart is a part of the protocol.
type MarkdownResponsePart struct {
	ID      string `json:"id"`
	Content Text   `json:"content"`
}

// ReasoningResponsePart is a part of the protocol.
type ReasoningResponsePart struct {
	ID      string `json:"id"`
	Content Text   `json:"content"`
}

// ResourceResponsePart is a part of the protocol.
type ResourceResponsePart struct {
	URI         URI    `json:"uri"`
	SizeHint    *int64 `json:"sizeHint,omitempty"`
	ContentType string `json:"contentType,omitempty"`
	Nonce       string `json:"nonce,omitempty"`
}

// ToolCallResponsePart is a part of the protocol.
type ToolCallResponsePart struct {
	ToolCall ToolCallState `json:"toolCall"`
}

// InputRequestResponsePart is a part of the protocol.
type InputRequestResponsePart struct {
	Request  ChatInputRequest      `json:"request"`
	Response ChatInputResponseKind `json:"response,omitempty"`
}

// SystemNotificationResponsePart is a part of the protocol.
type SystemNotificationResponsePart struct {
	Content StringOrMarkdown `json:"content"`
	Meta    Meta             `json:"_meta,omitzero"`
}

// ErrorResponsePart is a part of the protocol.
type ErrorResponsePart struct {
	Error     ErrorInfo `json:"error"`
	Resumable *bool     `json:"resumable,omitempty"`
}
