package ahp

// ToolCallResult is the result of a call.
type ToolCallResult struct {
	Success           bool                `json:"success"`
	PastTenseMessage  StringOrMarkdown    `json:"pastTenseMessage"`
	Content           []ToolResultContent `json:"content,omitzero"`
	StructuredContent Meta                `json:"structuredContent,omitzero"`
	Error             *ToolCallError      `json:"error,omitempty"`
}

// ToolCallError is the reason a call failed.
type ToolCallError struct {
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
}

// ToolResultContent is one piece of a call's output.
type ToolResultContent struct{ Value ToolResultContentValue }

// ToolResultContentValue is implemented by *ToolResultTextContent, *ToolResultEmbeddedResourceContent,
// *ToolResultResourceContent, *ToolResultFileEditContent, *ToolResultTerminalContent, *ToolResultSubagentContent and
// *UnknownVariant.
type ToolResultContentValue interface{ isToolResultContent() }

func (*ToolResultTextContent) isToolResultContent()             {}
func (*ToolResultEmbeddedResourceContent) isToolResultContent() {}
func (*ToolResultResourceContent) isToolResultContent()         {}
func (*ToolResultFileEditContent) isToolResultContent()         {}
func (*ToolResultTerminalContent) isToolResultContent()         {}
func (*ToolResultSubagentContent) isToolResultContent()         {}
func (*UnknownVariant) isToolResultContent()                    {}

// MarshalJSON writes the variant with its discriminator.
func (u ToolResultContent) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ToolResultContent) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ToolResultTextContent is output as text.
type ToolResultTextContent struct {
	Text string `json:"text"`
}

// ToolResultEmbeddedResourceContent is output with embedded content.
type ToolResultEmbeddedResourceContent struct {
	Data        string `json:"data"` // base64
	ContentType string `json:"contentType"`
}

// ToolResultResourceContent is output by URI.
type ToolResultResourceContent struct {
	URI         URI    `json:"uri"`
	SizeHint    *int64 `json:"sizeHint,omitempty"`
	ContentType string `json:"contentType,omitempty"`
	Nonce       string `json:"nonce,omitempty"`
}

// ToolResultFileEditContent is a file the call changed.
type ToolResultFileEditContent struct {
	Before *FileEditSide      `json:"before,omitempty"`
	After  *FileEditSide      `json:"after,omitempty"`
	Diff   *FileEditDiffStats `json:"diff,omitempty"`
}

// ToolResultTerminalContent is a terminal the call runs in; it stays subscribable afterwards.
type ToolResultTerminalContent struct {
	Resource URI                    `json:"resource"`
	Title    string                 `json:"title"`
	IsPty    *bool                  `json:"isPty,omitempty"`
	Result   *TerminalCommandResult `json:"result,omitempty"`
}

// TerminalCommandResult is the result of a command in a terminal.
type TerminalCommandResult struct {
	ExitCode  *int64 `json:"exitCode,omitempty"`
	Preview   string `json:"preview,omitempty"`
	Truncated *bool  `json:"truncated,omitempty"`
}

// ToolResultSubagentContent is a chat the call started.
type ToolResultSubagentContent struct {
	Resource    URI    `json:"resource"`
	Title       string `json:"title"`
	AgentName   string `json:"agentName,omitempty"`
	Description string `json:"description,omitempty"`
}
