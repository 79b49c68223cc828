package part

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Block is one top-level piece of a Markdown text. Streaming changes only the last block, so only that is
// rendered again; an open fence is rendered plain, so that it can grow at its end.
type Block struct {
	Source string
	Fence  bool // a code fence
	Open   bool // the fence is not closed yet
	N      int  // its position among the blocks of the whole text

	Hidden int    // bytes that this block stands for, which are not shown
	Href   string // where they can be read

	at, size int  // in the text
	final    bool // the block cannot change any more
	done     string
}

// HTML renders the block.
func (b *Block) HTML() string {
	switch {
	case b.Hidden > 0:
		return moreHTML(b.Hidden, b.Href)
	case b.done != "":
		return b.done
	case b.Fence && b.Open:
		lang, code := fenceParts(b.Source)
		return codeHead(lang) + html.EscapeString(code) + "</code></pre></div>\n"
	}
	if b.final {
		b.done = finishedBlock(b.Source)
	} else {
		b.done = renderBlock(b.Source)
	}
	return b.done
}

// Blocks splits a whole text, in the same way as a streamed one, so that both look the same.
func Blocks(text string) []Block {
	var s Splitter
	return s.Update(text, true)
}

const (
	longBlock = 32 << 10 // bytes above which a block is split, so that pieces of a page stay small
	lookAhead = 4 << 10  // further bytes in which to look for the end of the block
)

// Splitter splits a growing text into blocks; only the last block can change. Its zero value shows all of the text.
type Splitter struct {
	Shown int    // bytes shown at the beginning of a text, and at its end; 0 shows all
	Href  string // where hidden text can be read; an offset is added

	head, tail []Block // closed blocks, before and after the hidden part
	headSize   int
	tailSize   int
	hidden     int    // bytes between them
	hiddenAt   int    // offset of the hidden part
	last       Block  // the last closed block
	n          int    // closed blocks
	at         int    // start of the last block in the text
	fence      string // first line of the fence that was split before at; "" outside of a fence
}

// Update returns the blocks of the text so far. If ended is set, nothing follows, and an incomplete last line
// is included.
func (s *Splitter) Update(text string, ended bool) []Block {
	for s.closeBlock(text) {
	}
	s.draw()
	tail := text[s.at:]
	if !ended {
		tail = trimIncompleteTableRow(tail)
	}
	size := len(tail)
	if s.fence != "" && size > 0 {
		tail = s.fence + "\n" + tail
	}
	if b, ok := makeBlock(tail); ok {
		b.Open = b.Fence && !ended && !fenceClosed(tail)
		b.N, b.size, b.final = s.n, size, ended
		return s.shown(b)
	}
	return s.shown()
}

// closeBlock splits the next block off the rest of a text. It returns false if the block may still grow.
func (s *Splitter) closeBlock(text string) bool {
	rest := text[s.at:]
	near := rest[:min(len(rest), longBlock+lookAhead)]
	before := ""
	if s.fence != "" {
		before = s.fence + "\n"
	}
	end, ok := blockEnd(before + near)
	end -= len(before)
	cut := !ok || end > longBlock
	if cut && len(rest) < longBlock+lookAhead {
		return false
	}
	if cut {
		end = cutAt(near, longBlock)
	}
	b, some := makeBlock(before + near[:end])
	s.fence = ""
	if cut && some && b.Fence {
		s.fence = firstLine(strings.TrimLeft(b.Source, "\n"))
	}
	s.last = Block{}
	if some {
		b.N, b.at, b.size, b.final = s.n, s.at, end, true
		s.last = b
		s.keep(b)
	}
	s.at += end
	return true
}

// cutAt returns where to split a text longer than most bytes: after a line, or a rune.
func cutAt(text string, most int) int {
	if i := strings.LastIndexByte(text[:most], '\n'); i > 0 {
		return i + 1
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// keep adds a closed block. Blocks between the shown beginning and end are only counted.
func (s *Splitter) keep(b Block) {
	s.n++
	if s.Shown == 0 || s.headSize < s.Shown && len(s.tail) == 0 {
		s.head, s.headSize = append(s.head, b), s.headSize+b.size
		return
	}
	s.tail, s.tailSize = append(s.tail, b), s.tailSize+b.size
	for len(s.tail) > 1 && s.tailSize-s.tail[0].size >= s.Shown {
		if s.hidden == 0 {
			s.hiddenAt = s.tail[0].at
		}
		s.tailSize, s.hidden = s.tailSize-s.tail[0].size, s.hidden+s.tail[0].size
		s.tail[0] = Block{}
		s.tail = s.tail[1:]
	}
}

// draw renders the closed blocks once: every update returns them.
func (s *Splitter) draw() {
	for _, list := range [][]Block{s.head, s.tail} {
		for i := range list {
			list[i].HTML()
		}
	}
}

// shown returns the blocks at the beginning, one that stands for the hidden text, those at the end, and the open one.
func (s *Splitter) shown(open ...Block) []Block {
	if s.hidden == 0 && len(s.tail) == 0 {
		return append(s.head[:len(s.head):len(s.head)], open...)
	}
	out := append(make([]Block, 0, len(s.head)+len(s.tail)+2), s.head...)
	if s.hidden > 0 { // at the position of the first hidden block
		out = append(out, Block{N: len(s.head), Hidden: s.hidden, Href: s.Href + "&from=" + strconv.Itoa(s.hiddenAt)})
	}
	return append(append(out, s.tail...), open...)
}

// cutPiece returns the blocks of a text from an offset, of size bytes or a little more, and where the next piece
// begins; 0 when nothing follows.
func cutPiece(text string, from, size int) (list []Block, next int) {
	s := Splitter{Shown: 1} // retains almost nothing
	for s.closeBlock(text) {
		if s.last.size == 0 || s.last.at < from {
			continue
		}
		if s.last.at >= from+size {
			return list, s.last.at
		}
		list = append(list, s.last)
	}
	rest := text[s.at:]
	if len(list) > 0 && rest != "" && s.at >= from+size {
		return list, s.at
	}
	if s.fence != "" && rest != "" {
		rest = s.fence + "\n" + rest
	}
	if b, ok := makeBlock(rest); ok {
		list = append(list, b)
	}
	return list, 0
}

// moreHTML returns the link to hidden text.
func moreHTML(bytes int, href string) string {
	return `<p class="more"><a class="btn" href="` + html.EscapeString(href) +
		`">Show more</a> <span class="dim num">` + Size(int64(bytes)) + ` not shown</span></p>`
}

func makeBlock(src string) (Block, bool) {
	if strings.TrimSpace(src) == "" {
		return Block{}, false
	}
	return Block{Source: src, Fence: fenceMark(firstLine(strings.TrimLeft(src, "\n"))) != ""}, true
}

// trimIncompleteTableRow leaves out the last line of a table while it is incomplete, since cells
// would jump.
func trimIncompleteTableRow(tail string) string {
	body := strings.TrimLeft(tail, "\n")
	if !strings.HasPrefix(body, "|") || strings.HasSuffix(tail, "\n") {
		return tail
	}
	if i := strings.LastIndexByte(tail, '\n'); i > 0 {
		return tail[:i+1]
	}
	return ""
}

// blockEnd finds the definite end of the first block of text, if there is one. Fences end with their closing line,
// other blocks at a blank line followed by something that cannot belong to them.
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

// certain reports whether a line after a blank one starts a new block, whatever may still be added to it.
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

// longList is the size above which a list continues as a new one, which looks the same: the last
// block, which is rendered repeatedly while text streams, stays small.
const longList = 2 << 10

// listMarker returns the marker of an unindented list item: a bullet, or a number.
func listMarker(line string) string {
	if line == "" || line[0] == ' ' || !startsList(line) {
		return ""
	}
	return line[:strings.IndexByte(line+" ", ' ')]
}

// continues reports whether a line is a further item of such a list. Its number must not be the first one again: a new
// list would start there.
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

// fenceMark returns the marks that open a fence on this line; "" for none.
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

// fenceParts returns the language and the code of an open fence. A last line that may become the closing
// marks is left out.
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
