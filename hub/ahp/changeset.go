package ahp

// Changeset advertises changes to subscribe to. URITemplate becomes a channel when its variables
// are filled in.
type Changeset struct {
	Label string `json:"label"`
	// RFC 6570; {turnId} stands for a turn of the advertising channel
	URITemplate string `json:"uriTemplate"`
	Description string `json:"description,omitempty"`
	// an open name, such as session, uncommitted, branch or turn
	ChangeKind   string                 `json:"changeKind"`
	Capabilities *ChangesetCapabilities `json:"capabilities,omitempty"`
}

// ChangesetCapabilities lists what a changeset offers.
type ChangesetCapabilities struct {
	Review Meta `json:"review,omitzero"` // present when files can be marked as reviewed
}

// ChangesetState is a set of changed files and what can be done with them.
type ChangesetState struct {
	Status     ChangesetStatus      `json:"status"`
	Error      *ErrorInfo           `json:"error,omitempty"`
	Files      []ChangesetFile      `json:"files"`
	Operations []ChangesetOperation `json:"operations,omitzero"`
}

// ChangesetStatus describes how current the files are. While recomputing they are the previous, complete result.
type ChangesetStatus string

// The values of ChangesetStatus.
const (
	ChangesetStatusComputing   ChangesetStatus = "computing"
	ChangesetStatusReady       ChangesetStatus = "ready"
	ChangesetStatusError       ChangesetStatus = "error"
	ChangesetStatusRecomputing ChangesetStatus = "recomputing"
)

// ChangesetFile is one changed file.
type ChangesetFile struct {
	ID       string   `json:"id"`
	Edit     FileEdit `json:"edit"`
	Reviewed *bool    `json:"reviewed,omitempty"`
	Meta     Meta     `json:"_meta,omitzero"`
}

// ChangesetOperation is something the host can do with a changeset.
type ChangesetOperation struct {
	ID           string                    `json:"id"`
	Label        string                    `json:"label"`
	Description  string                    `json:"description,omitempty"`
	Scopes       []ChangesetOperationScope `json:"scopes"`
	Confirmation *StringOrMarkdown         `json:"confirmation,omitempty"`
	Icon         string                    `json:"icon,omitempty"`
	Group        string                    `json:"group,omitempty"`
	Status       ChangesetOperationStatus  `json:"status"`
	Error        *ErrorInfo                `json:"error,omitempty"`
}

// ChangesetOperationScope is a kind of target of an operation.
type ChangesetOperationScope string

// The values of ChangesetOperationScope.
const (
	ChangesetOperationScopeChangeset ChangesetOperationScope = "changeset"
	ChangesetOperationScopeResource  ChangesetOperationScope = "resource"
	ChangesetOperationScopeRange     ChangesetOperationScope = "range"
)

// ChangesetOperationStatus is the progress of an operation.
type ChangesetOperationStatus string

// The values of ChangesetOperationStatus.
const (
	ChangesetOperationStatusIdle     ChangesetOperationStatus = "idle"
	ChangesetOperationStatusRunning  ChangesetOperationStatus = "running"
	ChangesetOperationStatusError    ChangesetOperationStatus = "error"
	ChangesetOperationStatusDisabled ChangesetOperationStatus = "disabled"
)

// ChangesetSide picks a side of a comparison.
type ChangesetSide string

// The values of ChangesetSide.
const (
	ChangesetSideBefore ChangesetSide = "before"
	ChangesetSideAfter  ChangesetSide = "after"
)
