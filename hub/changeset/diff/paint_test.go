package diff

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/chroma/v2/lexers"
)

func hasClasses(f *File) bool {
	for _, h := range f.Hunks {
		for _, r := range h.Rows {
			for _, s := range r.Spans {
				if s.Class != "" {
					return true
				}
			}
		}
	}
	return false
}

// TestLanguageFollowsFullName compares the shortcut by extension with chroma's own search, which
// takes 5 ms per name.
func TestLanguageFollowsFullName(t *testing.T) {
	stems := []string{"panel_012", "a-b", "CMakeLists", "Makefile", "nginx", "meson", "BUILD", "Dockerfile", "x",
		"config.h", "go", "PKGBUILD", "Jenkinsfile", "main_test"}
	exts := []string{"go", "ts", "tsx", "py", "md", "css", "txt", "in", "bak", "conf", "build", "h", "mod", "json",
		"yml", "nothing"}
	for i, stem := range stems {
		for j, ext := range exts {
			if (i+j)%3 != 0 {
				continue
			}
			name := stem + "." + ext
			want, got := "", ""
			if l := lexers.Match(name); l != nil && l.Config().Name != "plaintext" {
				want = l.Config().Name
			}
			if l := lexerFor(name); l != nil {
				got = l.Config().Name
			}
			if got != want {
				t.Errorf("%s is taken for %q, want %q", name, got, want)
			}
		}
	}
	if languageKey("panel_012.ts") != languageKey("list.ts") {
		t.Error("files of one extension are looked for each")
	}
}

// wait polls until a condition holds.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waiting for " + what)
		}
	}
}

func TestColoursFollowComparison(t *testing.T) {
	var c Cache
	defer c.Close()
	key := Key{Old: "1", New: "2", Options: Options{Path: "a.go"}}
	load := loadGo(0)
	f, err := c.ComputePlain(t.Context(), key, load)
	if err != nil || f.Additions != 1 || hasClasses(f) {
		t.Fatalf("the first comparison: %+v %v", f, err)
	}
	wait(t, "colours", func() bool { return c.get(key) != nil })
	f, err = c.ComputePlain(t.Context(), key, load)
	if err != nil || f.Additions != 1 || !hasClasses(f) {
		t.Errorf("after its colours came: %+v %v", f, err)
	}
	wait(t, "the comparison without colours to go", func() bool { return c.get(key.plain()) == nil })
}

func TestComparisonIsPaintedOnce(t *testing.T) {
	var c Cache
	defer c.Close()
	c.painter.working = true // no one paints
	for range 2 {
		f, err := c.ComputePlain(t.Context(), Key{New: "1", Options: Options{Path: "a.go"}}, loadGo(0))
		if err != nil || hasClasses(f) {
			t.Fatalf("%+v %v", f, err)
		}
	}
	if n := len(c.painter.jobs); n != 1 {
		t.Errorf("%d comparisons wait, want 1", n)
	}
}

func TestPainterIsBounded(t *testing.T) {
	c := Cache{Syntax: &memory{}}
	defer c.Close()
	c.painter.working = true // no one paints
	load := func(context.Context) ([]byte, []byte, error) { return nil, []byte("package a\n"), nil }
	for i := range mostJobs + 10 {
		key := Key{New: strconv.Itoa(i), Options: Options{Path: "a.go"}}
		if _, err := c.ComputePlain(t.Context(), key, load); err != nil {
			t.Fatal(err)
		}
		c.ReadSyntax(func(context.Context) []Comparison { return nil })
	}
	if n, sets := len(c.painter.jobs), len(c.painter.sets); n != mostJobs || sets != mostSets {
		t.Errorf("%d comparisons and %d sets wait, want %d and %d", n, sets, mostJobs, mostSets)
	}
}

func TestPlainTextHasNoColoursToWaitFor(t *testing.T) {
	var c Cache
	defer c.Close()
	load := func(context.Context) ([]byte, []byte, error) { return nil, []byte(strings.Repeat("a\n", 9)), nil }
	if _, err := c.ComputePlain(t.Context(), Key{New: "1", Options: Options{Path: "a.txt"}}, load); err != nil {
		t.Fatal(err)
	}
	if len(c.painter.jobs) != 0 {
		t.Error("a text without a language waits for colours")
	}
}
