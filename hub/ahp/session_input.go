package ahp

// SessionInputRequest mirrors something in a chat that waits for a person or a client, for clients
// that see only the session.
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

// SessionChatInputRequest mirrors questions to the user.
type SessionChatInputRequest struct {
	ID      string           `json:"id"`
	Chat    URI              `json:"chat"`
	Request ChatInputRequest `json:"request"`
}

// SessionToolConfirmationRequest mirrors a tool call, or its result, that waits for approval.
type SessionToolConfirmationRequest struct {
	ID       string                    `json:"id"`
	Chat     URI                       `json:"chat"`
	TurnID   string                    `json:"turnId"`
	ToolCall ToolCallConfirmationState `json:"toolCall"`
}

// SessionToolClientExecutionRequest mirrors a call that a client runs. It does not wait for a person.
type SessionToolClientExecutionRequest struct {
	ID       string               `json:"id"`
	Chat     URI                  `json:"chat"`
	TurnID   string               `json:"turnId"`
	ClientID string               `json:"clientId"`
	ToolCall ToolCallRunningState `json:"toolCall"`
}

// SessionToolAuthenticationRequest mirrors a call that waits for a token.
type SessionToolAuthenticationRequest struct {
	ID       string                    `json:"id"`
	Chat     URI                       `json:"chat"`
	TurnID   string                    `json:"turnId"`
	ToolCall ToolCallAuthRequiredState `json:"toolCall"`
}
