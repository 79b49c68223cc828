package ahp

// AuthRequiredParams are the params of authRequired.
type AuthRequiredParams struct {
	Channel  URI                       `json:"channel"`
	Resource ProtectedResourceMetadata `json:"resource"`
	Reason   AuthRequiredReason        `json:"reason,omitempty"`
}

// AuthRequiredReason is an open set of names: unknown ones survive.
type AuthRequiredReason string

// The values of AuthRequiredReason.
const (
	AuthRequiredReasonRequired AuthRequiredReason = "required"
	AuthRequiredReasonExpired  AuthRequiredReason = "expired"
)

// SessionAddedParams are the params of sessionAdded.
type SessionAddedParams struct {
	Channel URI            `json:"channel"`
	Summary SessionSummary `json:"summary"`
}

// SessionRemovedParams are the params of sessionRemoved.
type SessionRemovedParams struct {
	Channel URI `json:"channel"`
	Session URI `json:"session"`
}

// SessionSummaryChangedParams are the params of sessionSummaryChanged.
type SessionSummaryChangedParams struct {
	Channel URI                   `json:"channel"`
	Session URI                   `json:"session"`
	Changes PartialSessionSummary `json:"changes"`
}

// ProgressParams are the params of progress.
type ProgressParams struct {
	Channel       URI      `json:"channel"`
	ProgressToken string   `json:"progressToken"`
	Progress      float64  `json:"progress"`
	Total         *float64 `json:"total,omitempty"`
	Message       string   `json:"message,omitempty"`
}
