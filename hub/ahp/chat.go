package ahp

// ChatState is a chat: its finished turns, its active turn, and messages that are not sent yet.
type ChatState struct {
	Resource           URI               `json:"resource"`
	Title              string            `json:"title"`
	Status             SessionStatus     `json:"status"`
	Activity           string            `json:"activity,omitempty"`
	ModifiedAt         string            `json:"modifiedAt"` // ISO 8601
	Origin             *ChatOrigin       `json:"origin,omitempty"`
	Interactivity      ChatInteractivity `json:"interactivity,omitempty"`
	WorkingDirectories []URI             `json:"workingDirectories,omitzero"`
	Changes            *ChangesSummary   `json:"changes,omitempty"`
	// whether moveChat is allowed; absent counts as false
	Movable *bool   `json:"movable,omitempty"`
	Turns   []*Turn `json:"turns"` // finished ones, oldest first
	// for fetchTurns; present while there are older turns
	TurnsNextCursor string            `json:"turnsNextCursor,omitempty"`
	ActiveTurn      *ActiveTurn       `json:"activeTurn,omitempty"`
	SteeringMessage *PendingMessage   `json:"steeringMessage,omitempty"`
	QueuedMessages  []PendingMessage  `json:"queuedMessages,omitzero"`
	Draft           *Message          `json:"draft,omitempty"`
	Changesets      []Changeset       `json:"changesets,omitzero"`
	BackgroundWork  []BackgroundWork  `json:"backgroundWork,omitzero"` // still running, whichever turn started it
	Canvases        []CanvasReference `json:"canvases,omitzero"`
	Meta            Meta              `json:"_meta,omitzero"`
}

// ChatSummary is a chat in its session's catalogue; it repeats fields of ChatState (AHP requirement 86).
type ChatSummary struct {
	Resource           URI               `json:"resource"`
	Title              string            `json:"title"`
	Status             SessionStatus     `json:"status"`
	Activity           string            `json:"activity,omitempty"`
	ModifiedAt         string            `json:"modifiedAt"`
	Origin             *ChatOrigin       `json:"origin,omitempty"`
	Interactivity      ChatInteractivity `json:"interactivity,omitempty"`
	WorkingDirectories []URI             `json:"workingDirectories,omitzero"`
	Changes            *ChangesSummary   `json:"changes,omitempty"`
	Movable            *bool             `json:"movable,omitempty"`
}

// PartialChatSummary holds the fields of a ChatSummary that changed; nil fields did not.
type PartialChatSummary struct {
	Resource           *URI               `json:"resource,omitempty"`
	Title              *string            `json:"title,omitempty"`
	Status             *SessionStatus     `json:"status,omitempty"`
	Activity           *string            `json:"activity,omitempty"`
	ModifiedAt         *string            `json:"modifiedAt,omitempty"`
	Origin             *ChatOrigin        `json:"origin,omitempty"`
	Interactivity      *ChatInteractivity `json:"interactivity,omitempty"`
	WorkingDirectories []URI              `json:"workingDirectories,omitzero"`
	Changes            *ChangesSummary    `json:"changes,omitempty"`
	Movable            *bool              `json:"movable,omitempty"`
}

// ChatInteractivity describes what a person can do with a chat; absent counts as full.
type ChatInteractivity string

// The values of ChatInteractivity.
const (
	ChatInteractivityFull     ChatInteractivity = "full"
	ChatInteractivityReadOnly ChatInteractivity = "read-only"
	ChatInteractivityHidden   ChatInteractivity = "hidden"
)

// ChatOrigin is how a chat was created.
type ChatOrigin struct{ Value ChatOriginValue }

// ChatOriginValue is implemented by *ChatOriginUser, *ChatOriginFork, *ChatOriginSideChat, *ChatOriginTool and
// *UnknownVariant.
type ChatOriginValue interface{ isChatOrigin() }

func (*ChatOriginUser) isChatOrigin()     {}
func (*ChatOriginFork) isChatOrigin()     {}
func (*ChatOriginSideChat) isChatOrigin() {}
func (*ChatOriginTool) isChatOrigin()     {}
func (*UnknownVariant) isChatOrigin()     {}

// MarshalJSON writes the variant with its discriminator.
func (u ChatOrigin) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ChatOrigin) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ChatOriginUser is a chat a person started.
type ChatOriginUser struct{}

// ChatOriginFork is a chat that continues another one's history.
type ChatOriginFork struct {
	Chat   URI    `json:"chat"`
	TurnID string `json:"turnId"`
}

// ChatOriginSideChat is a side chat of another chat, with that chat's history as context.
type ChatOriginSideChat struct {
	Chat      URI                `json:"chat"`
	TurnID    string             `json:"turnId"`
	Selection *SideChatSelection `json:"selection,omitempty"`
}

// ChatOriginTool is a chat that a tool call started.
type ChatOriginTool struct {
	Chat       URI    `json:"chat"`
	ToolCallID string `json:"toolCallId"`
}

// SideChatSelection is the text a side chat is about, verbatim (AHP requirement 94).
type SideChatSelection struct {
	Text           string `json:"text"`
	ResponsePartID string `json:"responsePartId,omitempty"`
}

// PendingMessage is a message that waits to be sent.
type PendingMessage struct {
	ID      string  `json:"id"`
	Message Message `json:"message"`
}

// PendingMessageKind distinguishes messages that wait for their own turn from those for the running
// turn.
type PendingMessageKind string

// The values of PendingMessageKind.
const (
	PendingMessageKindSteering PendingMessageKind = "steering"
	PendingMessageKindQueued   PendingMessageKind = "queued"
)

// CanvasReference names a canvas channel.
type CanvasReference struct {
	Resource URI `json:"resource"`
}
