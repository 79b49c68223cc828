package part

import (
	"strconv"

	"github.com/ahphub/ahphub/hub/ahp"
)

func (t *Turn) attachmentHref(i int) string {
	return t.Base + "/attachments/" + t.ID + "/" + strconv.Itoa(i)
}

// isPicture reports whether a page shows an attachment itself: the route serves these as what they are.
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

// pictureHref is where a picture of the answer is: part i, or the n-th content of the tool call that it is.
func (t *Turn) pictureHref(i, n int) string {
	return t.Base + "/pictures/" + t.ID + "/" + strconv.Itoa(i) + "/" + strconv.Itoa(n)
}

// toolPictureHref is where the n-th content of a tool call is, if it is a picture.
func (t *Turn) toolPictureHref(c Tool, n int) string { return t.pictureHref(t.partOf(c), n) }

// partOf returns the place of a tool call; -1 if the turn does not have it.
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
