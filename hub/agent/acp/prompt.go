package acp

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

const mostTranscript = 200 << 10 // bytes of a chat's transcript in a prompt

// prompt converts a turn's message to content. A program that does not know the chat gets the end
// of its transcript first, except before a command, which must come first. notes tell people which
// attachments were converted.
func (s *session) prompt(p *peer, t agent.Turn, fresh bool) (out []block, notes []string) {
	if s.isCutOff(t.ID) && !fresh {
		return []block{text("Continue where you stopped.")}, nil
	}
	said, command := transcript(t.History), strings.HasPrefix(t.Message.Text, "/")
	if fresh && said != "" && !command {
		out = append(out, text("This is what was said here so far:\n\n"+said+
			"\n\nThe next message is the one to answer."))
	}
	blocks, notes := s.content(p, t.ID, t.Message)
	out = append(out, blocks...)
	if fresh && said != "" && command {
		out = append(out, text("This is what was said here before:\n\n"+said))
	}
	if len(t.Threads) > 0 {
		out = append(out, text("These are "+agent.CountThreads(len(t.Threads))+
			" of people who looked at the changes:\n"+
			agent.Threads(s.spec.Dirs, t.Threads)))
	}
	if len(out) == 0 {
		out = append(out, text("(The message was empty.)"))
	}
	return out, notes
}

// content converts a message and its attachments.
func (s *session) content(p *peer, turn string, m ahp.Message) (out []block, notes []string) {
	if m.Text != "" {
		out = append(out, text(m.Text))
	}
	for _, a := range m.Attachments {
		blocks, note := s.attachment(p, turn, a)
		out = append(out, blocks...)
		if note != "" {
			notes = append(notes, note)
		}
	}
	return out, notes
}

func text(s string) block { return block{Type: "text", Text: s} }

// attachment converts one attachment to the richest form the program accepts.
func (s *session) attachment(p *peer, turn string, a ahp.MessageAttachment) ([]block, string) {
	switch v := a.Value.(type) {
	case *ahp.SimpleMessageAttachment:
		if v.ModelRepresentation != "" {
			return []block{text(v.Label + ":\n" + v.ModelRepresentation)}, ""
		}
		return nil, "" // a label for people
	case *ahp.MessageResourceAttachment:
		link := []block{{Type: "resource_link", URI: v.URI, Name: nameOf(v.Label, v.URI), MimeType: v.ContentType}}
		if v.Selection != nil {
			link = append(link, text("(Of "+nameOf(v.Label, v.URI)+", "+linesOf(v.Selection.Range)+" are meant.)"))
		}
		return link, ""
	case *ahp.MessageEmbeddedResourceAttachment:
		return s.embed(p, turn, v)
	case *ahp.MessageAnnotationsAttachment:
		return nil, "" // its threads are included
	}
	return nil, s.prog.title() + " did not get an attachment of a type that ahphub does not know."
}

// linesOf formats lines as people count them.
func linesOf(r ahp.TextRange) string {
	if r.Start.Line == r.End.Line {
		return fmt.Sprintf("line %d", r.Start.Line+1)
	}
	return fmt.Sprintf("lines %d to %d", r.Start.Line+1, r.End.Line+1)
}

// embed converts an embedded attachment: unchanged if the program accepts its type, as text if it
// is text, else as a file that the program can read.
func (s *session) embed(p *peer, turn string, v *ahp.MessageEmbeddedResourceAttachment) ([]block, string) {
	can := p.about.AgentCapabilities.PromptCapabilities
	name := nameOf(v.Label, "file")
	uri := (&url.URL{Scheme: "attachment", Path: "/" + name}).String()
	kind, _, _ := strings.Cut(v.ContentType, "/")
	raw, err := base64.StdEncoding.DecodeString(v.Data)
	if err != nil {
		return nil, name + " was left out: what came of it cannot be read."
	}
	isText := utf8.Valid(raw) && kind != "image" && kind != "audio"
	switch {
	case kind == "image" && can.Image, kind == "audio" && can.Audio:
		return []block{{Type: kind, Data: v.Data, MimeType: v.ContentType}}, ""
	case isText && can.EmbeddedContext:
		return []block{{Type: "resource", Resource: &embedded{URI: uri, MimeType: v.ContentType, Text: string(raw)}}},
			""
	case isText:
		return []block{text(name + ":\n\n" + agent.CodeBlock("", string(raw)))}, ""
	case kind != "image" && kind != "audio" && can.EmbeddedContext:
		return []block{{Type: "resource", Resource: &embedded{URI: uri, MimeType: v.ContentType, Blob: v.Data}}}, ""
	}
	path, err := s.store(turn, name, raw)
	if err != nil {
		s.log.Warn("cannot store an attachment for an agent", "err", err)
		return nil, name + " was left out: it could not be kept for the agent."
	}
	link := block{Type: "resource_link", URI: (&url.URL{Scheme: "file", Path: path}).String(), Name: name,
		MimeType: v.ContentType}
	return []block{link}, fmt.Sprintf("%s takes no %s in messages: %s was handed over as a file.", s.prog.title(),
		nameOf(kind, "file"), name)
}

// store writes an attachment to a directory of the session's own that its programs read, and that is deleted with the
// session.
func (s *session) store(turn, name string, raw []byte) (string, error) {
	sum := sha256.Sum256([]byte(turn))
	dir := filepath.Join(cmp.Or(s.spec.Sent, s.spec.Data), "attachments", hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fileName(name))
	return path, os.WriteFile(path, raw, 0o600)
}

// fileName returns a name without a path.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:`, r) {
			return '-'
		}
		return r
	}, filepath.Base(name))
	return nameOf(strings.TrimLeft(texts.ElideBytes(name, 100), "."), "file")
}

func nameOf(label, otherwise string) string {
	if label == "" {
		return otherwise
	}
	return label
}

// transcript returns the end of a chat's history.
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

// markdown returns the program's content as text.
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
