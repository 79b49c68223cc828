package ahp

// AuthRequiredParams report a missing or expired token.
type AuthRequiredParams struct {
	Channel  URI                       `json:"channel"`
	Resource ProtectedResourceMetadata `json:"resource"`
	Reason   AuthRequiredReason        `json:"reason,omitempty"`
}

// AuthRequiredReason is the reason a token is requested.
type AuthRequiredReason string

// The values of AuthRequiredReason.
const (
	AuthRequiredReasonRequired AuthRequiredReason = "required"
	AuthRequiredReasonExpired  AuthRequiredReason = "expired"
)

// SessionAddedParams are the params of root/sessionAdded.
type SessionAddedParams struct {
	Channel URI            `json:"channel"`
	Summary SessionSummary `json:"summary"`
}

// SessionRemovedParams are the params of root/sessionRemoved.
type SessionRemovedParams struct {
	Channel URI `json:"channel"`
	Session URI `json:"session"`
}

// SessionSummaryChangedParams are the params of root/sessionSummaryChanged. Changes must omit resource, provider and
// createdAt (AHP requirement 56).
type SessionSummaryChangedParams struct {
	Channel URI                   `json:"channel"`
	Session URI                   `json:"session"`
	Changes PartialSessionSummary `json:"changes"`
}

// ProgressParams are the params of root/progress. Progress never decreases and ends equal to Total
// (AHP requirement 58).
type ProgressParams struct {
	Channel       URI      `json:"channel"`
	ProgressToken string   `json:"progressToken"`
	Progress      float64  `json:"progress"`
	Total         *float64 `json:"total,omitempty"`
	Message       string   `json:"message,omitempty"`
}
