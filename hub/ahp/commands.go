package ahp

// Implementation names a program.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Title   string `json:"title,omitempty"`
}

// InitializeParams introduce a client.
type InitializeParams struct {
	Channel URI `json:"channel"`
	// the host takes the highest it supports, in whatever order they are
	ProtocolVersions     []string            `json:"protocolVersions"`
	ClientID             string              `json:"clientId"`
	ClientInfo           *Implementation     `json:"clientInfo,omitempty"`
	InitialSubscriptions []URI               `json:"initialSubscriptions,omitzero"` // each gets a snapshot
	Locale               string              `json:"locale,omitempty"`
	Capabilities         *ClientCapabilities `json:"capabilities,omitempty"`
	Meta                 Meta                `json:"_meta,omitzero"`
}

// ClientCapabilities lists what a client can do. Absent fields are not supported
// (AHP requirement 12).
type ClientCapabilities struct {
	McpApps Meta `json:"mcpApps,omitzero"`
}

// InitializeResult introduces the host.
type InitializeResult struct {
	ProtocolVersion             string                  `json:"protocolVersion"`
	ServerSeq                   int64                   `json:"serverSeq"`
	ServerInfo                  *Implementation         `json:"serverInfo,omitempty"`
	Snapshots                   []Snapshot              `json:"snapshots"`
	DefaultDirectory            URI                     `json:"defaultDirectory,omitempty"`
	CompletionTriggerCharacters []string                `json:"completionTriggerCharacters,omitzero"`
	TerminalCommandPrefix       string                  `json:"terminalCommandPrefix,omitempty"`
	Telemetry                   *TelemetryCapabilities  `json:"telemetry,omitempty"`
	Automations                 *AutomationCapabilities `json:"automations,omitempty"`
	Meta                        Meta                    `json:"_meta,omitzero"`
}

// PingParams are the params of ping.
type PingParams struct {
	Channel URI  `json:"channel"`
	Meta    Meta `json:"_meta,omitzero"`
}

// ReconnectParams resume an earlier connection of the same client.
type ReconnectParams struct {
	Channel           URI    `json:"channel"`
	ClientID          string `json:"clientId"`
	LastSeenServerSeq int64  `json:"lastSeenServerSeq"`
	Subscriptions     []URI  `json:"subscriptions"`
	Meta              Meta   `json:"_meta,omitzero"`
}

// ReconnectResult is either a replay of the missed actions, or snapshots.
type ReconnectResult struct{ Value ReconnectResultValue }

// ReconnectResultValue is implemented by *ReconnectReplayResult, *ReconnectSnapshotResult and *UnknownVariant.
type ReconnectResultValue interface{ isReconnectResult() }

func (*ReconnectReplayResult) isReconnectResult()   {}
func (*ReconnectSnapshotResult) isReconnectResult() {}
func (*UnknownVariant) isReconnectResult()          {}

// MarshalJSON writes the variant with its discriminator.
func (u ReconnectResult) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ReconnectResult) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ReconnectReplayResult is every missed action, and the subscriptions that cannot be resumed.
type ReconnectReplayResult struct {
	Actions []ActionEnvelope `json:"actions"`
	Missing []URI            `json:"missing"`
}

// ReconnectSnapshotResult is a fresh snapshot for each subscription; channels without one are gone.
type ReconnectSnapshotResult struct {
	Snapshots []Snapshot `json:"snapshots"`
}

// SubscribeParams are the params of subscribe.
type SubscribeParams struct {
	Channel  URI                          `json:"channel"`
	Delivery *SubscriptionDeliveryOptions `json:"delivery,omitempty"`
	View     *SubscribeView               `json:"view,omitempty"`
	Meta     Meta                         `json:"_meta,omitzero"`
}

// SubscribeView narrows a snapshot.
type SubscribeView struct {
	Turns *int64 `json:"turns,omitempty"` // the latest turns to include; all when absent (AHP requirement 32)
}

// SubscriptionDeliveryOptions limits how long actions may be held back to be merged.
type SubscriptionDeliveryOptions struct {
	MaxLatencyMs *int64 `json:"maxLatencyMs,omitempty"` // ms; 0 for no delay
}

// SubscribeResult has the channel's state, if the channel has one.
type SubscribeResult struct {
	Snapshot *Snapshot `json:"snapshot,omitempty"`
}

// UnsubscribeParams end a subscription.
type UnsubscribeParams struct {
	Channel URI `json:"channel"`
}

// AuthenticateParams give the host a token for a resource; an empty token revokes it.
type AuthenticateParams struct {
	Channel   URI      `json:"channel"`
	Resource  string   `json:"resource"`
	Token     string   `json:"token"`
	Scopes    []string `json:"scopes,omitzero"`
	ExpiresIn *int64   `json:"expiresIn,omitempty"` // seconds left when sent
	Meta      Meta     `json:"_meta,omitzero"`
}

// AuthenticateResult is empty.
type AuthenticateResult struct{}

// ListSessionsParams are the params of listSessions.
type ListSessionsParams struct {
	Channel URI    `json:"channel"`
	Limit   *int64 `json:"limit,omitempty"`
	Cursor  string `json:"cursor,omitempty"`
	Meta    Meta   `json:"_meta,omitzero"`
}

// ListSessionsResult is a page of sessions, the latest first.
type ListSessionsResult struct {
	NextCursor string           `json:"nextCursor,omitempty"`
	Items      []SessionSummary `json:"items"`
}

// ResolveSessionConfigParams ask which settings a session would have; WorkingDirectory is singular in every version.
type ResolveSessionConfigParams struct {
	Channel          URI    `json:"channel"`
	Provider         string `json:"provider,omitempty"`
	WorkingDirectory URI    `json:"workingDirectory,omitempty"`
	Config           Meta   `json:"config,omitzero"`
	Meta             Meta   `json:"_meta,omitzero"`
}

// ResolveSessionConfigResult is the result of resolveSessionConfig.
type ResolveSessionConfigResult struct {
	Schema SessionConfigSchema `json:"schema"`
	Values Meta                `json:"values"`
}

// SessionConfigValueItem is a value a setting may take.
type SessionConfigValueItem struct {
	Value       string `json:"value"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// SessionConfigCompletionsParams are the params of sessionConfigCompletions.
type SessionConfigCompletionsParams struct {
	Channel          URI    `json:"channel"`
	Provider         string `json:"provider,omitempty"`
	WorkingDirectory URI    `json:"workingDirectory,omitempty"`
	Config           Meta   `json:"config,omitzero"`
	Property         string `json:"property"`
	Query            string `json:"query,omitempty"`
	Meta             Meta   `json:"_meta,omitzero"`
}

// SessionConfigCompletionsResult is the result of sessionConfigCompletions.
type SessionConfigCompletionsResult struct {
	Items []SessionConfigValueItem `json:"items"`
}

// CreateSessionParams create a session; the client chooses the channel's name.
type CreateSessionParams struct {
	Channel            URI                  `json:"channel"`
	Provider           string               `json:"provider,omitempty"`
	WorkingDirectories []URI                `json:"workingDirectories,omitzero"`
	Config             Meta                 `json:"config,omitzero"`
	ActiveClient       *SessionActiveClient `json:"activeClient,omitempty"`
	ProgressToken      string               `json:"progressToken,omitempty"` // asks for root/progress notifications
	Meta               Meta                 `json:"_meta,omitzero"`
}

// DisposeSessionParams are the params of disposeSession.
type DisposeSessionParams struct {
	Channel URI  `json:"channel"`
	Meta    Meta `json:"_meta,omitzero"`
}

// CompletionsParams request completions at the cursor of a text.
type CompletionsParams struct {
	Channel URI                `json:"channel"`
	Kind    CompletionItemKind `json:"kind"`
	Text    string             `json:"text"`
	Offset  int64              `json:"offset"` // of the cursor, in UTF-16 code units
	Meta    Meta               `json:"_meta,omitzero"`
}

// CompletionItem is something that can be put into a message.
type CompletionItem struct {
	InsertText string            `json:"insertText"`
	RangeStart *int64            `json:"rangeStart,omitempty"` // the text to replace, in UTF-16 code units
	RangeEnd   *int64            `json:"rangeEnd,omitempty"`
	Attachment MessageAttachment `json:"attachment"`
}

// CompletionItemKind is the kind of a completion.
type CompletionItemKind string

// The values of CompletionItemKind.
const (
	CompletionItemKindUserMessage CompletionItemKind = "userMessage"
)

// CompletionsResult is the result of completions.
type CompletionsResult struct {
	Items []CompletionItem `json:"items"`
}
