package part

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
)

// A page shows so much of a turn, however long that is. The rest is behind links that need no script.
const (
	shownText   = 32 << 10  // of the beginning of each text, and as much of its end
	shownTight  = 4 << 10   // the same, of a turn whose texts are over shownTurn together
	shownTurn   = 512 << 10 // bytes
	firstParts  = 100       // of a turn, and
	newestParts = 200       // of its end, or up to partsStep more: the whole turn is drawn again as often
	partsStep   = 100
)

// Measured says how much of a turn is shown.
type Measured struct {
	Tight  bool // of each text less than of others
	Hidden int  // parts, from firstParts on
}

// Measure finds out how much of the turn is shown. That changes seldom while text streams, since the turn is drawn anew
// then.
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

// Hides reports whether part i is behind a link.
func (t *Turn) Hides(i int) bool { return i >= firstParts && i < firstParts+t.Hidden }

// excerpt is how much a page shows of the beginning of a text, and of its end.
func (t *Turn) excerpt() int {
	if t.Tight {
		return shownTight
	}
	return shownText
}

// textHref is where the text of part i is read whole; -1 is the message.
func (t *Turn) textHref(i int) string {
	return t.Base + "/text?turn=" + url.QueryEscape(t.ID) + "&part=" + strconv.Itoa(i)
}

// hiddenHref is where the parts are that the turn hides.
func (t *Turn) hiddenHref() string {
	return t.Base + "/text?turn=" + url.QueryEscape(t.ID) + "&step=" + strconv.Itoa(firstParts)
}

// toolHref is where what a tool call printed is read whole.
func (t *Turn) toolHref(c Tool) string {
	if i := t.partOf(c); i >= 0 {
		return t.textHref(i)
	}
	return t.Base
}

// WholeText is what part i holds as text, however long; Markdown says how it is drawn.
func (t *Turn) WholeText(i int) (text string, markdown bool) {
	if i < 0 {
		return t.Message.Text, false
	}
	if v, ok := t.Parts[i].Value.(*ahp.ToolCallResponsePart); ok {
		return toolText(ToolOf(v.ToolCall)), false
	}
	return Text(t.Parts[i])
}

// toolText is what a tool call was given and printed.
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

// toolSize is how many bytes toolText has, about.
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

// PieceOf is a part of a text that does not fit into a page at once.
type PieceOf struct {
	Blocks []Block // drawn as Markdown
	Plain  string  // or as it is
	Next   int     // where the next piece begins; 0: nowhere
}

// PieceSize is how much of a text one page of it shows.
const PieceSize = 128 << 10

// PieceOfText cuts what a page of a text shows.
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

// textSize is how much of a page a part of an answer takes, about.
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

// Size is how much of a page the turn takes, about.
func (t *Turn) Size() int {
	n := min(len(t.Message.Text), shownMessage)
	for i, p := range t.Parts {
		if !t.Hides(i) {
			n += min(textSize(p), 2*t.excerpt())
		}
	}
	return n
}

// shownMessage is how much of what was asked is on the page.
const shownMessage = 64 << 10

// clip cuts a text behind a line or a rune, and says how many bytes are left.
func clip(s string, most int) (shown string, left int) {
	if len(s) <= most {
		return s, 0
	}
	end := cutAt(s, most)
	return s[:end], len(s) - end
}
