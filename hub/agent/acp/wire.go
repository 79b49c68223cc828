package acp

import (
	"cmp"
	"encoding/json"
)

// The messages on the wire, with only the fields that are used here. Unknown fields are ignored, so
// newer agents work as far as their messages contain what older ones sent.

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
	Auth     struct {
		Terminal bool `json:"terminal"` // login methods that are commands are listed and shown
	} `json:"auth"`
	Elicitation struct {
		Form struct{} `json:"form"`
		URL  struct{} `json:"url"`
	} `json:"elicitation"`
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
			Audio           bool `json:"audio"`
			EmbeddedContext bool `json:"embeddedContext"`
		} `json:"promptCapabilities"`
		SessionCapabilities struct {
			Resume json.RawMessage `json:"resume"` // objects if the program can
			Fork   json.RawMessage `json:"fork"`
			Dirs   json.RawMessage `json:"additionalDirectories"`
		} `json:"sessionCapabilities"`
		McpCapabilities struct {
			HTTP bool `json:"http"`
		} `json:"mcpCapabilities"`
	} `json:"agentCapabilities"`
	AgentInfo   implementation `json:"agentInfo"`
	AuthMethods []authMethod   `json:"authMethods"`
	Meta        struct {
		Steering struct {
			Supported bool `json:"supported"`
		} `json:"steering"`
	} `json:"_meta"`
}

type authMethod struct {
	ID          string    `json:"id"`
	Type        string    `json:"type,omitempty"` // env_var, terminal; absent: the program's own method
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Link        string    `json:"link,omitempty"`
	Vars        []authVar `json:"vars,omitempty"`
	Meta        authMeta  `json:"_meta,omitzero"`
	Args        []string  `json:"args,omitempty"`
}

// authMeta marks a method that takes an API key with its request.
type authMeta struct {
	APIKey json.RawMessage `json:"api-key,omitempty"`
}

type authParams struct {
	MethodID string    `json:"methodId"`
	Meta     *handover `json:"_meta,omitempty"`
}

type handover struct {
	APIKey string `json:"api-key"`
}

type authVar struct {
	Name     string `json:"name"`
	Optional bool   `json:"optional,omitempty"`
}

type sessionParams struct {
	SessionID  string      `json:"sessionId,omitempty"`
	Cwd        string      `json:"cwd"`
	Dirs       []string    `json:"additionalDirectories,omitempty"`
	McpServers []mcpServer `json:"mcpServers"`
}

// mcpServer is reached by HTTP or started as a process.
type mcpServer struct {
	Type    string    `json:"type,omitempty"` // http; absent: standard input and output
	Name    string    `json:"name"`
	URL     string    `json:"url,omitempty"`
	Headers *[]pair   `json:"headers,omitempty"`
	Command string    `json:"command,omitempty"`
	Args    *[]string `json:"args,omitempty"`
	Env     *[]pair   `json:"env,omitempty"`
}

type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// sessionResult answers session/new, load, resume and fork.
type sessionResult struct {
	SessionID string `json:"sessionId"`
	settings
}

// settings are the settings of a program's session.
type settings struct {
	Modes *struct {
		Available []struct {
			ID          string `json:"id"`
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"availableModes"`
		Current string `json:"currentModeId"`
	} `json:"modes"`
	Models *struct {
		Available []struct {
			ID          string `json:"modelId"`
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"availableModels"`
		Current string `json:"currentModelId"`
	} `json:"models"`
	ConfigOptions []configOption `json:"configOptions"`
}

type configOption struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Category     string          `json:"category"` // mode, model, thought_level, or another
	Type         string          `json:"type"`     // select, boolean
	CurrentValue json.RawMessage `json:"currentValue"`
	Options      []optionChoice  `json:"options"`
}

// optionChoice is a value, or a group of values.
type optionChoice struct {
	Value       string         `json:"value"`
	Group       string         `json:"group"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Options     []optionChoice `json:"options"`
}

type setOption struct {
	SessionID string          `json:"sessionId"`
	ConfigID  string          `json:"configId"`
	Type      string          `json:"type,omitempty"` // boolean
	Value     json.RawMessage `json:"value"`
}

type availableCommand struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Input       *struct {
		Hint string `json:"hint"`
	} `json:"input"`
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
	CachedWrite      *int64 `json:"cachedWriteTokens"`
	Thought          *int64 `json:"thoughtTokens"`
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

	CurrentModeID     string             `json:"currentModeId"`
	ConfigOptions     []configOption     `json:"configOptions"`
	AvailableCommands []availableCommand `json:"availableCommands"`
	toolFields
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// toolFields are the fields of a tool call; absent ones keep their values.
type toolFields struct {
	ToolCallID string          `json:"toolCallId"`
	Title      *string         `json:"title"`
	ToolKind   *string         `json:"kind"`
	Status     *string         `json:"status"`
	Locations  []location      `json:"locations"`
	RawInput   json.RawMessage `json:"rawInput"`
	RawOutput  json.RawMessage `json:"rawOutput"`
	Meta       updateMeta      `json:"_meta"`
}

// updateMeta names the tool call that an update belongs to. Programs report with it what their
// sub-agents do.
type updateMeta struct {
	ParentToolCallID string `json:"parentToolCallId"`
	ClaudeCode       struct {
		ParentToolUseID string `json:"parentToolUseId"`
	} `json:"claudeCode"`
}

// UnmarshalJSON ignores errors, because _meta may hold anything.
func (m *updateMeta) UnmarshalJSON(raw []byte) error {
	type plain updateMeta
	_ = json.Unmarshal(raw, (*plain)(m))
	return nil
}

func (m updateMeta) parent() string { return cmp.Or(m.ParentToolCallID, m.ClaudeCode.ParentToolUseID) }

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

// planEntry is a step of a plan, or of the input of a to-do tool.
type planEntry struct {
	Content     string `json:"content"`
	Description string `json:"description"`
	Title       string `json:"title"`
	Step        string `json:"step"`
	Status      string `json:"status"` // pending, in_progress, completed
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
	SessionID       string   `json:"sessionId"`
	TerminalID      string   `json:"terminalId"`
	Command         string   `json:"command"`
	Args            []string `json:"args"`
	Env             []pair   `json:"env"`
	Cwd             string   `json:"cwd"`
	OutputByteLimit *int     `json:"outputByteLimit"`
}

type exitStatus struct {
	ExitCode *int `json:"exitCode"`
}

type terminalOutput struct {
	Output     string      `json:"output"`
	Truncated  bool        `json:"truncated"`
	ExitStatus *exitStatus `json:"exitStatus,omitempty"`
}
