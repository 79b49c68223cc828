package part

import (
	"strconv"

	"github.com/ahphub/ahphub/hub/ahp"
)

func (t *Turn) attachmentHref(i int) string {
	return t.Base + "/attachments/" + t.ID + "/" + strconv.Itoa(i)
}

// isPicture reports whether a page shows an attachment as a picture, which the route serves with its media type.
func isPicture(v *ahp.MessageEmbeddedResourceAttachment) bool {
	return isPictureType(v.ContentType)
}

func isPictureType(media string) bool {
	switch media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// pictureHref returns the address of a picture: part i of the answer, or the n-th content of that tool call.
func (t *Turn) pictureHref(i, n int) string {
	return t.Base + "/pictures/" + t.ID + "/" + strconv.Itoa(i) + "/" + strconv.Itoa(n)
}

// toolPictureHref returns the address of the n-th content of a tool call, if it is a picture.
func (t *Turn) toolPictureHref(c Tool, n int) string { return t.pictureHref(t.partOf(c), n) }

// partOf returns the index of a tool call in the turn; -1 if it has no such call.
func (t *Turn) partOf(c Tool) int {
	for i, p := range t.Parts {
		if v, ok := p.Value.(*ahp.ToolCallResponsePart); ok && v.ToolCall.Base() != nil &&
			v.ToolCall.Base().ToolCallID == c.ToolCallID {
			return i
		}
	}
	return -1
}

func attachmentLabel(a ahp.MessageAttachment) string {
	switch v := a.Value.(type) {
	case *ahp.SimpleMessageAttachment:
		return v.Label
	case *ahp.MessageEmbeddedResourceAttachment:
		return v.Label
	case *ahp.MessageResourceAttachment:
		return v.Label
	case *ahp.MessageAnnotationsAttachment:
		return firstOf(v.Label, strconv.Itoa(len(v.AnnotationIDs))+" threads")
	case *ahp.MessageChatAttachment:
		return v.Label
	}
	return "attachment"
}
