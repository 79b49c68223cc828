package ahp

// Implementation is a part of the protocol.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Title   string `json:"title,omitempty"`
}

// InitializeParams are the params of initialize.
type InitializeParams struct {
	Channel              URI                 `json:"channel"`
	ProtocolVersions     []string            `json:"protocolVersions"`
	ClientID             string              `json:"clientId"`
	ClientInfo           *Implementation     `json:"clientInfo,omitempty"`
	InitialSubscriptions []URI               `json:"initialSubscriptions,omitzero"`
	Locale               string              `json:"locale,omitempty"`
	Capabilities         *ClientCapabilities `json:"capabilities,omitempty"`
	Meta                 Meta                `json:"_meta,omitzero"`
}

// ClientCapabilities is a part of the protocol.
type ClientCapabilities struct {
	McpApps Meta `json:"mcpApps,omitzero"`
}

// InitializeResult is the result of initialize.
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

// ReconnectParams are the params of reconnect.
type ReconnectParams struct {
	Channel           URI    `json:"channel"`
	ClientID          string `json:"clientId"`
	LastSeenServerSeq int64  `json:"lastSeenServerSeq"`
	Subscriptions     []URI  `json:"subscriptions"`
	Meta              Meta   `json:"_meta,omitzero"`
}

// ReconnectResult is one of the kinds of ReconnectResultValue.
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

// ReconnectReplayResult is the result of reconnectReplay.
type ReconnectReplayResult struct {
	Actions []ActionEnvelope `json:"actions"`
	Missing []URI            `json:"missing"`
}

// ReconnectSnapshotResult is the result of reconnectSnapshot.
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

// SubscribeView is a part of the protocol.
type SubscribeView struct {
	Turns *int64 `json:"turns,omitempty"`
}

// SubscriptionDeliveryOptions is a part of the protocol.
type SubscriptionDeliveryOptions struct {
	MaxLatencyMs *int64 `json:"maxLatencyMs,omitempty"`
}

// SubscribeResult is the result of subscribe.
type SubscribeResult struct {
	Snapshot *Snapshot `json:"snapshot,omitempty"`
}

// UnsubscribeParams are the params of unsubscribe.
type UnsubscribeParams struct {
	Channel URI `json:"channel"`
}

// AuthenticateParams are the params of authenticate.
type AuthenticateParams struct {
	Channel   URI      `json:"channel"`
	Resource  string   `json:"resource"`
	Token     string   `json:"token"`
	Scopes    []string `json:"scopes,omitzero"`
	ExpiresIn *int64   `json:"expiresIn,omitempty"`
	Meta      Meta     `json:"_meta,omitzero"`
}

// AuthenticateResult is the result of authenticate.
type AuthenticateResult struct{}

// ListSessionsParams are the params of listSessions.
type ListSessionsParams struct {
	Channel URI    `json:"channel"`
	Limit   *int64 `json:"limit,omitempty"`
	Cursor  string `json:"cursor,omitempty"`
	Meta    Meta   `json:"_meta,omitzero"`
}

// ListSessionsResult is the result of listSessions.
type ListSessionsResult struct {
	NextCursor string           `json:"nextCursor,omitempty"`
	Items      []SessionSummary `json:"items"`
}

// ResolveSessionConfigParams are the params of resolveSessionConfig.
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

// SessionConfigValueItem is a part of the protocol.
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

// CreateSessionParams are the params of createSession.
type CreateSessionParams struct {
	Channel            URI                  `json:"channel"`
	Provider           string               `json:"provider,omitempty"`
	WorkingDirectories []URI                `json:"workingDirectories,omitzero"`
	Config             Meta                 `json:"config,omitzero"`
	ActiveClient       *SessionActiveClient `json:"activeClient,omitempty"`
	ProgressToken      string               `json:"progressToken,omitempty"`
	Meta               Meta                 `json:"_meta,omitzero"`
}

// DisposeSessionParams are the params of disposeSession.
type DisposeSessionParams struct {
	Channel URI  `json:"channel"`
	Meta    Meta `json:"_meta,omitzero"`
}

// CompletionsParams are the params of completions.
type CompletionsParams struct {
	Channel URI                `json:"channel"`
	Kind    CompletionItemKind `json:"kind"`
	Text    string             `json:"text"`
	Offset  int64              `json:"offset"`
	Meta    Meta               `json:"_meta,omitzero"`
}

// CompletionItem is a part of the protocol.
type CompletionItem struct {
	InsertText string            `json:"insertText"`
	RangeStart *int64            `json:"rangeStart,omitempty"`
	RangeEnd   *int64            `json:"rangeEnd,omitempty"`
	Attachment MessageAttachment `json:"attachment"`
}

// CompletionItemKind is an open set of names: unknown ones survive.
type CompletionItemKind string

// The values of CompletionItemKind.
const (
	CompletionItemKindUserMessage CompletionItemKind = "userMessage"
)

// CompletionsResult is the result of completions.
type CompletionsResult struct {
	Items []CompletionItem `json:"items"`
}
