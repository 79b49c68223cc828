package ahp

// TerminalDataAction is terminal/data: output, without shell-integration sequences (AHP requirement 163).
type TerminalDataAction struct {
	Data string `json:"data"`

	merged Text // set by Merge: Data with room to grow
}

// ActionType returns "terminal/data".
func (*TerminalDataAction) ActionType() string { return "terminal/data" }

// TerminalInputAction is terminal/input: keys for the process.
type TerminalInputAction struct {
	Data string `json:"data"`
}

// ActionType returns "terminal/input".
func (*TerminalInputAction) ActionType() string { return "terminal/input" }

// TerminalResizedAction is terminal/resized.
type TerminalResizedAction struct {
	Cols int64 `json:"cols"`
	Rows int64 `json:"rows"`
}

// ActionType returns "terminal/resized".
func (*TerminalResizedAction) ActionType() string { return "terminal/resized" }

// TerminalClaimedAction is terminal/claimed.
type TerminalClaimedAction struct {
	Claim TerminalClaim `json:"claim"`
}

// ActionType returns "terminal/claimed".
func (*TerminalClaimedAction) ActionType() string { return "terminal/claimed" }

// TerminalTitleChangedAction is terminal/titleChanged.
type TerminalTitleChangedAction struct {
	Title string `json:"title"`
}

// ActionType returns "terminal/titleChanged".
func (*TerminalTitleChangedAction) ActionType() string { return "terminal/titleChanged" }

// TerminalCwdChangedAction is terminal/cwdChanged.
type TerminalCwdChangedAction struct {
	Cwd URI `json:"cwd"`
}

// ActionType returns "terminal/cwdChanged".
func (*TerminalCwdChangedAction) ActionType() string { return "terminal/cwdChanged" }

// TerminalExitedAction is terminal/exited.
type TerminalExitedAction struct {
	ExitCode *int64 `json:"exitCode,omitempty"`
}

// ActionType returns "terminal/exited".
func (*TerminalExitedAction) ActionType() string { return "terminal/exited" }

// TerminalClearedAction is terminal/cleared: it empties the scrollback.
type TerminalClearedAction struct{}

// ActionType returns "terminal/cleared".
func (*TerminalClearedAction) ActionType() string { return "terminal/cleared" }

// TerminalCommandDetectionAvailableAction is terminal/commandDetectionAvailable.
type TerminalCommandDetectionAvailableAction struct{}

// ActionType returns "terminal/commandDetectionAvailable".
func (*TerminalCommandDetectionAvailableAction) ActionType() string {
	return "terminal/commandDetectionAvailable"
}

// TerminalCommandExecutedAction is terminal/commandExecuted: a command starts.
type TerminalCommandExecutedAction struct {
	CommandID   string `json:"commandId"`
	CommandLine string `json:"commandLine"`
	Timestamp   int64  `json:"timestamp"` // ms since 1970
}

// ActionType returns "terminal/commandExecuted".
func (*TerminalCommandExecutedAction) ActionType() string { return "terminal/commandExecuted" }

// TerminalCommandFinishedAction is terminal/commandFinished.
type TerminalCommandFinishedAction struct {
	CommandID  string `json:"commandId"`
	ExitCode   *int64 `json:"exitCode,omitempty"`
	DurationMs *int64 `json:"durationMs,omitempty"` // ms
}

// ActionType returns "terminal/commandFinished".
func (*TerminalCommandFinishedAction) ActionType() string { return "terminal/commandFinished" }
