package diff

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"znkr.io/diff"

	"github.com/ahphub/ahphub/hub/texts"
)

// words pairs deleted with added rows and returns the changed parts by row index. Rows that differ
// too much stay unpaired.
func words(rows []Row) map[int][]Span {
	changed := map[int][]Span{}
	for i := 0; i < len(rows); {
		if rows[i].Kind == Context {
			i++
			continue
		}
		a, end := changedRun(rows, i)
		for _, p := range align(rows, i, a, end) {
			pairWords(rows, p[0], p[1], changed)
		}
		i = end
	}
	return changed
}

// mostAlign limits the pairs compared for one run; longer runs are paired in order.
const mostAlign = 400

// align pairs rows [d,a) with rows [a,end) in order, with the greatest total similarity.
func align(rows []Row, d, a, end int) (pairs [][2]int) {
	n, m := a-d, end-a
	if n == m || n*m > mostAlign {
		for k := range min(n, m) {
			pairs = append(pairs, [2]int{d + k, a + k})
		}
		return pairs
	}
	best := make([]float64, (n+1)*(m+1))
	at := func(i, j int) *float64 { return &best[i*(m+1)+j] }
	bags := make([]map[string]int, n+m)
	for k := range bags {
		bags[k] = bag(rows[d+k].Text)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			*at(i, j) = max(*at(i+1, j), *at(i, j+1), *at(i+1, j+1)+likeness(bags[i], bags[n+j]))
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch *at(i, j) {
		case *at(i+1, j):
			i++
		case *at(i, j+1):
			j++
		default:
			pairs = append(pairs, [2]int{d + i, a + j})
			i, j = i+1, j+1
		}
	}
	return pairs
}

func bag(text string) map[string]int {
	words := map[string]int{}
	for _, t := range tokens(texts.CutBytes(text, wordBytes)) {
		if !blank(t) {
			words[t] += len(t)
		}
	}
	return words
}

// likeness returns the similarity of two lines: the share of bytes in common words, 0 if it is
// small.
func likeness(x, y map[string]int) float64 {
	common, all := 0, 0
	for t, n := range x {
		common += 2 * min(n, y[t])
		all += n
	}
	for _, n := range y {
		all += n
	}
	if all == 0 || float64(common) < leastLike*float64(all) {
		return 0
	}
	return float64(common) / float64(all)
}

const leastLike = 0.3

// pairWords pairs two similar rows, with the words that differ.
func pairWords(rows []Row, d, a int, changed map[int][]Span) {
	x, y := rows[d].Text, rows[a].Text
	if len(x) > wordBytes || len(y) > wordBytes {
		rows[d].Pair, rows[a].Pair = a, d
		return
	}
	old, new, alike := compareWords(x, y)
	if !alike {
		return
	}
	rows[d].Pair, rows[a].Pair = a, d
	changed[d], changed[a] = old, new
}

func compareWords(x, y string) (old, new []Span, alike bool) {
	tx, ty := tokens(x), tokens(y)
	head := 0
	for head < min(len(tx), len(ty)) && tx[head] == ty[head] {
		head++
	}
	tail := 0
	for tail < min(len(tx), len(ty))-head && tx[len(tx)-1-tail] == ty[len(ty)-1-tail] {
		tail++
	}
	same := weight(tx[:head]) + weight(tx[len(tx)-tail:])
	var a, b marks
	a.skip(tx[:head])
	b.skip(ty[:head])
	for _, e := range diff.Edits(tx[head:len(tx)-tail], ty[head:len(ty)-tail]) {
		switch e.Op {
		case diff.Delete:
			a.mark(e.X)
		case diff.Insert:
			b.mark(e.Y)
		default:
			same += weight([]string{e.X})
			a.skip([]string{e.X})
			b.skip([]string{e.Y})
		}
	}
	if all := weight(tx) + weight(ty); float64(2*same) < leastLike*float64(all) {
		return nil, nil, false
	}
	return joined(x, a.spans), joined(y, b.spans), true
}

// marks collects the changed parts of a line, left to right.
type marks struct {
	at    int
	spans []Span
}

func (m *marks) skip(tokens []string) {
	for _, t := range tokens {
		m.at += len(t)
	}
}

func (m *marks) mark(token string) {
	m.spans = append(m.spans, Span{Start: m.at, End: m.at + len(token), Changed: true})
	m.at += len(token)
}

// joined merges parts that touch or have only spaces between them.
func joined(text string, spans []Span) []Span {
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && blank(text[out[n-1].End:s.Start]) {
			out[n-1].End = s.End
			continue
		}
		out = append(out, s)
	}
	return out
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func weight(tokens []string) (n int) {
	for _, t := range tokens {
		if !blank(t) {
			n += len(t)
		}
	}
	return n
}

// tokens splits a line into words, runs of spaces and other single characters.
func tokens(line string) []string {
	out := make([]string, 0, 8+len(line)/4)
	for line != "" {
		n := token(line)
		out = append(out, line[:n])
		line = line[n:]
	}
	return out
}

func token(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	kind := runeKind(r)
	if kind == 0 {
		return n
	}
	for n < len(s) {
		r, w := utf8.DecodeRuneInString(s[n:])
		if runeKind(r) != kind {
			break
		}
		n += w
	}
	return n
}

// runeKind returns 0 for single characters, 1 for word characters, 2 for spaces.
func runeKind(r rune) int {
	switch {
	case r == '_' || r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9':
		return 1
	case r == ' ' || r == '\t':
		return 2
	case r < utf8.RuneSelf || r == utf8.RuneError:
		return 0
	case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
		return 1
	case unicode.IsSpace(r):
		return 2
	}
	return 0
}
