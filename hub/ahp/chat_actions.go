package ahp

// ChatTurnStartedAction is chat/turnStarted.
type ChatTurnStartedAction struct {
	TurnID          string  `json:"turnId"`
	StartedAt       string  `json:"startedAt"` // ISO 8601
	Message         Message `json:"message"`
	QueuedMessageID string  `json:"queuedMessageId,omitempty"` // the queued message that this turn sends
	Meta            Meta    `json:"_meta,omitzero"`
}

// ActionType returns "chat/turnStarted".
func (*ChatTurnStartedAction) ActionType() string { return "chat/turnStarted" }

// ChatDeltaAction is chat/delta: text for a Markdown part.
type ChatDeltaAction struct {
	TurnID  string `json:"turnId"`
	PartID  string `json:"partId"`
	Content string `json:"content"`
	Meta    Meta   `json:"_meta,omitzero"`

	merged Text // set by Merge: Content with room to grow
}

// ActionType returns "chat/delta".
func (*ChatDeltaAction) ActionType() string { return "chat/delta" }

// ChatResponsePartAction is chat/responsePart: a new part of the response. It must not be an error.
type ChatResponsePartAction struct {
	TurnID string       `json:"turnId"`
	Part   ResponsePart `json:"part"`
	Meta   Meta         `json:"_meta,omitzero"`
}

// ActionType returns "chat/responsePart".
func (*ChatResponsePartAction) ActionType() string { return "chat/responsePart" }

// ChatTurnCompleteAction is chat/turnComplete.
type ChatTurnCompleteAction struct {
	TurnID   string `json:"turnId"`
	Duration int64  `json:"duration"` // ms
	Meta     Meta   `json:"_meta,omitzero"`
}

// ActionType returns "chat/turnComplete".
func (*ChatTurnCompleteAction) ActionType() string { return "chat/turnComplete" }

// ChatTurnCancelledAction is chat/turnCancelled.
type ChatTurnCancelledAction struct {
	TurnID   string `json:"turnId"`
	Duration int64  `json:"duration"` // ms
	Meta     Meta   `json:"_meta,omitzero"`
}

// ActionType returns "chat/turnCancelled".
func (*ChatTurnCancelledAction) ActionType() string { return "chat/turnCancelled" }

// ChatErrorAction is chat/error: the turn failed.
type ChatErrorAction struct {
	TurnID   string            `json:"turnId"`
	Duration int64             `json:"duration"` // ms
	Part     ErrorResponsePart `json:"part"`
	Meta     Meta              `json:"_meta,omitzero"`
}

// ActionType returns "chat/error".
func (*ChatErrorAction) ActionType() string { return "chat/error" }

// ChatActivityChangedAction is chat/activityChanged; empty clears it.
type ChatActivityChangedAction struct {
	Activity string `json:"activity,omitempty"`
}

// ActionType returns "chat/activityChanged".
func (*ChatActivityChangedAction) ActionType() string { return "chat/activityChanged" }

// ChatWorkingDirectorySetAction is chat/workingDirectorySet.
type ChatWorkingDirectorySetAction struct {
	Directory URI `json:"directory"`
}

// ActionType returns "chat/workingDirectorySet".
func (*ChatWorkingDirectorySetAction) ActionType() string { return "chat/workingDirectorySet" }

// ChatWorkingDirectoryRemovedAction is chat/workingDirectoryRemoved.
type ChatWorkingDirectoryRemovedAction struct {
	Directory URI `json:"directory"`
}

// ActionType returns "chat/workingDirectoryRemoved".
func (*ChatWorkingDirectoryRemovedAction) ActionType() string { return "chat/workingDirectoryRemoved" }

// ChatUsageAction is chat/usage.
type ChatUsageAction struct {
	TurnID string    `json:"turnId"`
	Usage  UsageInfo `json:"usage"`
	Meta   Meta      `json:"_meta,omitzero"`
}

// ActionType returns "chat/usage".
func (*ChatUsageAction) ActionType() string { return "chat/usage" }

// ChatReasoningAction is chat/reasoning: text for a reasoning part.
type ChatReasoningAction struct {
	TurnID  string `json:"turnId"`
	PartID  string `json:"partId"`
	Content string `json:"content"`
	Meta    Meta   `json:"_meta,omitzero"`

	merged Text // set by Merge: Content with room to grow
}

// ActionType returns "chat/reasoning".
func (*ChatReasoningAction) ActionType() string { return "chat/reasoning" }

// ChatTruncatedAction is chat/truncated: it removes the turns after TurnID, or all if TurnID is
// empty.
type ChatTruncatedAction struct {
	TurnID string `json:"turnId,omitempty"`
}

// ActionType returns "chat/truncated".
func (*ChatTruncatedAction) ActionType() string { return "chat/truncated" }

// ChatTurnsLoadedAction is chat/turnsLoaded: older turns, oldest first.
type ChatTurnsLoadedAction struct {
	Turns           []*Turn `json:"turns"`
	TurnsNextCursor string  `json:"turnsNextCursor,omitempty"`
}

// ActionType returns "chat/turnsLoaded".
func (*ChatTurnsLoadedAction) ActionType() string { return "chat/turnsLoaded" }

// ChatPendingMessageSetAction is chat/pendingMessageSet, which adds a message or replaces it by id;
// there is at most one steering message.
type ChatPendingMessageSetAction struct {
	Kind    PendingMessageKind `json:"kind"`
	ID      string             `json:"id"`
	Message Message            `json:"message"`
}

// ActionType returns "chat/pendingMessageSet".
func (*ChatPendingMessageSetAction) ActionType() string { return "chat/pendingMessageSet" }

// ChatPendingMessageRemovedAction is chat/pendingMessageRemoved.
type ChatPendingMessageRemovedAction struct {
	Kind PendingMessageKind `json:"kind"`
	ID   string             `json:"id"`
}

// ActionType returns "chat/pendingMessageRemoved".
func (*ChatPendingMessageRemovedAction) ActionType() string { return "chat/pendingMessageRemoved" }

// ChatQueuedMessagesReorderedAction is chat/queuedMessagesReordered.
type ChatQueuedMessagesReorderedAction struct {
	Order []string `json:"order"`
}

// ActionType returns "chat/queuedMessagesReordered".
func (*ChatQueuedMessagesReorderedAction) ActionType() string { return "chat/queuedMessagesReordered" }

// ChatDraftChangedAction is chat/draftChanged; nil clears it.
type ChatDraftChangedAction struct {
	Draft *Message `json:"draft,omitempty"`
}

// ActionType returns "chat/draftChanged".
func (*ChatDraftChangedAction) ActionType() string { return "chat/draftChanged" }

// ChatInputRequestedAction is chat/inputRequested.
type ChatInputRequestedAction struct {
	Request ChatInputRequest `json:"request"`
}

// ActionType returns "chat/inputRequested".
func (*ChatInputRequestedAction) ActionType() string { return "chat/inputRequested" }

// ChatInputAnswerChangedAction is chat/inputAnswerChanged; a nil Answer removes the answer.
type ChatInputAnswerChangedAction struct {
	RequestID  string           `json:"requestId"`
	QuestionID string           `json:"questionId"`
	Answer     *ChatInputAnswer `json:"answer,omitempty"`
}

// ActionType returns "chat/inputAnswerChanged".
func (*ChatInputAnswerChangedAction) ActionType() string { return "chat/inputAnswerChanged" }

// ChatInputCompletedAction is chat/inputCompleted.
type ChatInputCompletedAction struct {
	RequestID string                     `json:"requestId"`
	Response  ChatInputResponseKind      `json:"response"`
	Answers   map[string]ChatInputAnswer `json:"answers,omitzero"`
}

// ActionType returns "chat/inputCompleted".
func (*ChatInputCompletedAction) ActionType() string { return "chat/inputCompleted" }

// ChatTurnResumeAction is chat/turnResume: resume the last turn, which failed.
type ChatTurnResumeAction struct {
	TurnID string `json:"turnId"`
}

// ActionType returns "chat/turnResume".
func (*ChatTurnResumeAction) ActionType() string { return "chat/turnResume" }

// ChatBackgroundWorkSetAction is chat/backgroundWorkSet, which adds work or replaces it by id.
type ChatBackgroundWorkSetAction struct {
	Work BackgroundWork `json:"work"`
}

// ActionType returns "chat/backgroundWorkSet".
func (*ChatBackgroundWorkSetAction) ActionType() string { return "chat/backgroundWorkSet" }

// ChatBackgroundWorkRemovedAction is chat/backgroundWorkRemoved.
type ChatBackgroundWorkRemovedAction struct {
	ID string `json:"id"`
}

// ActionType returns "chat/backgroundWorkRemoved".
func (*ChatBackgroundWorkRemovedAction) ActionType() string { return "chat/backgroundWorkRemoved" }

// ChatMovableChangedAction is chat/movableChanged.
type ChatMovableChangedAction struct {
	Movable bool `json:"movable"`
}

// ActionType returns "chat/movableChanged".
func (*ChatMovableChangedAction) ActionType() string { return "chat/movableChanged" }

// ChatChangesetsChangedAction is chat/changesetsChanged: all changesets, or nil for none.
type ChatChangesetsChangedAction struct {
	Changesets []Changeset `json:"changesets,omitzero"`
}

// ActionType returns "chat/changesetsChanged".
func (*ChatChangesetsChangedAction) ActionType() string { return "chat/changesetsChanged" }

// ChatCanvasesChangedAction is chat/canvasesChanged: all canvases, or nil for none.
type ChatCanvasesChangedAction struct {
	Canvases []CanvasReference `json:"canvases,omitzero"`
}

// ActionType returns "chat/canvasesChanged".
func (*ChatCanvasesChangedAction) ActionType() string { return "chat/canvasesChanged" }

// ChatIsReadChangedAction is chat/isReadChanged.
type ChatIsReadChangedAction struct {
	IsRead bool `json:"isRead"`
}

// ActionType returns "chat/isReadChanged".
func (*ChatIsReadChangedAction) ActionType() string { return "chat/isReadChanged" }

// ChatIsArchivedChangedAction is chat/isArchivedChanged.
type ChatIsArchivedChangedAction struct {
	IsArchived bool `json:"isArchived"`
}

// ActionType returns "chat/isArchivedChanged".
func (*ChatIsArchivedChangedAction) ActionType() string { return "chat/isArchivedChanged" }
