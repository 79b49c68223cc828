package ahp

// ChatInputRequest is a set of questions to the user, or an address to open.
type ChatInputRequest struct {
	ID        string                     `json:"id"`
	Message   string                     `json:"message,omitempty"`
	URL       URI                        `json:"url,omitempty"`
	Questions []ChatInputQuestion        `json:"questions,omitzero"`
	Answers   map[string]ChatInputAnswer `json:"answers,omitzero"` // by question id, drafts too
}

// ChatInputQuestion is one question.
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

// ChatInputTextQuestion asks for text.
type ChatInputTextQuestion struct {
	ID           string `json:"id"`
	Title        string `json:"title,omitempty"`
	Message      string `json:"message"`
	Required     *bool  `json:"required,omitempty"`
	Format       string `json:"format,omitempty"` // email, uri, date or date-time
	Min          *int64 `json:"min,omitempty"`    // characters
	Max          *int64 `json:"max,omitempty"`    // characters
	DefaultValue string `json:"defaultValue,omitempty"`
}

// ChatInputNumberQuestion asks for a number.
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

// ChatInputNumberKind is the kind of number that a question accepts.
type ChatInputNumberKind string

// The values of ChatInputNumberKind.
const (
	ChatInputNumberKindNumber  ChatInputNumberKind = "number"
	ChatInputNumberKindInteger ChatInputNumberKind = "integer"
)

// ChatInputBooleanQuestion asks for yes or no.
type ChatInputBooleanQuestion struct {
	ID           string `json:"id"`
	Title        string `json:"title,omitempty"`
	Message      string `json:"message"`
	Required     *bool  `json:"required,omitempty"`
	DefaultValue *bool  `json:"defaultValue,omitempty"`
}

// ChatInputSingleSelectQuestion asks for one of several options.
type ChatInputSingleSelectQuestion struct {
	ID                 string            `json:"id"`
	Title              string            `json:"title,omitempty"`
	Message            string            `json:"message"`
	Required           *bool             `json:"required,omitempty"`
	Options            []ChatInputOption `json:"options"`
	AllowFreeformInput *bool             `json:"allowFreeformInput,omitempty"`
}

// ChatInputMultiSelectQuestion asks for some of several options.
type ChatInputMultiSelectQuestion struct {
	ID                 string            `json:"id"`
	Title              string            `json:"title,omitempty"`
	Message            string            `json:"message"`
	Required           *bool             `json:"required,omitempty"`
	Options            []ChatInputOption `json:"options"`
	AllowFreeformInput *bool             `json:"allowFreeformInput,omitempty"`
	Min                *int64            `json:"min,omitempty"` // options
	Max                *int64            `json:"max,omitempty"` // options
}

// ChatInputOption is one option of a question.
type ChatInputOption struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Recommended *bool  `json:"recommended,omitempty"`
}

// ChatInputAnswer is the answer to one question so far.
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

// ChatInputAnswered is an answer with a value.
type ChatInputAnswered struct {
	State ChatInputAnswerState `json:"state"`
	Value ChatInputAnswerValue `json:"value"`
}

// ChatInputAnswerState distinguishes drafts from final answers.
type ChatInputAnswerState string

// The values of ChatInputAnswerState.
const (
	ChatInputAnswerStateDraft     ChatInputAnswerState = "draft"
	ChatInputAnswerStateSubmitted ChatInputAnswerState = "submitted"
)

// ChatInputSkipped is the answer to a skipped question.
type ChatInputSkipped struct {
	FreeformValues []string `json:"freeformValues,omitzero"`
}

// ChatInputAnswerValue is the value of an answer; its kind must fit the question's.
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

// ChatInputTextAnswerValue answers with text.
type ChatInputTextAnswerValue struct {
	Value string `json:"value"`
}

// ChatInputNumberAnswerValue answers with a number.
type ChatInputNumberAnswerValue struct {
	Value float64 `json:"value"`
}

// ChatInputBooleanAnswerValue answers with yes or no.
type ChatInputBooleanAnswerValue struct {
	Value bool `json:"value"`
}

// ChatInputSelectedAnswerValue answers with an option's id, and optional free text.
type ChatInputSelectedAnswerValue struct {
	Value          string   `json:"value"`
	FreeformValues []string `json:"freeformValues,omitzero"`
}

// ChatInputSelectedManyAnswerValue answers with option ids, and optional free text.
type ChatInputSelectedManyAnswerValue struct {
	Value          []string `json:"value"`
	FreeformValues []string `json:"freeformValues,omitzero"`
}

// ChatInputResponseKind is the outcome of a request as a whole.
type ChatInputResponseKind string

// The values of ChatInputResponseKind.
const (
	ChatInputResponseKindAccept  ChatInputResponseKind = "accept"
	ChatInputResponseKindDecline ChatInputResponseKind = "decline"
	ChatInputResponseKindCancel  ChatInputResponseKind = "cancel"
)
