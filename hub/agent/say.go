package agent

import (
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/texts"
)

// Part is a growing text. Its part is emitted before its first piece (AHP requirements 105 and
// 106).
type Part struct {
	out       Out
	id        string
	reasoning bool
}

// Markdown begins an answer's text.
func Markdown(out Out) (*Part, error) {
	p := &Part{out: out, id: ids.New()}
	return p, p.begin(&ahp.MarkdownResponsePart{ID: p.id})
}

// Reasoning begins the text of a model's reasoning.
func Reasoning(out Out) (*Part, error) {
	p := &Part{out: out, id: ids.New(), reasoning: true}
	return p, p.begin(&ahp.ReasoningResponsePart{ID: p.id})
}

func (p *Part) begin(v ahp.ResponsePartValue) error {
	return p.out.Emit(&ahp.ChatResponsePartAction{Part: ahp.ResponsePart{Value: v}})
}

// Add appends to the text.
func (p *Part) Add(s string) error {
	if s == "" {
		return nil
	}
	if p.reasoning {
		return p.out.Emit(&ahp.ChatReasoningAction{PartID: p.id, Content: s})
	}
	return p.out.Emit(&ahp.ChatDeltaAction{PartID: p.id, Content: s})
}

// Say emits a whole Markdown text.
func Say(out Out, text string) error {
	p, err := Markdown(out)
	if err != nil {
		return err
	}
	return p.Add(text)
}

// Code formats s as a Markdown code span on one line, whatever backticks it contains; long or
// multi-line text is cut.
func Code(s string) string {
	const most = 120
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	line = strings.TrimSpace(line)
	cut := strings.TrimSpace(rest) != ""
	if begin := texts.CutRunes(line, most); begin != line {
		line, cut = begin, true
	}
	if cut {
		line += " …"
	}
	tick := Fence(line, 1)
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") {
		line = " " + line + " "
	}
	return tick + line + tick
}

// CodeBlock formats s as a fenced block.
func CodeBlock(lang, s string) string {
	f := Fence(s, 3)
	return f + lang + "\n" + strings.TrimRight(s, "\n") + "\n" + f + "\n"
}

// Fence returns a run of backticks longer than any in s.
func Fence(s string, least int) string {
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", max(least, longest+1))
}
