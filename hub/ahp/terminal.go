package ahp

// TerminalState is a part of the protocol.
type TerminalState struct {
	Title                    string                 `json:"title"`
	Cwd                      URI                    `json:"cwd,omitempty"`
	Cols                     *int64                 `json:"cols,omitempty"`
	Rows                     *int64                 `json:"rows,omitempty"`
	Content                  []TerminalContentPart  `json:"content"`
	Lifecycle                TerminalLifecycleState `json:"lifecycle"`
	Claim                    TerminalClaim          `json:"claim"`
	SupportsCommandDetection *bool                  `json:"supportsCommandDetection,omitempty"`
	IsPty                    *bool                  `json:"isPty,omitempty"`
}

// TerminalInfo is a part of the protocol.
type TerminalInfo struct {
	Resource  URI                    `json:"resource"`
	Title     string                 `json:"title"`
	Claim     TerminalClaim          `json:"claim"`
	Lifecycle TerminalLifecycleState `json:"lifecycle"`
}

// TerminalLifecycleStatus is an open set of names: unknown ones survive.
type TerminalLifecycleStatus string

// The values of TerminalLifecycleStatus.
const (
	TerminalLifecycleStatusRunning TerminalLifecycleStatus = "running"
	TerminalLifecycleStatusExited  TerminalLifecycleStatus = "exited"
)

// TerminalClaim is one of the kinds of TerminalClaimValue.
type TerminalClaim struct{ Value TerminalClaimValue }

// TerminalClaimValue is implemented by *TerminalClientClaim, *TerminalSessionClaim and *UnknownVariant.
type TerminalClaimValue interface{ isTerminalClaim() }

func (*TerminalClientClaim) isTerminalClaim()  {}
func (*TerminalSessionClaim) isTerminalClaim() {}
func (*UnknownVariant) isTerminalClaim()       {}

// MarshalJSON writes the variant with its discriminator.
func (u TerminalClaim) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *TerminalClaim) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// TerminalClientClaim is a part of the protocol.
type TerminalClientClaim struct {
	ClientID string `json:"clientId"`
}

// TerminalSessionClaim is a part of the protocol.
type TerminalSessionClaim struct {
	Session    URI    `json:"session"`
	Chat       URI    `json:"chat"`
	TurnID     string `json:"turnId,omitempty"`
	ToolCallID string `json:"toolCallId,omitempty"`
}

// TerminalContentPart is one of the kinds of TerminalContentPartValue.
type TerminalContentPart struct{ Value TerminalContentPartValue }

// TerminalContentPartValue is implemented by *TerminalUnclassifiedPart, *TerminalCommandPart and *UnknownVariant.
type TerminalContentPartValue interface{ isTerminalContentPart() }

func (*TerminalUnclassifiedPart) isTerminalContentPart() {}
func (*TerminalCommandPart) isTerminalContentPart()      {}
func (*UnknownVariant) isTerminalContentPart()           {}

// MarshalJSON writes the variant with its discriminator.
func (u TerminalContentPart) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *TerminalContentPart) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// TerminalUnclassifiedPart is a part of the protocol.
type TerminalUnclassifiedPart struct {
	Value Text `json:"value"`
}

// TerminalCommandPart is a part of the protocol.
type TerminalCommandPart struct {
	CommandID   string `json:"commandId"`
	CommandLine string `json:"commandLine"`
	Output      Text   `json:"output"`
	Timestamp   int64  `json:"timestamp"`
	IsComplete  bool   `json:"isComplete"`
	ExitCode    *int64 `json:"exitCode,omitempty"`
	DurationMs  *int64 `json:"durationMs,omitempty"`
}
