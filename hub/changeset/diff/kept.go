package diff

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/alecthomas/chroma/v2"
)

// Store keeps the syntax of files, which is slow to read, between runs of the program. It may lose
// entries.
type Store interface {
	Get(key string) []byte // nil: missing
	Put(key string, data []byte)
}

// lexerVersion changes whenever the same text may get other classes: with the library, and with the
// mapping of its tokens.
const lexerVersion = "chroma v2.27.0, classes 1"

// keyOfSyntax identifies the classes of the wanted lines of a text by its content, the language and
// the lexers' version.
func keyOfSyntax(lexer chroma.Lexer, s side, want []int, whole bool) string {
	sum := sha256.New()
	sum.Write([]byte(lexerVersion + "\n" + lexer.Config().Name + "\n"))
	if !whole {
		for _, line := range want {
			sum.Write(strconv.AppendInt(nil, int64(line), 10))
			sum.Write([]byte(" "))
		}
	}
	sum.Write([]byte("\n" + s.text))
	return "syntax " + hex.EncodeToString(sum.Sum(nil))
}

const classLetters = "kscntfp"

// encode writes classes as numbers: the number of lines with classes; for each line, its distance
// from the previous one and its number of spans; for each span, its distance from the previous one,
// its length and its class.
func (c classes) encode() []byte {
	last := -1
	for line := range c {
		last = max(last, line)
	}
	b := binary.AppendUvarint(nil, uint64(len(c)))
	before := 0
	for line := 0; line <= last; line++ {
		spans := c[line]
		if len(spans) == 0 {
			continue
		}
		b = binary.AppendUvarint(b, uint64(line-before))
		b = binary.AppendUvarint(b, uint64(len(spans)))
		before = line
		at := 0
		for _, s := range spans {
			b = binary.AppendUvarint(b, uint64(s.Start-at))
			b = binary.AppendUvarint(b, uint64(s.End-s.Start))
			b = append(b, s.Class...)
			at = s.End
		}
	}
	return b
}

// decodeClasses decodes what encode wrote for these lines, and reports whether that succeeded.
func decodeClasses(b []byte, lines []string) (classes, bool) {
	if b == nil {
		return nil, false
	}
	d := classDecoder{b: b}
	n := d.number(len(lines))
	c := make(classes, n)
	for line, i := 0, 0; i < n && !d.bad; i++ {
		if line += d.number(len(lines)); line >= len(lines) || c[line] != nil {
			return nil, false
		}
		c[line] = d.spans(len(lines[line]))
	}
	return c, !d.bad && len(d.b) == 0
}

type classDecoder struct {
	b   []byte
	bad bool
}

// number reads a number up to limit.
func (d *classDecoder) number(limit int) int {
	n, size := binary.Uvarint(d.b)
	if size <= 0 || n > uint64(limit) {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[size:]
	return int(n)
}

// spans reads the spans of a line of the given length.
func (d *classDecoder) spans(length int) []Span {
	n := d.number(length)
	if n == 0 {
		d.bad = true
		return nil
	}
	spans := make([]Span, 0, n)
	for at := 0; n > 0 && !d.bad; n-- {
		start := at + d.number(length-at)
		end := start + d.number(length-start)
		if len(d.b) == 0 || end == start {
			d.bad = true
			break
		}
		class := strings.IndexByte(classLetters, d.b[0])
		if class < 0 {
			d.bad = true
			break
		}
		spans = append(spans, Span{Start: start, End: end, Class: classLetters[class : class+1]})
		d.b, at = d.b[1:], end
	}
	return spans
}
