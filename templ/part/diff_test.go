package part

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/changeset/diff"
)

func drawn(t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func fileOf(path, before, after string) *DiffFile {
	d := diff.Compute([]byte(before), []byte(after), diff.Options{Path: path})
	return &DiffFile{ID: path, Base: "/s/ab/changes", Query: "scope=session", Path: path, Status: DiffModified, Diff: d,
		Add: d.Additions, Del: d.Deletions}
}

var anyTag = regexp.MustCompile(`<[^>]*>`)

func TestRowsHoldCodeAlone(t *testing.T) {
	html := drawn(t, DiffRows(fileOf("a.go", "package a\n\nvar x = 1\n", "package a\n\nvar y = 1\n"), DiffView{}))
	if text := anyTag.ReplaceAllString(html, "|"); strings.ContainsAny(text, "+−@") || strings.Contains(text, "3") {
		t.Errorf("numbers or signs are in the text, so they would be copied: %s", text)
	}
	for _, want := range []string{`data-l=" 1  1"`, `<div class="r d" data-l=" 3   ">`,
		`<div class="r a" data-l="    3">`, "<b>x</b>", "<b>y</b>", "<i class=k>var</i>"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing in %s", want, html)
		}
	}
}

func TestHostileTextStaysText(t *testing.T) {
	html := drawn(t, DiffBox(fileOf("<img src=x onerror=alert(1)>.go", "a\n", "<script>alert(1)</script>\"'&\n"),
		DiffView{Links: true}))
	if strings.Contains(html, "<script>") || strings.Contains(html, "<img") {
		t.Errorf("markup came through: %s", html)
	}
}

func TestChunkClassesCountTheirRows(t *testing.T) {
	var before, after strings.Builder
	for i := range 700 {
		before.WriteString("line " + strconv.Itoa(i) + "\n")
		after.WriteString("row " + strconv.Itoa(i) + "\n")
	}
	for _, v := range []DiffView{{}, {Split: true}} {
		html := drawn(t, DiffRows(fileOf("a.txt", before.String(), after.String()), v))
		chunks := regexp.MustCompile(`<div class="chunk tens-(\d+) ones-(\d)">`).FindAllStringSubmatchIndex(html, -1)
		if len(chunks) < 5 {
			t.Fatalf("%d chunks for 700 rows", len(chunks))
		}
		for i, c := range chunks {
			end := len(html)
			if i+1 < len(chunks) {
				end = chunks[i+1][0]
			}
			tens, _ := strconv.Atoi(html[c[2]:c[3]])
			units, _ := strconv.Atoi(html[c[4]:c[5]])
			rows := strings.Count(html[c[0]:end], `<div class="r`) + strings.Count(html[c[0]:end], `<div class="h`)
			if v.Split {
				rows /= 2
			}
			if rows != tens*10+units || rows > chunkRows {
				t.Errorf("split %v: a chunk of %d rows says %d", v.Split, rows, tens*10+units)
			}
		}
	}
}

func TestThreadsStandWhereTheyBelong(t *testing.T) {
	f := fileOf("a.txt", "one\ntwo\nthree\n", "one\n2\nthree\n")
	say := []Entry{{ID: "e", By: "Ana", ByID: "p1", At: time.Unix(0, 0), Text: "why?"}}
	f.Threads = []Thread{
		{ID: "new", Base: "/s/ab", Side: After, From: 2, To: 2, Entries: say, Place: 1, Of: 2},
		{ID: "old", Base: "/s/ab", Side: Before, From: 2, To: 2, Entries: say, Resolved: true},
		{ID: "gone", Base: "/s/ab", Side: After, From: 9, To: 9, Entries: say, Outdated: true, Quote: "nine"},
		{ID: "moved", Base: "/s/ab", Side: After, From: 3, To: 3, MovedFrom: 40, Entries: say},
	}
	for _, v := range []DiffView{{}, {Split: true}} {
		html := drawn(t, DiffBox(f, v))
		at := func(s string) int { return strings.Index(html, s) }
		if !(at("thread-gone") < at(">one<") && at("thread-old") > at("two") && at("thread-new") > at("2</b>") &&
			at("thread-new") < at("thread-moved")) {
			t.Errorf("split %v: threads are in the wrong places", v.Split)
		}
		for _, want := range []string{"Outdated", "These lines no longer exist", "nine", "moved from R40", "1 of 2",
			">Resolved<", `data-by="p1"`} {
			if at(want) < 0 {
				t.Errorf("split %v: %q is missing", v.Split, want)
			}
		}
		if n := strings.Count(html, `class="thr"`); n != 4 {
			t.Errorf("%d threads, want 4", n)
		}
	}
}

func TestEveryStateIsDescribed(t *testing.T) {
	for name, c := range map[string]struct {
		file DiffFile
		want []string
	}{
		"binary": {DiffFile{Form: DiffBinary, OldSize: 9, NewSize: 2048},
			[]string{"Binary file, 9 B before, 2.0 KB after"}},
		"image": {DiffFile{Form: DiffImage, OldURL: "/o", NewURL: "/n", OldSize: 1, NewSize: 2},
			[]string{"<b>Before</b> <span>1 B", "<b>After</b> <span>2 B", `alt="a.txt, After"`}},
		"mode": {DiffFile{OldMode: "100644", NewMode: "100755"}, []string{"Mode changed from", "100755",
			"The content is the same."}},
		"rename": {DiffFile{Status: DiffRenamed, OldPath: "b.txt"}, []string{"Renamed without changes.", "b.txt"}},
		"empty":  {DiffFile{Status: DiffAdded}, []string{"The file is empty."}},
		"huge":   {DiffFile{Fold: "27,300 changed lines"}, []string{"Folded: 27,300 changed lines", "Show diff"}},
		"note":   {DiffFile{Note: "It cannot be read."}, []string{"It cannot be read."}},
		"marked": {DiffFile{Reviewed: true, ReviewedBy: "Ben", Shut: true}, []string{`aria-pressed="true"`, "by Ben",
			`hidden="until-found"`}},
		"stale":   {DiffFile{Stale: true}, []string{"Changed since reviewed"}},
		"outside": {DiffFile{Tag: "changed outside of turns"}, []string{"changed outside of turns"}},
	} {
		f := c.file
		f.ID, f.Path, f.Base = "a.txt", "a.txt", "/s/ab/changes"
		html := drawn(t, DiffBox(&f, DiffView{}))
		for _, want := range c.want {
			if !strings.Contains(html, want) {
				t.Errorf("%s: %q is missing in %s", name, want, html)
			}
		}
	}
}

func TestLongLinesAreCutWithAWayToTheRest(t *testing.T) {
	f := fileOf("a.txt", "", strings.Repeat("ä", 4000)+"\n")
	html := drawn(t, DiffRows(f, DiffView{}))
	if strings.Count(html, "ä") != lineLimit/2 || !strings.Contains(html, "show 3,000 more") {
		t.Errorf("%d letters are shown", strings.Count(html, "ä"))
	}
	if whole := drawn(t, DiffRows(f, DiffView{Whole: true})); strings.Count(whole, "ä") != 4000 {
		t.Error("the file's own page cuts the line too")
	}
}

func TestMissingNewlineIsShown(t *testing.T) {
	if html := drawn(t, DiffRows(fileOf("a.txt", "one\n", "one"), DiffView{})); strings.Count(html, "<u title=") != 1 {
		t.Errorf("the missing newline is not marked once: %s", html)
	}
}

func TestLargePagesDrawFewerColours(t *testing.T) {
	row := "if x := call(\"text\", 12); x { // why"
	spans := []diff.Span{{Start: 0, End: 2, Class: "k"}, {Start: 13, End: 19, Class: "s"},
		{Start: 21, End: 23, Class: "n"}, {Start: 30, End: 36, Class: "c"}}
	for syntax, want := range map[Syntax]int{SyntaxAll: 4, SyntaxFew: 3, SyntaxNone: 0} {
		html := string(syntax.append(nil, row, spans))
		if n := strings.Count(html, "<i"); n != want {
			t.Errorf("syntax %d draws %d spans, want %d: %s", syntax, n, want, html)
		}
	}
	if SyntaxFor(100) != SyntaxAll || SyntaxFor(20_000) != SyntaxFew || SyntaxFor(200_000) != SyntaxNone {
		t.Error("the amount of colour does not follow the amount of rows")
	}
}

// In a file that changed since its review, only new hunks and those with threads are open.
func TestOnlyHunksSinceReviewAreOpen(t *testing.T) {
	lines := func(edit map[int]string) []byte {
		var b strings.Builder
		for i := range 60 {
			if text, ok := edit[i]; ok {
				b.WriteString(text + "\n")
			} else {
				b.WriteString("line " + strconv.Itoa(i) + "\n")
			}
		}
		return []byte(b.String())
	}
	base := lines(nil)
	was := diff.Compute(base, lines(map[int]string{5: "seen", 30: "will be edited"}), diff.Options{})
	now := diff.Compute(base, lines(map[int]string{5: "seen", 30: "edited", 50: "new"}), diff.Options{})
	draw := func(threads ...Thread) string {
		f := &DiffFile{ID: "a", Diff: now, Stale: true, Done: Seen(nil, was, now, "Ana"), Threads: threads}
		return drawn(t, DiffRows(f, DiffView{}))
	}
	shut, open, _ := strings.Cut(draw(), "</details>")
	if !strings.Contains(shut, ">seen") || strings.Contains(shut, "edited") || !strings.Contains(open, "edited") ||
		!strings.Contains(open, "new") {
		t.Errorf("shut: %s\nopen: %s", shut, open)
	}
	if strings.Contains(draw(Thread{ID: "t", Side: After, From: 6, To: 6}), "<details class=\"reviewed-hunk\"") {
		t.Error("a hunk is shut although somebody speaks about it")
	}
	if !strings.Contains(shut, "Reviewed by Ana: +1 −1 at line 3") {
		t.Errorf("who reviewed it is not said: %s", shut)
	}
}
