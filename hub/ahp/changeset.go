package ahp

// Changeset is a part of the protocol.
type Changeset struct {
	Label        string                 `json:"label"`
	URITemplate  string                 `json:"uriTemplate"`
	Description  string                 `json:"description,omitempty"`
	ChangeKind   string                 `json:"changeKind"`
	Capabilities *ChangesetCapabilities `json:"capabilities,omitempty"`
}

// ChangesetCapabilities is a part of the protocol.
type ChangesetCapabilities struct {
	Review Meta `json:"review,omitzero"`
}

// ChangesetState is a part of the protocol.
type ChangesetState struct {
	Status     ChangesetStatus      `json:"status"`
	Error      *ErrorInfo           `json:"error,omitempty"`
	Files      []ChangesetFile      `json:"files"`
	Operations []ChangesetOperation `json:"operations,omitzero"`
}

// ChangesetStatus is an open set of names: unknown ones survive.
type ChangesetStatus string

// The values of ChangesetStatus.
const (
	ChangesetStatusComputing   ChangesetStatus = "computing"
	ChangesetStatusReady       ChangesetStatus = "ready"
	ChangesetStatusError       ChangesetStatus = "error"
	ChangesetStatusRecomputing ChangesetStatus = "recomputing"
)

// ChangesetFile is a part of the protocol.
type ChangesetFile struct {
	ID       string   `json:"id"`
	Edit     FileEdit `json:"edit"`
	Reviewed *bool    `json:"reviewed,omitempty"`
	Meta     Meta     `json:"_meta,omitzero"`
}

// ChangesetOperation is a part of the protocol.
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

// ChangesetOperationScope is an open set of names: unknown ones survive.
type ChangesetOperationScope string

// The values of ChangesetOperationScope.
const (
	ChangesetOperationScopeChangeset ChangesetOperationScope = "changeset"
	ChangesetOperationScopeResource  ChangesetOperationScope = "resource"
	ChangesetOperationScopeRange     ChangesetOperationScope = "range"
)

// ChangesetOperationStatus is an open set of names: unknown ones survive.
type ChangesetOperationStatus string

// The values of ChangesetOperationStatus.
const (
	ChangesetOperationStatusIdle     ChangesetOperationStatus = "idle"
	ChangesetOperationStatusRunning  ChangesetOperationStatus = "running"
	ChangesetOperationStatusError    ChangesetOperationStatus = "error"
	ChangesetOperationStatusDisabled ChangesetOperationStatus = "disabled"
)

// ChangesetSide is an open set of names: unknown ones survive.
type ChangesetSide string

// The values of ChangesetSide.
const (
	ChangesetSideBefore ChangesetSide = "before"
	ChangesetSideAfter  ChangesetSide = "after"
)
