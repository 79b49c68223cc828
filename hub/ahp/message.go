package ahp

// Message starts a turn.
type Message struct {
	Text        string              `json:"text"`
	Origin      MessageOrigin       `json:"origin"`
	Attachments []MessageAttachment `json:"attachments,omitzero"`
	Model       *ModelSelection     `json:"model,omitempty"`
	Agent       *AgentSelection     `json:"agent,omitempty"`
	Meta        Meta                `json:"_meta,omitzero"`
}

// MessageOrigin is the author of a message.
type MessageOrigin struct {
	Kind MessageKind `json:"kind"`
}

// MessageKind names a kind of author. Clients may only send as user (AHP requirement 108).
type MessageKind string

// The values of MessageKind.
const (
	MessageKindUser               MessageKind = "user"
	MessageKindAgent              MessageKind = "agent"
	MessageKindTool               MessageKind = "tool"
	MessageKindSystemNotification MessageKind = "systemNotification"
	MessageKindAutomation         MessageKind = "automation"
)

// MessageAttachment is something sent along with a message.
type MessageAttachment struct{ Value MessageAttachmentValue }

// MessageAttachmentValue is implemented by *SimpleMessageAttachment, *MessageEmbeddedResourceAttachment,
// *MessageResourceAttachment, *MessageAnnotationsAttachment, *MessageChatAttachment and *UnknownVariant.
type MessageAttachmentValue interface{ isMessageAttachment() }

func (*SimpleMessageAttachment) isMessageAttachment()           {}
func (*MessageEmbeddedResourceAttachment) isMessageAttachment() {}
func (*MessageResourceAttachment) isMessageAttachment()         {}
func (*MessageAnnotationsAttachment) isMessageAttachment()      {}
func (*MessageChatAttachment) isMessageAttachment()             {}
func (*UnknownVariant) isMessageAttachment()                    {}

// MarshalJSON writes the variant with its discriminator.
func (u MessageAttachment) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *MessageAttachment) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// SimpleMessageAttachment is an attachment of text for the model.
type SimpleMessageAttachment struct {
	Label               string     `json:"label"`
	Range               *TextRange `json:"range,omitempty"`
	DisplayKind         string     `json:"displayKind,omitempty"`
	ModelRepresentation string     `json:"modelRepresentation,omitempty"`
	Meta                Meta       `json:"_meta,omitzero"`
}

// MessageEmbeddedResourceAttachment is an attachment with its content inside.
type MessageEmbeddedResourceAttachment struct {
	Label       string         `json:"label"`
	Range       *TextRange     `json:"range,omitempty"`
	DisplayKind string         `json:"displayKind,omitempty"`
	Data        string         `json:"data"` // base64
	ContentType string         `json:"contentType"`
	Selection   *TextSelection `json:"selection,omitempty"`
	Meta        Meta           `json:"_meta,omitzero"`
}

// MessageResourceAttachment is an attachment by URI.
type MessageResourceAttachment struct {
	Label       string         `json:"label"`
	Range       *TextRange     `json:"range,omitempty"`
	DisplayKind string         `json:"displayKind,omitempty"`
	URI         URI            `json:"uri"`
	SizeHint    *int64         `json:"sizeHint,omitempty"`
	ContentType string         `json:"contentType,omitempty"`
	Nonce       string         `json:"nonce,omitempty"`
	Selection   *TextSelection `json:"selection,omitempty"`
	Meta        Meta           `json:"_meta,omitzero"`
}

// MessageAnnotationsAttachment attaches threads of an annotations channel, or all if AnnotationIDs
// is empty.
type MessageAnnotationsAttachment struct {
	Label         string     `json:"label"`
	Range         *TextRange `json:"range,omitempty"`
	DisplayKind   string     `json:"displayKind,omitempty"`
	Resource      URI        `json:"resource"`
	AnnotationIDs []string   `json:"annotationIds,omitzero"`
	Meta          Meta       `json:"_meta,omitzero"`
}

// MessageChatAttachment attaches the transcript of a chat.
type MessageChatAttachment struct {
	Label       string     `json:"label"`
	Range       *TextRange `json:"range,omitempty"`
	DisplayKind string     `json:"displayKind,omitempty"`
	Resource    URI        `json:"resource"`
	EndTurn     string     `json:"endTurn,omitempty"` // the last turn to include; the latest finished one if empty
	Meta        Meta       `json:"_meta,omitzero"`
}
