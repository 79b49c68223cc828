package ahp

// SessionInputRequest is one of the kinds of SessionInputRequestValue.
type SessionInputRequest struct{ Value SessionInputRequestValue }

// SessionInputRequestValue is implemented by *SessionChatInputRequest, *SessionToolConfirmationRequest,
// *SessionToolClientExecutionRequest, *SessionToolAuthenticationRequest and *UnknownVariant.
type SessionInputRequestValue interface{ isSessionInputRequest() }

func (*SessionChatInputRequest) isSessionInputRequest()           {}
func (*SessionToolConfirmationRequest) isSessionInputRequest()    {}
func (*SessionToolClientExecutionRequest) isSessionInputRequest() {}
func (*SessionToolAuthenticationRequest) isSessionInputRequest()  {}
func (*UnknownVariant) isSessionInputRequest()                    {}

// MarshalJSON writes the variant with its discriminator.
func (u SessionInputRequest) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *SessionInputRequest) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// SessionChatInputRequest is a part of the protocol.
type SessionChatInputRequest struct {
	ID      string           `json:"id"`
	Chat    URI              `json:"chat"`
	Request ChatInputRequest `json:"request"`
}

// SessionToolConfirmationRequest is a part of the protocol.
type SessionToolConfirmationRequest struct {
	ID       string                    `json:"id"`
	Chat     URI                       `json:"chat"`
	TurnID   string                    `json:"turnId"`
	ToolCall ToolCallConfirmationState `json:"toolCall"`
}

// SessionToolClientExecutionRequest is a part of the protocol.
type SessionToolClientExecutionRequest struct {
	ID       string               `json:"id"`
	Chat     URI                  `json:"chat"`
	TurnID   string               `json:"turnId"`
	ClientID string               `json:"clientId"`
	ToolCall ToolCallRunningState `json:"toolCall"`
}

// SessionToolAuthenticationRequest is a part of the protocol.
type SessionToolAuthenticationRequest struct {
	ID       string                    `json:"id"`
	Chat     URI                       `json:"chat"`
	TurnID   string                    `json:"turnId"`
	ToolCall ToolCallAuthRequiredState `json:"toolCall"`
}
