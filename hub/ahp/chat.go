package ahp

// ChatState is a part of the protocol.
type ChatState struct {
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
	Turns              []*Turn           `json:"turns"`
	TurnsNextCursor    string            `json:"turnsNextCursor,omitempty"`
	ActiveTurn         *ActiveTurn       `json:"activeTurn,omitempty"`
	SteeringMessage    *PendingMessage   `json:"steeringMessage,omitempty"`
	QueuedMessages     []PendingMessage  `json:"queuedMessages,omitzero"`
	Draft              *Message          `json:"draft,omitempty"`
	Changesets         []Changeset       `json:"changesets,omitzero"`
	BackgroundWork     []BackgroundWork  `json:"backgroundWork,omitzero"`
	Canvases           []CanvasReference `json:"canvases,omitzero"`
	Meta               Meta              `json:"_meta,omitzero"`
}

// ChatSummary is a part of the protocol.
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

// PartialChatSummary is a part of the protocol.
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

// ChatInteractivity is an open set of names: unknown ones survive.
type ChatInteractivity string

// The values of ChatInteractivity.
const (
	ChatInteractivityFull     ChatInteractivity = "full"
	ChatInteractivityReadOnly ChatInteractivity = "read-only"
	ChatInteractivityHidden   ChatInteractivity = "hidden"
)

// ChatOrigin is one of the kinds of ChatOriginValue.
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

// ChatOriginUser is a part of the protocol.
type ChatOriginUser struct{}

// ChatOriginFork is a part of the protocol.
type ChatOriginFork struct {
	Chat   URI    `json:"chat"`
	TurnID string `json:"turnId"`
}

// ChatOriginSideChat is a part of the protocol.
type ChatOriginSideChat struct {
	Chat      URI                `json:"chat"`
	TurnID    string             `json:"turnId"`
	Selection *SideChatSelection `json:"selection,omitempty"`
}

// ChatOriginTool is a part of the protocol.
type ChatOriginTool struct {
	Chat       URI    `json:"chat"`
	ToolCallID string `json:"toolCallId"`
}

// SideChatSelection is a part of the protocol.
type SideChatSelection struct {
	Text           string `json:"text"`
	ResponsePartID string `json:"responsePartId,omitempty"`
}

// PendingMessage is a part of the protocol.
type PendingMessage struct {
	ID      string  `json:"id"`
	Message Message `json:"message"`
}

// PendingMessageKind is an open set of names: unknown ones survive.
type PendingMessageKind string

// The values of PendingMessageKind.
const (
	PendingMessageKindSteering PendingMessageKind = "steering"
	PendingMessageKindQueued   PendingMessageKind = "queued"
)

// CanvasReference is a part of the protocol.
type CanvasReference struct {
	Resource URI `json:"resource"`
}
