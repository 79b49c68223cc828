package ahp

// ResourceWatchState is a part of the protocol.
type ResourceWatchState struct {
	Root      URI               `json:"root"`
	Recursive bool              `json:"recursive"`
	Excludes  *StringCollection `json:"excludes,omitempty"`
	Includes  *StringCollection `json:"includes,omitempty"`
}

// ResourceChange is a part of the protocol.
type ResourceChange struct {
	URI  URI                `json:"uri"`
	Type ResourceChangeType `json:"type"`
}

// ResourceChangeType is an open set of names: unknown ones survive.
type ResourceChangeType string

// The values of ResourceChangeType.
const (
	ResourceChangeTypeAdded   ResourceChangeType = "added"
	ResourceChangeTypeUpdated ResourceChangeType = "updated"
	ResourceChangeTypeDeleted ResourceChangeType = "deleted"
)

// ResourceChangeCollection is a part of the protocol.
type ResourceChangeCollection struct {
	Items []ResourceChange `json:"items"`
}

// ResourceWatchChangedAction is resourceWatch/changed.
type ResourceWatchChangedAction struct {
	Changes ResourceChangeCollection `json:"changes"`
}

// ActionType returns "resourceWatch/changed".
func (*ResourceWatchChangedAction) ActionType() string { return "resourceWatch/changed" }
