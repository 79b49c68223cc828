package part

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// longTexts are longer than a page shows, each with a different kind of unfinished block.
func longTexts() map[string]string {
	line := strings.Repeat("word ", 19) + "word\n"
	return map[string]string{
		"paragraphs":     strings.Repeat(line+"\n", 1200),
		"one paragraph":  strings.Repeat(line, 1200),
		"one line":       strings.Repeat("wörd ", 20_000),
		"a fence":        "Code:\n\n```\n" + strings.Repeat("x := 1 // "+line, 1200) + "```\n\nthe end\n",
		"an open fence":  "```\n" + strings.Repeat(line, 1200),
		"a list":         strings.Repeat("- "+line, 1200),
		"tiny blocks":    strings.Repeat("a\n\n", 20_000),
		"a fence, lists": strings.Repeat("- item\n\n```\n"+strings.Repeat(line, 50)+"```\n", 24),
	}
}

// TestLongTextIsShownByItsEnds streams long texts: a page has the beginning and the end, in blocks
// of bounded size, like a reloaded page.
func TestLongTextIsShownByItsEnds(t *testing.T) {
	for name, text := range longTexts() {
		t.Run(name, func(t *testing.T) {
			s := Splitter{Shown: 8 << 10, Href: "/text?turn=t&part=0"}
			for i := 0; i < len(text); i += 20_000 {
				checkEnds(t, s.Update(text[:i], false))
			}
			streamed := s.Update(text, true)
			checkEnds(t, streamed)
			fresh := Splitter{Shown: 8 << 10, Href: "/text?turn=t&part=0"}
			loaded := fresh.Update(text, true)
			if len(streamed) != len(loaded) {
				t.Fatalf("%d blocks streamed, %d loaded", len(streamed), len(loaded))
			}
			hidden := 0
			for i := range loaded {
				if streamed[i].N != loaded[i].N || streamed[i].HTML() != loaded[i].HTML() {
					t.Fatalf("block %d differs:\n%.300s\n%.300s", i, streamed[i].HTML(), loaded[i].HTML())
				}
				hidden += loaded[i].Hidden
			}
			if hidden < len(text)/5 || !strings.HasPrefix(text, strings.TrimSpace(loaded[0].Source)) {
				t.Errorf("of %d bytes %d are not shown, and the first block is %.50q", len(text), hidden,
					loaded[0].Source)
			}
		})
	}
}

// checkEnds fails if a page would show too much of a text, or a block twice.
func checkEnds(t *testing.T, list []Block) {
	t.Helper()
	size, last := 0, -1
	for _, b := range list {
		if size += len(b.Source); b.N <= last || len(b.Source) > longBlock+lookAhead+100 {
			t.Fatalf("block %d after %d, of %d bytes", b.N, last, len(b.Source))
		}
		last = b.N
	}
	if size > 2*(8<<10+longBlock)+longBlock+lookAhead {
		t.Fatalf("%d bytes are shown", size)
	}
}

// TestPiecesMakeUpTheWholeText reads long texts piece by piece, following the links.
func TestPiecesMakeUpTheWholeText(t *testing.T) {
	for name, text := range longTexts() {
		t.Run(name, func(t *testing.T) {
			words := strings.Count(text, "w") + strings.Count(text, "a")
			got, pieces := 0, 0
			for from := 0; pieces == 0 || from > 0; pieces++ {
				p := PieceOfText(text, true, from)
				size := 0
				for _, b := range p.Blocks {
					size += len(b.Source)
					got += strings.Count(b.Source, "w") + strings.Count(b.Source, "a")
				}
				if size > PieceSize+longBlock+lookAhead || p.Next != 0 && p.Next <= from {
					t.Fatalf("the piece from %d has %d bytes and leads to %d", from, size, p.Next)
				}
				from = p.Next
			}
			if got != words {
				t.Errorf("%d pieces hold %d of %d words", pieces, got, words)
			}
			var plain strings.Builder
			for from, first := 0, true; first || from > 0; first = false {
				p := PieceOfText(text, false, from)
				plain.WriteString(p.Plain)
				from = p.Next
			}
			if plain.String() != text {
				t.Error("plain pieces are not the whole text")
			}
		})
	}
}

// TestTurnOfManyPartsShowsItsEnds renders a turn of thousands of tool calls with long output.
func TestTurnOfManyPartsShowsItsEnds(t *testing.T) {
	turn := Turn{ID: "t", Base: "/s/a/c/b", State: ahp.TurnStateComplete}
	for i := range 1000 {
		done := &ahp.ToolCallCompletedState{ToolCallBase: ahp.ToolCallBase{ToolCallID: strconv.Itoa(i),
			DisplayName: "Read"}}
		done.Content = []ahp.ToolResultContent{{Value: &ahp.ToolResultTextContent{Text: strings.Repeat("much\n",
			10_000)}}}
		turn.Parts = append(turn.Parts,
			ahp.ResponsePart{Value: &ahp.ToolCallResponsePart{ToolCall: ahp.ToolCallState{Value: done}}})
	}
	turn.Measure()
	html := draw(t, TurnPart(turn))
	if len(html) > 4<<20 || !strings.Contains(html, "/s/a/c/b/text?turn=t&amp;step=100") ||
		!strings.Contains(html, "text?turn=t&amp;part=999") {
		t.Errorf("a turn of 50 MB is drawn as %d bytes", len(html))
	}
	if !strings.Contains(html, `id="tool-99"`) || strings.Contains(html, `id="tool-100"`) ||
		!strings.Contains(html, `id="tool-999"`) {
		t.Error("the turn does not show its first and its newest steps")
	}
}
