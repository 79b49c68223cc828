package ahp

// RootAgentsChangedAction is root/agentsChanged: all agents.
type RootAgentsChangedAction struct {
	Agents []AgentInfo `json:"agents"`
}

// ActionType returns "root/agentsChanged".
func (*RootAgentsChangedAction) ActionType() string { return "root/agentsChanged" }

// RootActiveSessionsChangedAction is root/activeSessionsChanged.
type RootActiveSessionsChangedAction struct {
	ActiveSessions int64 `json:"activeSessions"`
}

// ActionType returns "root/activeSessionsChanged".
func (*RootActiveSessionsChangedAction) ActionType() string { return "root/activeSessionsChanged" }

// RootTerminalsChangedAction is root/terminalsChanged: all terminals.
type RootTerminalsChangedAction struct {
	Terminals []TerminalInfo `json:"terminals"`
}

// ActionType returns "root/terminalsChanged".
func (*RootTerminalsChangedAction) ActionType() string { return "root/terminalsChanged" }

// RootConfigChangedAction is root/configChanged: settings to merge, or with Replace all settings.
type RootConfigChangedAction struct {
	Config  Meta  `json:"config"`
	Replace *bool `json:"replace,omitempty"`
}

// ActionType returns "root/configChanged".
func (*RootConfigChangedAction) ActionType() string { return "root/configChanged" }
