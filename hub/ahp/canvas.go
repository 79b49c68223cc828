package ahp

// CanvasState is a part of the protocol.
type CanvasState struct {
	InstanceID    string `json:"instanceId"`
	ExtensionID   string `json:"extensionId"`
	ExtensionName string `json:"extensionName,omitempty"`
	CanvasID      string `json:"canvasId"`
	Title         string `json:"title,omitempty"`
	Status        string `json:"status,omitempty"`
	URL           string `json:"url,omitempty"`
}

// CanvasStateChangedAction is canvas/stateChanged.
type CanvasStateChangedAction struct {
	Canvas CanvasState `json:"canvas"`
}

// ActionType returns "canvas/stateChanged".
func (*CanvasStateChangedAction) ActionType() string { return "canvas/stateChanged" }
