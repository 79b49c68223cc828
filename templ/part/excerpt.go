package part

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
)

// These limits bound how much of a turn a page shows, however long it is. Links that need no script show the rest.
const (
	shownText   = 32 << 10  // bytes of the beginning of each text, and of its end
	shownTight  = 4 << 10   // the same, in a turn whose texts exceed shownTurn together
	shownTurn   = 512 << 10 // bytes of all texts
	firstParts  = 100       // shown parts at the start of a turn
	newestParts = 200       // shown parts at its end, or up to partsStep more: each change renders the whole turn again
	partsStep   = 100
)

// Measured is how much of a turn is shown.
type Measured struct {
	Tight  bool // less of each text is shown
	Hidden int  // hidden parts, starting at firstParts
}

// Measure computes how much of the turn is shown. The result rarely changes while text streams;
// each change renders the turn again.
func (t *Turn) Measure() {
	n := 0
	for _, p := range t.Parts {
		n += min(textSize(p), 2*shownText)
	}
	t.Measured = Measured{Tight: n > shownTurn}
	if over := len(t.Parts) - firstParts - newestParts; over > 0 {
		t.Hidden = over - over%partsStep
	}
}

// Hides reports whether part i is hidden behind a link.
func (t *Turn) Hides(i int) bool { return i >= firstParts && i < firstParts+t.Hidden }

// excerpt returns the bytes shown of the beginning of a text, and of its end.
func (t *Turn) excerpt() int {
	if t.Tight {
		return shownTight
	}
	return shownText
}

// textHref returns the address of the whole text of part i; -1 is the message.
func (t *Turn) textHref(i int) string {
	return t.Base + "/text?turn=" + url.QueryEscape(t.ID) + "&part=" + strconv.Itoa(i)
}

// hiddenHref returns the address of the hidden parts.
func (t *Turn) hiddenHref() string {
	return t.Base + "/text?turn=" + url.QueryEscape(t.ID) + "&step=" + strconv.Itoa(firstParts)
}

// toolHref returns the address of a tool call's whole output.
func (t *Turn) toolHref(c Tool) string {
	if i := t.partOf(c); i >= 0 {
		return t.textHref(i)
	}
	return t.Base
}

// WholeText returns the whole text of part i, and whether it is Markdown.
func (t *Turn) WholeText(i int) (text string, markdown bool) {
	if i < 0 {
		return t.Message.Text, false
	}
	if v, ok := t.Parts[i].Value.(*ahp.ToolCallResponsePart); ok {
		return toolText(ToolOf(v.ToolCall)), false
	}
	return Text(t.Parts[i])
}

// toolText returns a tool call's input and output.
func toolText(c Tool) string {
	texts := []string{c.command()}
	for _, content := range c.Content {
		switch v := content.Value.(type) {
		case *ahp.ToolResultTextContent:
			texts = append(texts, v.Text)
		case *ahp.ToolResultTerminalContent:
			if v.Result != nil {
				texts = append(texts, PlainTerminal(v.Result.Preview))
			}
		}
	}
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n\n")
}

// toolSize estimates the length of toolText.
func toolSize(c Tool) int {
	n := len(c.raw()) + len(c.Partial)
	for _, content := range c.Content {
		switch v := content.Value.(type) {
		case *ahp.ToolResultTextContent:
			n += len(v.Text)
		case *ahp.ToolResultTerminalContent:
			if v.Result != nil {
				n += len(v.Result.Preview)
			}
		}
	}
	return n
}

// PieceOf is a part of a text that is too long for one page.
type PieceOf struct {
	Blocks []Block // rendered as Markdown
	Plain  string  // or plain text
	Next   int     // offset of the next piece; 0: none
}

// PieceSize is how many bytes of a text one page shows.
const PieceSize = 128 << 10

// PieceOfText returns the piece of a text at an offset.
func PieceOfText(text string, markdown bool, from int) (p PieceOf) {
	if markdown {
		p.Blocks, p.Next = cutPiece(text, from, PieceSize)
		return p
	}
	text = text[min(max(from, 0), len(text)):]
	if len(text) <= PieceSize {
		return PieceOf{Plain: text}
	}
	end := cutAt(text, PieceSize)
	return PieceOf{Plain: text[:end], Next: from + end}
}

// textSize estimates how many bytes a part adds to a page.
func textSize(p ahp.ResponsePart) int {
	switch v := p.Value.(type) {
	case *ahp.MarkdownResponsePart:
		return v.Content.Len()
	case *ahp.ReasoningResponsePart:
		return v.Content.Len()
	case *ahp.ToolCallResponsePart:
		return 500 + toolSize(ToolOf(v.ToolCall))
	}
	return 500
}

// Size estimates how many bytes the turn adds to a page.
func (t *Turn) Size() int {
	n := min(len(t.Message.Text), shownMessage)
	for i, p := range t.Parts {
		if !t.Hides(i) {
			n += min(textSize(p), 2*t.excerpt())
		}
	}
	return n
}

// shownMessage is how many bytes of a message the page shows.
const shownMessage = 64 << 10

// clip cuts a text after a line or a rune, and returns how many bytes are left.
func clip(s string, most int) (shown string, left int) {
	if len(s) <= most {
		return s, 0
	}
	end := cutAt(s, most)
	return s[:end], len(s) - end
}
