package ahp

// ChangesetStatusChangedAction is changeset/statusChanged; Error is ignored unless the status is
// error.
type ChangesetStatusChangedAction struct {
	Status ChangesetStatus `json:"status"`
	Error  *ErrorInfo      `json:"error,omitempty"`
}

// ActionType returns "changeset/statusChanged".
func (*ChangesetStatusChangedAction) ActionType() string { return "changeset/statusChanged" }

// ChangesetFileSetAction is changeset/fileSet, which adds a file or replaces it by id.
type ChangesetFileSetAction struct {
	File ChangesetFile `json:"file"`
}

// ActionType returns "changeset/fileSet".
func (*ChangesetFileSetAction) ActionType() string { return "changeset/fileSet" }

// ChangesetFileRemovedAction is changeset/fileRemoved.
type ChangesetFileRemovedAction struct {
	FileID string `json:"fileId"`
}

// ActionType returns "changeset/fileRemoved".
func (*ChangesetFileRemovedAction) ActionType() string { return "changeset/fileRemoved" }

// ChangesetFilesReviewChangedAction is changeset/filesReviewChanged.
type ChangesetFilesReviewChangedAction struct {
	Files    []string `json:"files"` // ids
	Reviewed bool     `json:"reviewed"`
}

// ActionType returns "changeset/filesReviewChanged".
func (*ChangesetFilesReviewChangedAction) ActionType() string { return "changeset/filesReviewChanged" }

// ChangesetContentChangedAction is changeset/contentChanged: all files, and all operations unless
// nil.
type ChangesetContentChangedAction struct {
	Files      []ChangesetFile      `json:"files"`
	Operations []ChangesetOperation `json:"operations,omitzero"`
}

// ActionType returns "changeset/contentChanged".
func (*ChangesetContentChangedAction) ActionType() string { return "changeset/contentChanged" }

// ChangesetOperationsChangedAction is changeset/operationsChanged: all operations, or nil for none.
type ChangesetOperationsChangedAction struct {
	Operations []ChangesetOperation `json:"operations,omitzero"`
}

// ActionType returns "changeset/operationsChanged".
func (*ChangesetOperationsChangedAction) ActionType() string { return "changeset/operationsChanged" }

// ChangesetOperationStatusChangedAction is changeset/operationStatusChanged; Error is ignored
// unless the status is error.
type ChangesetOperationStatusChangedAction struct {
	OperationID string                   `json:"operationId"`
	Status      ChangesetOperationStatus `json:"status"`
	Error       *ErrorInfo               `json:"error,omitempty"`
}

// ActionType returns "changeset/operationStatusChanged".
func (*ChangesetOperationStatusChangedAction) ActionType() string {
	return "changeset/operationStatusChanged"
}

// ChangesetClearedAction is changeset/cleared.
type ChangesetClearedAction struct{}

// ActionType returns "changeset/cleared".
func (*ChangesetClearedAction) ActionType() string { return "changeset/cleared" }
