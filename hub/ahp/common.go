package ahp

import "encoding/json"

// Icon is a part of the protocol.
type Icon struct {
	Src         URI      `json:"src"`
	ContentType string   `json:"contentType,omitempty"`
	Sizes       []string `json:"sizes,omitzero"`
	Theme       string   `json:"theme,omitempty"`
}

// ProtectedResourceMetadata is a part of the protocol.
type ProtectedResourceMetadata struct {
	Resource                          string   `json:"resource"`
	ResourceName                      string   `json:"resource_name,omitempty"`
	AuthorizationServers              []string `json:"authorization_servers,omitzero"`
	JwksURI                           string   `json:"jwks_uri,omitempty"`
	ScopesSupported                   []string `json:"scopes_supported,omitzero"`
	BearerMethodsSupported            []string `json:"bearer_methods_supported,omitzero"`
	ResourceSigningAlgValuesSupported []string `json:"resource_signing_alg_values_supported,omitzero"`
	ResourceDocumentation             string   `json:"resource_documentation,omitempty"`
	ResourcePolicyURI                 string   `json:"resource_policy_uri,omitempty"`
	ResourceTosURI                    string   `json:"resource_tos_uri,omitempty"`
	Required                          *bool    `json:"required,omitempty"`
}

// TextPosition is a part of the protocol.
type TextPosition struct {
	Line      int64 `json:"line"`
	Character int64 `json:"character"`
}

// TextRange is a part of the protocol.
type TextRange struct {
	Start TextPosition `json:"start"`
	End   TextPosition `json:"end"`
}

// TextSelection is a part of the protocol.
type TextSelection struct {
	Range TextRange `json:"range"`
}

// ContentRef is a part of the protocol.
type ContentRef struct {
	URI         URI    `json:"uri"`
	SizeHint    *int64 `json:"sizeHint,omitempty"`
	ContentType string `json:"contentType,omitempty"`
	Nonce       string `json:"nonce,omitempty"`
}

// FileEdit is a part of the protocol.
type FileEdit struct {
	Before *FileEditSide      `json:"before,omitempty"`
	After  *FileEditSide      `json:"after,omitempty"`
	Diff   *FileEditDiffStats `json:"diff,omitempty"`
}

// FileEditSide is a part of the protocol.
type FileEditSide struct {
	URI     URI        `json:"uri"`
	Content ContentRef `json:"content"`
}

// FileEditDiffStats is a part of the protocol.
type FileEditDiffStats struct {
	Added   *int64 `json:"added,omitempty"`
	Removed *int64 `json:"removed,omitempty"`
}

// FileEditCollection is a part of the protocol.
type FileEditCollection struct {
	Items []FileEdit `json:"items"`
}

// UsageInfo is a part of the protocol.
type UsageInfo struct {
	InputTokens     *int64 `json:"inputTokens,omitempty"`
	OutputTokens    *int64 `json:"outputTokens,omitempty"`
	Model           string `json:"model,omitempty"`
	CacheReadTokens *int64 `json:"cacheReadTokens,omitempty"`
	Meta            Meta   `json:"_meta,omitzero"`
}

// ErrorInfo is a part of the protocol.
type ErrorInfo struct {
	ErrorType string `json:"errorType"`
	Message   string `json:"message"`
	Stack     string `json:"stack,omitempty"`
	Meta      Meta   `json:"_meta,omitzero"`
}

// ChangesSummary is a part of the protocol.
type ChangesSummary struct {
	Additions *int64 `json:"additions,omitempty"`
	Deletions *int64 `json:"deletions,omitempty"`
	Files     *int64 `json:"files,omitempty"`
}

// StringCollection is a part of the protocol.
type StringCollection struct {
	Items []string `json:"items"`
}

// ProjectInfo is a part of the protocol.
type ProjectInfo struct {
	URI         URI    `json:"uri"`
	DisplayName string `json:"displayName"`
}

// AgentSelection is a part of the protocol.
type AgentSelection struct {
	URI URI `json:"uri"`
}

// ModelSelection is a part of the protocol.
type ModelSelection struct {
	ID     string                     `json:"id"`
	Config map[string]json.RawMessage `json:"config,omitzero"`
}
