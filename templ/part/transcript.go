package part

import (
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// Editing is a message of the transcript that is being edited.
type Editing struct {
	Turn, Text string
	Later      int // later turns, which sending removes
	Attached   int // attachments, which are sent again
}

func (e *Editing) laterWords() string {
	if e.Later == 1 {
		return "turn"
	}
	return Count(e.Later) + " turns"
}

// Answer returns the agent's text, as Markdown.
func Answer(parts []ahp.ResponsePart) string {
	var out []string
	for _, p := range parts {
		if m, ok := p.Value.(*ahp.MarkdownResponsePart); ok {
			out = append(out, strings.TrimSpace(m.Content.String()))
		}
	}
	return strings.Join(out, "\n\n") + "\n"
}

// Transcript renders a turn as self-contained Markdown.
func (t *Turn) Transcript() string {
	var b strings.Builder
	b.WriteString("## " + texts.OneLine(messageBy(t.Message)))
	if at := t.StartedAt; len(at) >= 16 {
		b.WriteString(" · " + strings.Replace(at[:16], "T", " ", 1) + " UTC")
	}
	b.WriteString("\n\n" + quoted(t.Message.Text))
	for _, a := range t.Message.Attachments {
		b.WriteString("- attached: " + attachmentLabel(a) + "\n")
	}
	for _, p := range t.Parts {
		if text := partText(p); text != "" {
			b.WriteString("\n" + text + "\n")
		}
	}
	if plan := t.Plan().markdown(); plan != "" {
		b.WriteString("\n" + plan)
	}
	return b.String()
}

func quoted(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n> ") + "\n"
}

func partText(p ahp.ResponsePart) string {
	switch v := p.Value.(type) {
	case *ahp.MarkdownResponsePart:
		return strings.TrimSpace(v.Content.String())
	case *ahp.ReasoningResponsePart:
		return "<details><summary>Reasoning</summary>\n\n" + strings.TrimSpace(v.Content.String()) + "\n\n</details>"
	case *ahp.ToolCallResponsePart:
		t := ToolOf(v.ToolCall)
		if _, plan := planOf(t.ToolCallBase); plan {
			return "" // the transcript has only the newest plan
		}
		out := "**" + strings.TrimSpace(firstLine(t.line().Text)) + "** — " + t.status().Word
		if cmd := t.command(); cmd != "" {
			out += "\n\n" + fence(cmd)
		}
		return out
	case *ahp.ResourceResponsePart:
		return "*" + firstOf(v.ContentType, "File") + "*"
	case *ahp.ErrorResponsePart:
		return "**Failed:** " + v.Error.Message
	case *ahp.SystemNotificationResponsePart:
		return "*" + strings.TrimSpace(v.Content.Text) + "*"
	}
	return ""
}

// fence encloses code in longer marks than it contains.
func fence(s string) string {
	marks := "```"
	for strings.Contains(s, marks) {
		marks += "`"
	}
	return marks + "\n" + strings.TrimRight(s, "\n") + "\n" + marks
}
