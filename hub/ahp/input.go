package ahp

// ChatInputRequest is a part of the protocol.
type ChatInputRequest struct {
	ID        string                     `json:"id"`
	Message   string                     `json:"message,omitempty"`
	URL       URI                        `json:"url,omitempty"`
	Questions []ChatInputQuestion        `json:"questions,omitzero"`
	Answers   map[string]ChatInputAnswer `json:"answers,omitzero"`
}

// ChatInputQuestion is one of the kinds of ChatInputQuestionValue.
type ChatInputQuestion struct{ Value ChatInputQuestionValue }

// ChatInputQuestionValue is implemented by *ChatInputTextQuestion, *ChatInputNumberQuestion,
// *ChatInputBooleanQuestion, *ChatInputSingleSelectQuestion, *ChatInputMultiSelectQuestion and *UnknownVariant.
type ChatInputQuestionValue interface{ isChatInputQuestion() }

func (*ChatInputTextQuestion) isChatInputQuestion()         {}
func (*ChatInputNumberQuestion) isChatInputQuestion()       {}
func (*ChatInputBooleanQuestion) isChatInputQuestion()      {}
func (*ChatInputSingleSelectQuestion) isChatInputQuestion() {}
func (*ChatInputMultiSelectQuestion) isChatInputQuestion()  {}
func (*UnknownVariant) isChatInputQuestion()                {}

// MarshalJSON writes the variant with its discriminator.
func (u ChatInputQuestion) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ChatInputQuestion) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ChatInputTextQuestion is a part of the protocol.
type ChatInputTextQuestion struct {
	ID           string `json:"id"`
	Title        string `json:"title,omitempty"`
	Message      string `json:"message"`
	Required     *bool  `json:"required,omitempty"`
	Format       string `json:"format,omitempty"`
	Min          *int64 `json:"min,omitempty"`
	Max          *int64 `json:"max,omitempty"`
	DefaultValue string `json:"defaultValue,omitempty"`
}

// ChatInputNumberQuestion is a part of the protocol.
type ChatInputNumberQuestion struct {
	Kind         ChatInputNumberKind `json:"kind"`
	ID           string              `json:"id"`
	Title        string              `json:"title,omitempty"`
	Message      string              `json:"message"`
	Required     *bool               `json:"required,omitempty"`
	Min          *float64            `json:"min,omitempty"`
	Max          *float64            `json:"max,omitempty"`
	DefaultValue *float64            `json:"defaultValue,omitempty"`
}

// ChatInputNumberKind is an open set of names: unknown ones survive.
type ChatInputNumberKind string

// The values of ChatInputNumberKind.
const (
	ChatInputNumberKindNumber  ChatInputNumberKind = "number"
	ChatInputNumberKindInteger ChatInputNumberKind = "integer"
)

// ChatInputBooleanQuestion is a part of the protocol.
type ChatInputBooleanQuestion struct {
	ID           string `json:"id"`
	Title        string `json:"title,omitempty"`
	Message      string `json:"message"`
	Required     *bool  `json:"required,omitempty"`
	DefaultValue *bool  `json:"defaultValue,omitempty"`
}

// ChatInputSingleSelectQuestion is a part of the protocol.
type ChatInputSingleSelectQuestion struct {
	ID                 string            `json:"id"`
	Title              string            `json:"title,omitempty"`
	Message            string            `json:"message"`
	Required           *bool             `json:"required,omitempty"`
	Options            []ChatInputOption `json:"options"`
	AllowFreeformInput *bool             `json:"allowFreeformInput,omitempty"`
}

// ChatInputMultiSelectQuestion is a part of the protocol.
type ChatInputMultiSelectQuestion struct {
	ID                 string            `json:"id"`
	Title              string            `json:"title,omitempty"`
	Message            string            `json:"message"`
	Required           *bool             `json:"required,omitempty"`
	Options            []ChatInputOption `json:"options"`
	AllowFreeformInput *bool             `json:"allowFreeformInput,omitempty"`
	Min                *int64            `json:"min,omitempty"`
	Max                *int64            `json:"max,omitempty"`
}

// ChatInputOption is a part of the protocol.
type ChatInputOption struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Recommended *bool  `json:"recommended,omitempty"`
}

// ChatInputAnswer is one of the kinds of ChatInputAnswerVariant.
type ChatInputAnswer struct{ Value ChatInputAnswerVariant }

// ChatInputAnswerVariant is implemented by *ChatInputAnswered, *ChatInputSkipped and *UnknownVariant.
type ChatInputAnswerVariant interface{ isChatInputAnswer() }

func (*ChatInputAnswered) isChatInputAnswer() {}
func (*ChatInputSkipped) isChatInputAnswer()  {}
func (*UnknownVariant) isChatInputAnswer()    {}

// MarshalJSON writes the variant with its discriminator.
func (u ChatInputAnswer) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ChatInputAnswer) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ChatInputAnswered is a part of the protocol.
type ChatInputAnswered struct {
	State ChatInputAnswerState `json:"state"`
	Value ChatInputAnswerValue `json:"value"`
}

// ChatInputAnswerState is an open set of names: unknown ones survive.
type ChatInputAnswerState string

// The values of ChatInputAnswerState.
const (
	ChatInputAnswerStateDraft     ChatInputAnswerState = "draft"
	ChatInputAnswerStateSubmitted ChatInputAnswerState = "submitted"
)

// ChatInputSkipped is a part of the protocol.
type ChatInputSkipped struct {
	FreeformValues []string `json:"freeformValues,omitzero"`
}

// ChatInputAnswerValue is one of the kinds of ChatInputAnswerValueValue.
type ChatInputAnswerValue struct{ Value ChatInputAnswerValueValue }

// ChatInputAnswerValueValue is implemented by *ChatInputTextAnswerValue, *ChatInputNumberAnswerValue,
// *ChatInputBooleanAnswerValue, *ChatInputSelectedAnswerValue, *ChatInputSelectedManyAnswerValue and *UnknownVariant.
type ChatInputAnswerValueValue interface{ isChatInputAnswerValue() }

func (*ChatInputTextAnswerValue) isChatInputAnswerValue()         {}
func (*ChatInputNumberAnswerValue) isChatInputAnswerValue()       {}
func (*ChatInputBooleanAnswerValue) isChatInputAnswerValue()      {}
func (*ChatInputSelectedAnswerValue) isChatInputAnswerValue()     {}
func (*ChatInputSelectedManyAnswerValue) isChatInputAnswerValue() {}
func (*UnknownVariant) isChatInputAnswerValue()                   {}

// MarshalJSON writes the variant with its discriminator.
func (u ChatInputAnswerValue) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ChatInputAnswerValue) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ChatInputTextAnswerValue is a part of the protocol.
type ChatInputTextAnswerValue struct {
	Value string `json:"value"`
}

// ChatInputNumberAnswerValue is a part of the protocol.
type ChatInputNumberAnswerValue struct {
	Value float64 `json:"value"`
}

// ChatInputBooleanAnswerValue is a part of the protocol.
type ChatInputBooleanAnswerValue struct {
	Value bool `json:"value"`
}

// ChatInputSelectedAnswerValue is a part of the protocol.
type ChatInputSelectedAnswerValue struct {
	Value          string   `json:"value"`
	FreeformValues []string `json:"freeformValues,omitzero"`
}

// ChatInputSelectedManyAnswerValue is a part of the protocol.
type ChatInputSelectedManyAnswerValue struct {
	Value          []string `json:"value"`
	FreeformValues []string `json:"freeformValues,omitzero"`
}

// ChatInputResponseKind is an open set of names: unknown ones survive.
type ChatInputResponseKind string

// The values of ChatInputResponseKind.
const (
	ChatInputResponseKindAccept  ChatInputResponseKind = "accept"
	ChatInputResponseKindDecline ChatInputResponseKind = "decline"
	ChatInputResponseKindCancel  ChatInputResponseKind = "cancel"
)
