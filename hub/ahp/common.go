package ahp

import "encoding/json"

// Icon is a picture to show beside a name.
type Icon struct {
	Src         URI      `json:"src"`
	ContentType string   `json:"contentType,omitempty"`
	Sizes       []string `json:"sizes,omitzero"`  // "48x48", or "any"
	Theme       string   `json:"theme,omitempty"` // light or dark: the background it is drawn for
}

// ProtectedResourceMetadata describes a resource that needs a token, in the shape of RFC 9728.
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
	// absent counts as true (AHP requirement 191)
	Required *bool `json:"required,omitempty"`
}

// TextPosition is a place in a text.
type TextPosition struct {
	Line      int64 `json:"line"`      // from 0
	Character int64 `json:"character"` // from 0, in UTF-16 code units
}

// TextRange is a stretch of text; End is exclusive.
type TextRange struct {
	Start TextPosition `json:"start"`
	End   TextPosition `json:"end"`
}

// TextSelection is the part of a resource a person marked.
type TextSelection struct {
	Range TextRange `json:"range"`
}

// ContentRef points to content that resourceRead returns.
type ContentRef struct {
	URI         URI    `json:"uri"`
	SizeHint    *int64 `json:"sizeHint,omitempty"` // bytes
	ContentType string `json:"contentType,omitempty"`
	Nonce       string `json:"nonce,omitempty"` // changes when the content does
}

// FileEdit is a change of one file: created without Before, deleted without After.
type FileEdit struct {
	Before *FileEditSide      `json:"before,omitempty"`
	After  *FileEditSide      `json:"after,omitempty"`
	Diff   *FileEditDiffStats `json:"diff,omitempty"`
}

// FileEditSide is a file before or after an edit; its content may be stored elsewhere.
type FileEditSide struct {
	URI     URI        `json:"uri"`
	Content ContentRef `json:"content"`
}

// FileEditDiffStats counts the lines of an edit.
type FileEditDiffStats struct {
	Added   *int64 `json:"added,omitempty"`
	Removed *int64 `json:"removed,omitempty"`
}

// FileEditCollection is a list of edits.
type FileEditCollection struct {
	Items []FileEdit `json:"items"`
}

// UsageInfo counts the tokens of a turn.
type UsageInfo struct {
	InputTokens     *int64 `json:"inputTokens,omitempty"`
	OutputTokens    *int64 `json:"outputTokens,omitempty"`
	Model           string `json:"model,omitempty"`
	CacheReadTokens *int64 `json:"cacheReadTokens,omitempty"`
	Meta            Meta   `json:"_meta,omitzero"`
}

// ErrorInfo describes a failure.
type ErrorInfo struct {
	ErrorType string `json:"errorType"` // for programs; Message is for people
	Message   string `json:"message"`
	Stack     string `json:"stack,omitempty"`
	Meta      Meta   `json:"_meta,omitzero"`
}

// ChangesSummary counts what changed.
type ChangesSummary struct {
	Additions *int64 `json:"additions,omitempty"` // lines
	Deletions *int64 `json:"deletions,omitempty"` // lines
	Files     *int64 `json:"files,omitempty"`
}

// StringCollection is a list of strings, such as globs.
type StringCollection struct {
	Items []string `json:"items"`
}

// ProjectInfo names the project a session works on.
type ProjectInfo struct {
	URI         URI    `json:"uri"`
	DisplayName string `json:"displayName"`
}

// AgentSelection picks an agent customization.
type AgentSelection struct {
	URI URI `json:"uri"`
}

// ModelSelection picks a model and its settings.
type ModelSelection struct {
	ID     string                     `json:"id"`
	Config map[string]json.RawMessage `json:"config,omitzero"`
}
