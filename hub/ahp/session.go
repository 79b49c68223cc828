package ahp

// SessionState is a session: its lifecycle, chats, clients, settings and requests that wait for a
// person.
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
	Chats              []ChatSummary         `json:"chats"`                 // in the host's order
	DefaultChat        URI                   `json:"defaultChat,omitempty"` // receives input that names no chat
	Config             *SessionConfigState   `json:"config,omitempty"`
	Customizations     []Customization       `json:"customizations,omitzero"`
	Changesets         []Changeset           `json:"changesets,omitzero"`
	// everything that blocks a chat (AHP requirement 76)
	InputNeeded []SessionInputRequest `json:"inputNeeded,omitzero"`
	Meta        Meta                  `json:"_meta,omitzero"`
}

// SessionLifecycle reports whether a session can be used.
type SessionLifecycle string

// The values of SessionLifecycle.
const (
	SessionLifecycleCreating SessionLifecycle = "creating"
	SessionLifecycleReady    SessionLifecycle = "ready"
	SessionLifecycleFailed   SessionLifecycle = "failed"
)

// SessionActiveClient is a client that lends its tools and customizations to a session.
type SessionActiveClient struct {
	ClientID       string                      `json:"clientId"`
	DisplayName    string                      `json:"displayName,omitempty"`
	Tools          []ToolDefinition            `json:"tools"`
	Customizations []ClientPluginCustomization `json:"customizations,omitzero"`
}

// SessionSummary is a session in a list.
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
	CreatedAt          string               `json:"createdAt"`  // ISO 8601
	ModifiedAt         string               `json:"modifiedAt"` // ISO 8601
	Changes            *ChangesSummary      `json:"changes,omitempty"`
	Chats              []SessionChatSummary `json:"chats,omitzero"`
	DefaultChat        URI                  `json:"defaultChat,omitempty"`
	Meta               Meta                 `json:"_meta,omitzero"`
}

// PartialSessionSummary holds the fields of a SessionSummary that changed; nil fields did not.
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

// SessionChatSummary is a chat in a list of sessions.
type SessionChatSummary struct {
	Resource      URI               `json:"resource"`
	Title         string            `json:"title"`
	Origin        *ChatOrigin       `json:"origin,omitempty"`
	Interactivity ChatInteractivity `json:"interactivity,omitempty"`
	Status        *SessionStatus    `json:"status,omitempty"` // absent means unknown, never unread
	Changes       *ChangesSummary   `json:"changes,omitempty"`
}

// SessionOrigin names what started a session, unless a person did.
type SessionOrigin struct{ Value SessionOriginValue }

// SessionOriginValue is implemented by *SessionAutomationOrigin and *UnknownVariant.
type SessionOriginValue interface{ isSessionOrigin() }

func (*SessionAutomationOrigin) isSessionOrigin() {}
func (*UnknownVariant) isSessionOrigin()          {}

// MarshalJSON writes the variant with its discriminator.
func (u SessionOrigin) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *SessionOrigin) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// SessionAutomationOrigin names the automation and the run that started a session.
type SessionAutomationOrigin struct {
	Automation URI `json:"automation"`
	Run        URI `json:"run"`
}
