package ahp

// ResourceWatchState is a watch on files. It never changes.
type ResourceWatchState struct {
	Root      URI               `json:"root"`
	Recursive bool              `json:"recursive"`
	Excludes  *StringCollection `json:"excludes,omitempty"`
	Includes  *StringCollection `json:"includes,omitempty"`
}

// ResourceChange is one change of a watched resource.
type ResourceChange struct {
	URI  URI                `json:"uri"`
	Type ResourceChangeType `json:"type"`
}

// ResourceChangeType is the kind of a change of a resource.
type ResourceChangeType string

// The values of ResourceChangeType.
const (
	ResourceChangeTypeAdded   ResourceChangeType = "added"
	ResourceChangeTypeUpdated ResourceChangeType = "updated"
	ResourceChangeTypeDeleted ResourceChangeType = "deleted"
)

// ResourceChangeCollection is a batch of changes, never empty on the wire (AHP requirement 186).
type ResourceChangeCollection struct {
	Items []ResourceChange `json:"items"`
}

// ResourceWatchChangedAction is resourceWatch/changed: an event, not stored.
type ResourceWatchChangedAction struct {
	Changes ResourceChangeCollection `json:"changes"`
}

// ActionType returns "resourceWatch/changed".
func (*ResourceWatchChangedAction) ActionType() string { return "resourceWatch/changed" }
