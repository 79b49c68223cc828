package ahp

// SessionState is a part of the protocol.
type SessionState struct {
	Provider           string                `json:"provider"`
	Title              string                `json:"title"`
	Status             SessionStatus         `json:"status"`
	Activity           string                `json:"activity,omitempty"`
	Origin             *SessionOrigin        `json:"origin,omitempty"`
	Project            *ProjectInfo          `json:"project,omitempty"`
	WorkingDirectories []URI                 `json:"workingDirectories,omitzero"`
	Annotations        *AnnotationsSummary   `json:"annotations,omitempty"`
	Lifecycle          SessionLifecycle      `json:"lifecycle"`
	CreationError      *ErrorInfo            `json:"creationError,omitempty"`
	ServerTools        []ToolDefinition      `json:"serverTools,omitzero"`
	ActiveClients      []SessionActiveClient `json:"activeClients"`
	Chats              []ChatSummary         `json:"chats"`
	DefaultChat        URI                   `json:"defaultChat,omitempty"`
	Config             *SessionConfigState   `json:"config,omitempty"`
	Customizations     []Customization       `json:"customizations,omitzero"`
	Changesets         []Changeset           `json:"changesets,omitzero"`
	InputNeeded        []SessionInputRequest `json:"inputNeeded,omitzero"`
	Meta               Meta                  `json:"_meta,omitzero"`
}

// SessionLifecycle is an open set of names: unknown ones survive.
type SessionLifecycle string

// The values of SessionLifecycle.
const (
	SessionLifecycleCreating SessionLifecycle = "creating"
	SessionLifecycleReady    SessionLifecycle = "ready"
	SessionLifecycleFailed   SessionLifecycle = "failed"
)

// SessionActiveClient is a part of the protocol.
type SessionActiveClient struct {
	ClientID       string                      `json:"clientId"`
	DisplayName    string                      `json:"displayName,omitempty"`
	Tools          []ToolDefinition            `json:"tools"`
	Customizations []ClientPluginCustomization `json:"customizations,omitzero"`
}

// SessionSummary is a part of the protocol.
type SessionSummary struct {
	Resource           URI                  `json:"resource"`
	Provider           string               `json:"provider"`
	Title              string               `json:"title"`
	Status             SessionStatus        `json:"status"`
	Activity           string               `json:"activity,omitempty"`
	Origin             *SessionOrigin       `json:"origin,omitempty"`
	Project            *ProjectInfo         `json:"project,omitempty"`
	WorkingDirectories []URI                `json:"workingDirectories,omitzero"`
	Annotations        *AnnotationsSummary  `json:"annotations,omitempty"`
	CreatedAt          string               `json:"createdAt"`
	ModifiedAt         string               `json:"modifiedAt"`
	Changes            *ChangesSummary      `json:"changes,omitempty"`
	Chats              []SessionChatSummary `json:"chats,omitzero"`
	DefaultChat        URI                  `json:"defaultChat,omitempty"`
	Meta               Meta                 `json:"_meta,omitzero"`
}

// PartialSessionSummary is a part of the protocol.
type PartialSessionSummary struct {
	Resource           *URI                 `json:"resource,omitempty"`
	Provider           *string              `json:"provider,omitempty"`
	Title              *string              `json:"title,omitempty"`
	Status             *SessionStatus       `json:"status,omitempty"`
	Activity           *string              `json:"activity,omitempty"`
	Origin             *SessionOrigin       `json:"origin,omitempty"`
	Project            *ProjectInfo         `json:"project,omitempty"`
	WorkingDirectories []URI                `json:"workingDirectories,omitzero"`
	Annotations        *AnnotationsSummary  `json:"annotations,omitempty"`
	CreatedAt          *string              `json:"createdAt,omitempty"`
	ModifiedAt         *string              `json:"modifiedAt,omitempty"`
	Changes            *ChangesSummary      `json:"changes,omitempty"`
	Chats              []SessionChatSummary `json:"chats,omitzero"`
	DefaultChat        *URI                 `json:"defaultChat,omitempty"`
	Meta               Meta                 `json:"_meta,omitzero"`
}

// SessionChatSummary is a part of the protocol.
type SessionChatSummary struct {
	Resource      URI               `json:"resource"`
	Title         string            `json:"title"`
	Origin        *ChatOrigin       `json:"origin,omitempty"`
	Interactivity ChatInteractivity `json:"interactivity,omitempty"`
	Status        *SessionStatus    `json:"status,omitempty"`
	Changes       *ChangesSummary   `json:"changes,omitempty"`
}

// SessionOrigin is one of the kinds of SessionOriginValue.
type SessionOrigin struct{ Value SessionOriginValue }

// SessionOriginValue is implemented by *SessionAutomationOrigin and *UnknownVariant.
type SessionOriginValue interface{ isSessionOrigin() }

func (*SessionAutomationOrigin) isSessionOrigin() {}
func (*UnknownVariant) isSessionOrigin()          {}

// MarshalJSON writes the variant with its discriminator.
func (u SessionOrigin) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *SessionOrigin) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// SessionAutomationOrigin is a part of the protocol.
type SessionAutomationOrigin struct {
	Automation URI `json:"automation"`
	Run        URI `json:"run"`
}
