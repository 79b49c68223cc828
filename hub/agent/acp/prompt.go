package acp

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

const mostTranscript = 200 << 10 // bytes of a chat's transcript that go along

// prompt writes a turn's message as content. A program that does not know the chat
// gets the end of its transcript first.
func (s *session) prompt(p *peer, t agent.Turn, fresh bool) []block {
	if s.wasCutOff(t.ID) && !fresh {
		return []block{text("Go on where you stopped.")}
	}
	var out []block
	if said := transcript(t.History); fresh && said != "" {
		out = append(out, text("This is what was said here so far:\n\n"+said+"\n\nThe next message is the one to answer."))
	}
	if t.Message.Text != "" {
		out = append(out, text(t.Message.Text))
	}
	for _, a := range t.Message.Attachments {
		out = append(out, attachment(p, a)...)
	}
	if len(t.Threads) > 0 {
		out = append(out, text("These are "+agent.CountThreads(len(t.Threads))+" of people who looked at the changes:\n"+
			agent.Threads(s.spec.Dirs, t.Threads)))
	}
	if len(out) == 0 {
		out = append(out, text("(The message was empty.)"))
	}
	return out
}

func text(s string) block { return block{Type: "text", Text: s} }

// attachment writes one attachment in the richest form the program takes.
func attachment(p *peer, a ahp.MessageAttachment) []block {
	can := p.about.AgentCapabilities.PromptCapabilities
	switch v := a.Value.(type) {
	case *ahp.SimpleMessageAttachment:
		if v.ModelRepresentation != "" {
			return []block{text(v.Label + ":\n" + v.ModelRepresentation)}
		}
	case *ahp.MessageResourceAttachment:
		return []block{{Type: "resource_link", URI: v.URI, Name: nameOf(v.Label, v.URI), MimeType: v.ContentType}}
	case *ahp.MessageEmbeddedResourceAttachment:
		return []block{content(v, can.Image, can.EmbeddedContext)}
	}
	return nil
}

func content(v *ahp.MessageEmbeddedResourceAttachment, image, context bool) block {
	uri := "attachment:///" + nameOf(v.Label, "file")
	raw, err := base64.StdEncoding.DecodeString(v.Data)
	isText := err == nil && utf8.Valid(raw)
	switch {
	case strings.HasPrefix(v.ContentType, "image/") && image:
		return block{Type: "image", Data: v.Data, MimeType: v.ContentType}
	case isText && context:
		return block{Type: "resource", Resource: &embedded{URI: uri, MimeType: v.ContentType, Text: string(raw)}}
	case isText:
		return text(v.Label + ":\n\n" + agent.CodeBlock("", string(raw)))
	case context:
		return block{Type: "resource", Resource: &embedded{URI: uri, MimeType: v.ContentType, Blob: v.Data}}
	}
	return text(fmt.Sprintf("(%s, %s, is attached, and cannot be handed to you.)", nameOf(v.Label, "A file"), v.ContentType))
}

func nameOf(label, otherwise string) string {
	if label == "" {
		return otherwise
	}
	return label
}

// transcript is the end of what was said in a chat.
func transcript(turns []*ahp.Turn) string {
	var b strings.Builder
	for _, t := range turns {
		b.WriteString("User:\n" + t.Message.Text + "\n\nAssistant:\n")
		for _, p := range t.ResponseParts {
			if part, ok := p.Value.(*ahp.MarkdownResponsePart); ok {
				b.WriteString(part.Content.String() + "\n")
			}
		}
		b.WriteString("\n")
	}
	s := strings.TrimSpace(b.String())
	return strings.ToValidUTF8(s[max(0, len(s)-mostTranscript):], "")
}

// markdown writes content that came from the program as text.
func markdown(b block) string {
	switch b.Type {
	case "text":
		return b.Text
	case "resource_link":
		return fmt.Sprintf("[%s](%s)", nameOf(b.Name, b.URI), b.URI)
	case "resource":
		if b.Resource != nil && b.Resource.Text != "" {
			return "\n" + agent.CodeBlock("", b.Resource.Text)
		}
	}
	if b.MimeType != "" {
		return "(" + b.Type + ", " + b.MimeType + ")"
	}
	return ""
}
