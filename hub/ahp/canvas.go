package ahp

// CanvasState is a canvas an extension draws.
type CanvasState struct {
	InstanceID    string `json:"instanceId"`
	ExtensionID   string `json:"extensionId"`
	ExtensionName string `json:"extensionName,omitempty"`
	CanvasID      string `json:"canvasId"`
	Title         string `json:"title,omitempty"`
	Status        string `json:"status,omitempty"`
	URL           string `json:"url,omitempty"` // never logged, never reused after a restart
}

// CanvasStateChangedAction is canvas/stateChanged: the whole state.
type CanvasStateChangedAction struct {
	Canvas CanvasState `json:"canvas"`
}

// ActionType returns "canvas/stateChanged".
func (*CanvasStateChangedAction) ActionType() string { return "canvas/stateChanged" }
