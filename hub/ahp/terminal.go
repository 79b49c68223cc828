package ahp

// TerminalState is a terminal: its content and its holder.
type TerminalState struct {
	Title string `json:"title"`
	Cwd   URI    `json:"cwd,omitempty"`
	Cols  *int64 `json:"cols,omitempty"`
	Rows  *int64 `json:"rows,omitempty"`
	// raw output with its escape sequences, split into commands if the shell reports them
	Content                  []TerminalContentPart  `json:"content"`
	Lifecycle                TerminalLifecycleState `json:"lifecycle"`
	Claim                    TerminalClaim          `json:"claim"`
	SupportsCommandDetection *bool                  `json:"supportsCommandDetection,omitempty"`
	IsPty                    *bool                  `json:"isPty,omitempty"`
}

// TerminalInfo is a terminal in the host's list.
type TerminalInfo struct {
	Resource  URI                    `json:"resource"`
	Title     string                 `json:"title"`
	Claim     TerminalClaim          `json:"claim"`
	Lifecycle TerminalLifecycleState `json:"lifecycle"`
}

// TerminalLifecycleStatus reports whether the process runs.
type TerminalLifecycleStatus string

// The values of TerminalLifecycleStatus.
const (
	TerminalLifecycleStatusRunning TerminalLifecycleStatus = "running"
	TerminalLifecycleStatusExited  TerminalLifecycleStatus = "exited"
)

// TerminalClaim is the holder of a terminal. There is always one (AHP requirement 162).
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

// TerminalClientClaim is the claim of a client.
type TerminalClientClaim struct {
	ClientID string `json:"clientId"`
}

// TerminalSessionClaim is the claim of a session, or of one tool call in it.
type TerminalSessionClaim struct {
	Session    URI    `json:"session"`
	Chat       URI    `json:"chat"`
	TurnID     string `json:"turnId,omitempty"`
	ToolCallID string `json:"toolCallId,omitempty"`
}

// TerminalContentPart is a stretch of output.
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

// TerminalUnclassifiedPart is output outside of any known command.
type TerminalUnclassifiedPart struct {
	Value Text `json:"value"`
}

// TerminalCommandPart is a command and its output.
type TerminalCommandPart struct {
	CommandID   string `json:"commandId"`
	CommandLine string `json:"commandLine"`
	Output      Text   `json:"output"`
	Timestamp   int64  `json:"timestamp"` // ms since 1970
	IsComplete  bool   `json:"isComplete"`
	ExitCode    *int64 `json:"exitCode,omitempty"`
	DurationMs  *int64 `json:"durationMs,omitempty"` // ms
}
