package part

import (
	"html"
	"strings"
)

// Block is one top-level piece of a Markdown text. Text that streams changes the last block alone, so only that is
// drawn again; a fence that is still open is drawn plain, so that it grows at its end.
type Block struct {
	Source string
	Fence  bool // a code fence
	Open   bool // the fence has no end yet
	done   string
}

// HTML draws the block.
func (b *Block) HTML() string {
	switch {
	case b.done != "":
		return b.done
	case b.Fence && b.Open:
		lang, code := fenceParts(b.Source)
		return codeHead(lang) + html.EscapeString(code) + "</code></pre></div>\n"
	}
	b.done = renderBlock(b.Source)
	return b.done
}

// Blocks cuts a whole text. A text that was streamed and one that was loaded are cut alike, so they look alike.
func Blocks(text string) []Block {
	var s Splitter
	return s.Update(text, true)
}

// Splitter cuts a growing text; blocks before the last never change again.
type Splitter struct {
	closed []Block
	at     int // start of the last block in the text
}

// Update takes the text so far and returns its blocks. ended says that nothing follows: a line that is half there
// counts.
func (s *Splitter) Update(text string, ended bool) []Block {
	for {
		end, ok := blockEnd(text[s.at:])
		if !ok {
			break
		}
		if b, ok := makeBlock(text[s.at : s.at+end]); ok {
			b.Open = false
			b.done = renderBlock(b.Source) // once: it is asked for at every update
			s.closed = append(s.closed, b)
		}
		s.at += end
	}
	tail := text[s.at:]
	if !ended {
		tail = holdBack(tail)
	}
	if b, ok := makeBlock(tail); ok {
		b.Open = b.Fence && !ended && !fenceClosed(tail)
		return append(s.closed[:len(s.closed):len(s.closed)], b)
	}
	return s.closed
}

func makeBlock(src string) (Block, bool) {
	if strings.TrimSpace(src) == "" {
		return Block{}, false
	}
	return Block{Source: src, Fence: fenceMark(firstLine(strings.TrimLeft(src, "\n"))) != ""}, true
}

// holdBack leaves out the last line of a table while it is half there: cells would jump.
func holdBack(tail string) string {
	body := strings.TrimLeft(tail, "\n")
	if !strings.HasPrefix(body, "|") || strings.HasSuffix(tail, "\n") {
		return tail
	}
	if i := strings.LastIndexByte(tail, '\n'); i > 0 {
		return tail[:i+1]
	}
	return ""
}

// blockEnd finds where the first block of text ends for certain, if it does. Fences end with their closing line;
// everything else at a blank line after which something stands that cannot belong to it.
func blockEnd(text string) (int, bool) {
	lead := len(text) - len(strings.TrimLeft(text, "\n"))
	first := firstLine(text[lead:])
	if mark := fenceMark(first); mark != "" {
		return fenceEnd(text, lead+len(first), mark)
	}
	list, marker := startsList(first), listMarker(first)
	blank, fence := false, ""
	for at := lead; at < len(text); {
		nl := strings.IndexByte(text[at:], '\n')
		if nl < 0 {
			if blank && fence == "" && certain(text[at:], list) {
				return at, true
			}
			return 0, false
		}
		line := text[at : at+nl+1]
		switch {
		case fence != "":
			if closes(line, fence) {
				fence = ""
			}
		case strings.TrimSpace(line) == "":
			blank = true
		case blank && at > lead && certain(line, list), at > lead+longList && marker != "" && continues(line, marker):
			return at, true
		case at > lead && fenceMark(line) != "" && !indented(line):
			return at, true
		default:
			fence = fenceMark(strings.TrimLeft(line, " "))
			blank = false
		}
		at += nl + 1
	}
	return 0, false
}

// certain says whether a line after a blank one starts something new, whatever may still be added to it.
func certain(line string, list bool) bool {
	if line == "" || indented(line) {
		return false
	}
	if !list {
		return true
	}
	c := line[0]
	return c != '-' && c != '*' && c != '+' && (c < '0' || c > '9')
}

func indented(line string) bool { return line[0] == ' ' || line[0] == '\t' }

// longList is from how many bytes on a list goes on as a new one, which looks the same: the last block, which is drawn
// again and again while text streams, stays small.
const longList = 2 << 10

// listMarker is what the items of a list at the margin start with: a bullet, or the first number.
func listMarker(line string) string {
	if line == "" || line[0] == ' ' || !startsList(line) {
		return ""
	}
	return line[:strings.IndexByte(line+" ", ' ')]
}

// continues tells whether a line is a further item of such a list. Numbers must go on, or a new list would start over.
func continues(line, marker string) bool {
	m := listMarker(strings.TrimRight(line, "\n"))
	if m == "" || m[len(m)-1] != marker[len(marker)-1] {
		return false
	}
	return len(marker) == 1 || m != marker
}

func startsList(line string) bool {
	t := strings.TrimLeft(line, " ")
	if t == "" {
		return false
	}
	if c := t[0]; c == '-' || c == '*' || c == '+' {
		return len(t) == 1 || t[1] == ' ' || t[1] == '\n'
	}
	digits := strings.TrimLeft(t, "0123456789")
	return len(digits) < len(t) && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}

// fenceMark returns the marks that open a fence on this line, "" for none.
func fenceMark(line string) string {
	t := strings.TrimLeft(line, " ")
	if len(line)-len(t) > 3 {
		return ""
	}
	for _, c := range []string{"`", "~"} {
		n := len(t) - len(strings.TrimLeft(t, c))
		if n >= 3 && (c == "~" || !strings.Contains(t[n:], "`")) {
			return t[:n]
		}
	}
	return ""
}

func closes(line, mark string) bool {
	t := strings.TrimSpace(line)
	return len(t) >= len(mark) && strings.Trim(t, mark[:1]) == ""
}

func fenceEnd(text string, at int, mark string) (int, bool) {
	for at < len(text) {
		if text[at] == '\n' {
			at++
		}
		nl := strings.IndexByte(text[at:], '\n')
		if nl < 0 {
			return 0, false
		}
		if closes(text[at:at+nl], mark) {
			return at + nl + 1, true
		}
		at += nl
	}
	return 0, false
}

func fenceClosed(src string) bool {
	src = strings.TrimLeft(src, "\n")
	mark := fenceMark(firstLine(src))
	last := src[strings.LastIndexByte(strings.TrimRight(src, "\n"), '\n')+1:]
	return len(last) < len(src) && closes(last, mark)
}

// fenceParts are the language and the code of a fence that is still open. A last line that may become the closing
// one is left out.
func fenceParts(src string) (lang, code string) {
	src = strings.TrimLeft(src, "\n")
	head := firstLine(src)
	mark := fenceMark(head)
	lang, _, _ = strings.Cut(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(head), mark[:1])), " ")
	if len(head) == len(src) {
		return lang, ""
	}
	code = src[len(head)+1:]
	i := strings.LastIndexByte(code, '\n') + 1
	if last := strings.TrimSpace(code[i:]); last != "" && strings.Trim(last, mark[:1]) == "" {
		code = code[:i]
	}
	return lang, code
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
