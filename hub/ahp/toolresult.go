package ahp

// ToolCallResult is a part of the protocol.
type ToolCallResult struct {
	Success           bool                `json:"success"`
	PastTenseMessage  StringOrMarkdown    `json:"pastTenseMessage"`
	Content           []ToolResultContent `json:"content,omitzero"`
	StructuredContent Meta                `json:"structuredContent,omitzero"`
	Error             *ToolCallError      `json:"error,omitempty"`
}

// ToolCallError is a part of the protocol.
type ToolCallError struct {
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
}

// ToolResultContent is one of the kinds of ToolResultContentValue.
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

// ToolResultTextContent is a part of the protocol.
type ToolResultTextContent struct {
	Text string `json:"text"`
}

// ToolResultEmbeddedResourceContent is a part of the protocol.
type ToolResultEmbeddedResourceContent struct {
	Data        string `json:"data"`
	ContentType string `json:"contentType"`
}

// ToolResultResourceContent is a part of the protocol.
type ToolResultResourceContent struct {
	URI         URI    `json:"uri"`
	SizeHint    *int64 `json:"sizeHint,omitempty"`
	ContentType string `json:"contentType,omitempty"`
	Nonce       string `json:"nonce,omitempty"`
}

// ToolResultFileEditContent is a part of the protocol.
type ToolResultFileEditContent struct {
	Before *FileEditSide      `json:"before,omitempty"`
	After  *FileEditSide      `json:"after,omitempty"`
	Diff   *FileEditDiffStats `json:"diff,omitempty"`
}

// ToolResultTerminalContent is a part of the protocol.
type ToolResultTerminalContent struct {
	Resource URI                    `json:"resource"`
	Title    string                 `json:"title"`
	IsPty    *bool                  `json:"isPty,omitempty"`
	Result   *TerminalCommandResult `json:"result,omitempty"`
}

// TerminalCommandResult is a part of the protocol.
type TerminalCommandResult struct {
	ExitCode  *int64 `json:"exitCode,omitempty"`
	Preview   string `json:"preview,omitempty"`
	Truncated *bool  `json:"truncated,omitempty"`
}

// ToolResultSubagentContent is a part of the protocol.
type ToolResultSubagentContent struct {
	Resource    URI    `json:"resource"`
	Title       string `json:"title"`
	AgentName   string `json:"agentName,omitempty"`
	Description string `json:"description,omitempty"`
}
