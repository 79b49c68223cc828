package acp

import "encoding/json"

// The messages as they are on the wire: only the fields that are used here. What
// is not known is left out when it is read, so newer agents are understood as far
// as they say what older ones did.

type initializeParams struct {
	ProtocolVersion    int                `json:"protocolVersion"`
	ClientCapabilities clientCapabilities `json:"clientCapabilities"`
	ClientInfo         implementation     `json:"clientInfo"`
}

type clientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
}

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

type initializeResult struct {
	ProtocolVersion   int `json:"protocolVersion"`
	AgentCapabilities struct {
		LoadSession        bool `json:"loadSession"`
		PromptCapabilities struct {
			Image           bool `json:"image"`
			EmbeddedContext bool `json:"embeddedContext"`
		} `json:"promptCapabilities"`
		SessionCapabilities struct {
			Resume json.RawMessage `json:"resume"` // an object when it can
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	AgentInfo   implementation `json:"agentInfo"`
	AuthMethods []authMethod   `json:"authMethods"`
}

type authMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

type sessionParams struct {
	SessionID  string   `json:"sessionId,omitempty"`
	Cwd        string   `json:"cwd"`
	McpServers []string `json:"mcpServers"` // none yet
}

type promptParams struct {
	SessionID string  `json:"sessionId"`
	Prompt    []block `json:"prompt"`
}

type promptResult struct {
	StopReason string `json:"stopReason"`
	Usage      *usage `json:"usage"`
}

type usage struct {
	InputTokens      *int64 `json:"inputTokens"`
	OutputTokens     *int64 `json:"outputTokens"`
	CachedReadTokens *int64 `json:"cachedReadTokens"`
}

// block is a piece of content, of any of its types.
type block struct {
	Type     string    `json:"type"` // text, image, audio, resource_link, resource
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"` // base64
	MimeType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *embedded `json:"resource,omitempty"`
}

type embedded struct {
	URI      string `json:"uri"`
	MimeType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     string `json:"blob,omitempty"` // base64
}

type sessionNotice struct {
	SessionID string `json:"sessionId"`
	Update    update `json:"update"`
}

// update is a session/update of any kind. Content is a block in chunks of text and
// a list in tool calls.
type update struct {
	Kind      string          `json:"sessionUpdate"`
	MessageID string          `json:"messageId"`
	Content   json.RawMessage `json:"content"`
	Entries   []planEntry     `json:"entries"`
	Used      int64           `json:"used"`
	Size      int64           `json:"size"`
	Cost      *cost           `json:"cost"`
	toolFields
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// toolFields are those of a tool call; what is absent stays as it was.
type toolFields struct {
	ToolCallID string          `json:"toolCallId"`
	Title      *string         `json:"title"`
	ToolKind   *string         `json:"kind"`
	Status     *string         `json:"status"`
	Locations  []location      `json:"locations"`
	RawInput   json.RawMessage `json:"rawInput"`
	RawOutput  json.RawMessage `json:"rawOutput"`
}

type location struct {
	Path string `json:"path"`
	Line *int   `json:"line"`
}

// toolContent is one piece of a tool call's content.
type toolContent struct {
	Type       string  `json:"type"` // content, diff, terminal
	Content    block   `json:"content"`
	Path       string  `json:"path"`
	OldText    *string `json:"oldText"`
	NewText    string  `json:"newText"`
	TerminalID string  `json:"terminalId"`
}

type planEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress, completed
}

type permissionParams struct {
	SessionID string `json:"sessionId"`
	ToolCall  struct {
		toolFields
		Content json.RawMessage `json:"content"`
	} `json:"toolCall"`
	Options []permissionOption `json:"options"`
}

type permissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"` // allow_once, allow_always, reject_once, reject_always
}

type permissionResult struct {
	Outcome permissionOutcome `json:"outcome"`
}

type permissionOutcome struct {
	Outcome  string `json:"outcome"` // selected, cancelled
	OptionID string `json:"optionId,omitempty"`
}

type fileParams struct {
	Path    string  `json:"path"`
	Line    *int    `json:"line"` // from 1
	Limit   *int    `json:"limit"`
	Content *string `json:"content"`
}

type terminalParams struct {
	SessionID  string   `json:"sessionId"`
	TerminalID string   `json:"terminalId"`
	Command    string   `json:"command"`
	Args       []string `json:"args"`
	Env        []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
	Cwd             string `json:"cwd"`
	OutputByteLimit *int   `json:"outputByteLimit"`
}

type exitStatus struct {
	ExitCode *int `json:"exitCode"`
}

type terminalOutput struct {
	Output     string      `json:"output"`
	Truncated  bool        `json:"truncated"`
	ExitStatus *exitStatus `json:"exitStatus,omitempty"`
}
