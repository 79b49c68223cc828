package diff

import (
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// classes holds the syntax of the wanted lines.
type classes map[int][]Span

// line returns a copy, because overlay changes it.
func (c classes) line(n int, text string) []Span {
	spans := c[n]
	if len(spans) == 0 || len(text) > wordBytes*5 {
		return nil
	}
	return append(make([]Span, 0, len(spans)), spans...)
}

const (
	wholeBytes = 64 << 10        // a side up to this size is read from its first line
	runUp      = 40              // lines read before a run of wanted ones in larger sides
	classTime  = 3 * time.Second // some texts make a lexer's patterns run forever: after this, the rest stays plain
)

// syntax reads the classes of lines.
type syntax struct {
	store   Store       // keeps the classes; nil: nothing does
	kept    bool        // no lexer runs: classes that are not stored are missing
	pause   func() bool // called regularly while a lexer reads; false ends it; nil: it is not called
	missing bool        // some classes were not in the store
}

// classes returns the syntax of the wanted lines (0-based, ascending) of a side. It reads small
// sides as a whole, and larger ones only near the wanted lines, because colouring 10 000 lines
// takes from 0.3 s (Go) to 2 s (TypeScript).
func (x *syntax) classes(s side, name string, want []int) classes {
	if name == "" || len(want) == 0 || len(s.text) > classBytes || len(s.lines) > classLines {
		return nil
	}
	lexer := lexerFor(name)
	if lexer == nil {
		return nil
	}
	whole := len(s.text) <= wholeBytes
	if whole && x.store != nil {
		want = allLines(len(s.lines)) // useful to every comparison of this version
	}
	var key string
	if x.store != nil {
		key = keyOfSyntax(lexer, s, want, whole)
		if c, ok := decodeClasses(x.store.Get(key), s.lines); ok {
			return c
		}
	}
	if x.kept {
		x.missing = true
		return nil
	}
	c, whole := x.read(lexer, s, want, whole)
	if whole && x.store != nil {
		x.store.Put(key, c.encode())
	}
	return c
}

func allLines(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// read runs the lexer, and reports whether it reached the end.
func (x *syntax) read(lexer chroma.Lexer, s side, want []int, whole bool) (classes, bool) {
	r := reading{classes: classes{}, lexer: lexer, end: time.Now().Add(classTime), pause: x.pause}
	if whole {
		return r.classes, r.read(s.lines, 0, want)
	}
	for len(want) > 0 {
		n := 1
		for n < len(want) && want[n]-want[n-1] <= runUp {
			n++
		}
		from := max(0, want[0]-runUp)
		if !r.read(s.lines[from:want[n-1]+1], from, want[:n]) {
			return r.classes, false
		}
		want = want[n:]
	}
	return r.classes, true
}

// known caches languages by file name: finding one takes chroma 5 ms.
var known = struct {
	sync.Mutex
	byName map[string]chroma.Lexer
}{byName: map[string]chroma.Lexer{}}

const mostKnown = 4096

// special returns the name patterns that determine a language by more than the extension, such as
// Makefile and *rc.
var special = sync.OnceValue(func() (all struct {
	names    map[string]bool
	patterns []string
}) {
	all.names = map[string]bool{}
	for _, lexer := range lexers.GlobalLexerRegistry.Lexers {
		config := lexer.Config()
		for _, glob := range slices.Concat(config.Filenames, config.AliasFilenames) {
			switch ext, simple := strings.CutPrefix(glob, "*."); {
			case simple && !strings.ContainsAny(ext, "*?[.\\"):
			case strings.ContainsAny(glob, "*?[\\"):
				all.patterns = append(all.patterns, glob)
			default:
				all.names[glob] = true
			}
		}
	}
	return all
})

// languageKey returns a name with the same language. Files with the same extension share it, unless
// more of the name counts.
func languageKey(name string) string {
	stem, ext, ok := strings.Cut(name, ".")
	if !ok || stem == "" || strings.Contains(ext, ".") {
		return name
	}
	all := special()
	for _, part := range []string{name, stem} { // stem: chroma ignores the endings of backups and templates
		if all.names[part] {
			return name
		}
		for _, p := range all.patterns {
			if ok, err := path.Match(p, part); ok || err != nil {
				return name
			}
		}
	}
	return "x." + ext
}

// lexerFor returns the lexer for a file's name, nil for none.
func lexerFor(name string) chroma.Lexer {
	name = languageKey(path.Base(name))
	known.Lock()
	lexer, ok := known.byName[name]
	known.Unlock()
	if ok {
		return lexer
	}
	if lexer = lexers.Match(name); lexer != nil && lexer.Config().Name == "plaintext" {
		lexer = nil
	}
	known.Lock()
	defer known.Unlock()
	if len(known.byName) >= mostKnown {
		clear(known.byName)
	}
	known.byName[name] = lexer
	return lexer
}

// reading is the state of running a lexer over one side.
type reading struct {
	classes classes
	lexer   chroma.Lexer
	end     time.Time
	pause   func() bool
}

const pauseEvery = 64 // tokens

// read colours lines, the first of which has the number first, up to the last wanted one. It
// reports whether it finished.
func (r *reading) read(lines []string, first int, want []int) bool {
	tokens, err := r.lexer.Tokenise(&chroma.TokeniseOptions{State: "root"}, lexable(lines))
	if err != nil {
		return true // on an error, lines stay plain
	}
	line, col, next, last := first, 0, 0, want[len(want)-1]
	for n, t := 1, tokens(); t != chroma.EOF && line <= last; n, t = n+1, tokens() {
		if n%pauseEvery == 0 && !r.mayGoOn() {
			return false
		}
		class := classFor(t.Type)
		for rest := t.Value; rest != ""; {
			part, after, newline := strings.Cut(rest, "\n")
			for next < len(want) && want[next] < line {
				next++
			}
			if class != "" && !blank(part) && next < len(want) && want[next] == line {
				r.classes.add(line, part, col, class)
			}
			col += len(part)
			if newline {
				line, col = line+1, 0
			}
			rest = after
		}
	}
	return true
}

// mayGoOn waits while pause does, which does not count as reading time.
func (r *reading) mayGoOn() bool {
	if r.pause != nil {
		began := time.Now()
		if !r.pause() {
			return false
		}
		r.end = r.end.Add(time.Since(began))
	}
	return time.Now().Before(r.end)
}

func (c classes) add(line int, part string, col int, class string) {
	lead := len(part) - len(strings.TrimLeft(part, " \t"))
	s := Span{Start: col + lead, End: col + len(strings.TrimRight(part, " \t")), Class: class}
	c[line] = append(c[line], s)
}

// lexable joins lines for the lexers, with the same length in bytes: characters that break them
// become spaces.
func lexable(lines []string) string {
	text := strings.Join(lines, "\n") + "\n"
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r", " ")
	}
	if utf8.ValidString(text) {
		return text
	}
	b := []byte(text)
	for at := 0; at < len(b); {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			b[at] = ' '
		}
		at += n
	}
	return string(b)
}

// classFor maps about a hundred kinds of tokens to the seven that are shown.
func classFor(t chroma.TokenType) string {
	switch {
	case t == chroma.KeywordType || t == chroma.NameBuiltin || t == chroma.NameBuiltinPseudo || t == chroma.NameClass:
		return "t"
	case t.InCategory(chroma.Keyword) || t == chroma.OperatorWord:
		return "k"
	case t == chroma.CommentPreproc || t == chroma.CommentPreprocFile:
		return "p"
	case t.InCategory(chroma.Comment):
		return "c"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber):
		return "n"
	case t == chroma.NameFunction || t == chroma.NameFunctionMagic:
		return "f"
	case t == chroma.NameDecorator || t == chroma.NameAttribute || t == chroma.NameTag:
		return "p"
	}
	return ""
}
