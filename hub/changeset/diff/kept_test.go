package diff

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// memory is a Store that counts calls.
type memory struct {
	mu   sync.Mutex
	data map[string][]byte
	puts []string // in order
}

func (m *memory) Get(key string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.data[key]
}

func (m *memory) Put(key string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.data == nil {
		m.data = map[string][]byte{}
	}
	m.data[key] = data
	m.puts = append(m.puts, key)
}

func (m *memory) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.puts)
}

func goFile(i int, say string) []byte {
	return fmt.Appendf(nil, "package a\n\n// F%d %s\nfunc F%d() string { return \"x\" }\n", i, say, i)
}

func loadGo(i int) func(context.Context) ([]byte, []byte, error) {
	return func(context.Context) ([]byte, []byte, error) { return goFile(i, "was"), goFile(i, "is"), nil }
}

// Stored syntax gives the same comparison as a lexer, for small files and for the parts read of
// large ones.
func TestCachedSyntaxMatchesLexer(t *testing.T) {
	large := strings.Repeat("func name(a int) string { return \"text\" } // why\n", 2000)
	for _, c := range []struct{ path, old, new string }{
		{"a.go", string(goFile(1, "was")), string(goFile(1, "is"))},
		{"a.py", "def a():\r\n    '''x\r\n    y'''\r\n\xff\n", "def b(): # \u00e9\n\n\n    return 1"},
		{"big.go", "package a\n" + large, "package b\n" + large + "func last() {}\n"},
		{"new.ts", "", "export const a = `b${1}`\n"},
	} {
		store := &memory{}
		o := Options{Path: c.path}
		want := Compute([]byte(c.old), []byte(c.new), o)
		compute([]byte(c.old), []byte(c.new), o, &syntax{store: store})
		s := &syntax{store: store, kept: true}
		got := compute([]byte(c.old), []byte(c.new), o, s)
		if s.missing {
			t.Errorf("%s: its syntax is not kept", c.path)
		}
		if d := cmp.Diff(want.Hunks, got.Hunks); d != "" {
			t.Errorf("%s: %s", c.path, d)
		}
		if !hasClasses(got) {
			t.Errorf("%s has no colours", c.path)
		}
	}
}

// A version of a small file is lexed once, for all comparisons.
func TestSyntaxIsKeptByContent(t *testing.T) {
	store := &memory{}
	read := func(old, new, path string) int {
		before := store.count()
		compute([]byte(old), []byte(new), Options{Path: path}, &syntax{store: store})
		return store.count() - before
	}
	a, b := string(goFile(1, "a")), string(goFile(1, "b"))
	if n := read(a, b, "a.go"); n != 2 {
		t.Errorf("%d sides were read, want both", n)
	}
	if n := read(b, a, "other/name.go"); n != 0 {
		t.Errorf("%d sides of the same content were read again", n)
	}
	if n := read(a, b+"\n", "a.go"); n != 1 {
		t.Errorf("%d sides were read, want the new one", n)
	}
	if n := read(a, b, "a.ts"); n != 2 {
		t.Errorf("%d sides were read in another language, want both", n)
	}
}

// Whatever a store returns, a comparison is valid: spans are within their lines.
func FuzzCachedSyntax(f *testing.F) {
	lines := strings.Split(strings.TrimSuffix(string(goFile(1, "is")), "\n"), "\n")
	good := classes{0: {{0, 7, "k", false}}, 2: {{0, 5, "c", false}, {6, 7, "c", false}}}
	if c, ok := decodeClasses(good.encode(), lines); !ok || !cmp.Equal(c, good) {
		f.Errorf("%v %v", c, ok)
	}
	f.Add(good.encode())
	f.Add([]byte{})
	f.Add([]byte{1, 0, 1, 0, 200, 1, 'k'})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, ok := decodeClasses(b, lines)
		if !ok {
			return
		}
		for n, spans := range c {
			at := 0
			for _, s := range spans {
				if n >= len(lines) || s.Start < at || s.End <= s.Start || s.End > len(lines[n]) ||
					!strings.Contains(classLetters, s.Class) {
					t.Fatalf("line %d has %+v", n, spans)
				}
				at = s.End
			}
		}
	})
}

// An invalid entry is ignored and the lexer runs.
func TestBrokenSyntaxIsRecomputed(t *testing.T) {
	store := &memory{}
	compute(goFile(1, "was"), goFile(1, "is"), Options{Path: "a.go"}, &syntax{store: store})
	for key := range store.data {
		store.data[key] = []byte{9, 9, 9}
	}
	f := compute(goFile(1, "was"), goFile(1, "is"), Options{Path: "a.go"}, &syntax{store: store})
	if !hasClasses(f) || store.count() != 4 {
		t.Errorf("colours: %v, after %d writes", hasClasses(f), store.count())
	}
}

// A later run of the program shows colours on the first view.
func TestCachedColoursShowOnFirstView(t *testing.T) {
	store := &memory{}
	c := Cache{Syntax: store}
	c.ReadSyntax(func(context.Context) []Comparison {
		return []Comparison{{"b.go", goFile(1, "was"), goFile(1, "is")}, {"a.txt", nil, []byte("x\n")},
			{"c.go", nil, goFile(2, "is")}}
	})
	wait(t, "three versions", func() bool { return store.count() == 3 })
	c.Close()
	again := Cache{Syntax: store}
	defer again.Close()
	f, err := again.ComputePlain(t.Context(), Key{Old: "1", New: "2", Options: Options{Path: "b.go"}}, loadGo(1))
	if err != nil || !hasClasses(f) || len(again.painter.jobs) != 0 {
		t.Errorf("%+v, %v", f, err)
	}
	f, err = again.ComputePlain(t.Context(), Key{Old: "3", New: "4", Options: Options{Path: "b.go"}}, loadGo(3))
	if err != nil || hasClasses(f) {
		t.Errorf("what was never read has colours: %+v, %v", f, err)
	}
}

// The painter prefers what viewers see over the changes of turns, and pauses while a viewer waits.
func TestPainterGivesWay(t *testing.T) {
	store := &memory{}
	c := Cache{Syntax: store}
	defer c.Close()
	c.painter.working = true // until all requests are queued
	for i := range 2 {
		c.ReadSyntax(func(context.Context) []Comparison { return []Comparison{{"a.go", nil, goFile(i, "turn")}} })
	}
	seen := func(context.Context) ([]byte, []byte, error) { return nil, goFile(3, "seen"), nil }
	if _, err := c.ComputePlain(t.Context(), Key{New: "3", Options: Options{Path: "a.go"}}, seen); err != nil {
		t.Fatal(err)
	}
	release := c.Hold()
	paused := make(chan bool)
	go func() { paused <- c.painter.pause() }()
	wait(t, "the painter to wait", func() bool {
		c.painter.mu.Lock()
		defer c.painter.mu.Unlock()
		return c.painter.changed != nil
	})
	release()
	if !<-paused {
		t.Error("the painter ends with the reader's wait")
	}
	c.painter.wg.Go(c.paint)
	wait(t, "all", func() bool { return store.count() == 3 })
	one := &memory{}
	for _, text := range [][]byte{goFile(3, "seen"), goFile(0, "turn"), goFile(1, "turn")} {
		compute(nil, text, Options{Path: "a.go"}, &syntax{store: one})
	}
	if !slices.Equal(store.puts, one.puts) {
		t.Error("what a reader sees was not read first, and then what turns left, in order")
	}
}

// The key of stored syntax contains the version of the lexer library.
func TestLexerVersionMatchesModule(t *testing.T) {
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(lexerVersion, "chroma "), ",")
	if !strings.Contains(string(mod), "github.com/alecthomas/chroma/v2 "+version+"\n") {
		t.Errorf("%q is not the version in go.mod", lexerVersion)
	}
}
