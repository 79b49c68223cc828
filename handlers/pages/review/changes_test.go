package review

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

func drawingOf(threads []part.Thread, files ...built) *drawing {
	v := &page.Changes{Base: "/s/ab", Threads: threads}
	for i := range files {
		files[i].Path = files[i].ID
		for _, t := range threads {
			if t.Path == files[i].ID {
				files[i].Threads = append(files[i].Threads, t)
			}
		}
		v.Files = append(v.Files, files[i].DiffFile)
	}
	return &drawing{page: v, files: files}
}

func fileAt(id string, src *diff.File) built {
	return built{DiffFile: part.DiffFile{ID: id, Diff: src}, src: src}
}

func ops(list []live.Patch) string {
	var out []string
	for _, p := range list {
		out = append(out, string(p.Op)+" "+p.ID)
	}
	return strings.Join(out, "|")
}

// Patches are small: a mark sends a head and a line of the tree, a reply a card; rows are sent only
// when they changed.
func TestPatchesAreNoLargerThanTheChange(t *testing.T) {
	src, other := &diff.File{}, &diff.File{Additions: 1}
	a, b := part.DiffKey("a"), part.DiffKey("b")
	say := func(n int) []part.Entry { return make([]part.Entry, n) }
	marked := fileAt("a", src)
	marked.Reviewed = true
	manual := fileAt("a", src)
	manual.Tag = "changed outside of turns"
	for name, c := range map[string]struct {
		old, now *drawing
		want     string
	}{
		"nothing": {drawingOf(nil, fileAt("a", src)), drawingOf(nil, fileAt("a", src)), ""},
		"marked": {drawingOf(nil, fileAt("a", src)), drawingOf(nil, marked), "r fh-" + a + "|r ft-" + a +
			"|r review-counts"},
		"by a turn": {drawingOf(nil, manual), drawingOf(nil, fileAt("a", src)), "r fh-" + a + "|r ft-" + a},
		"edited": {drawingOf(nil, fileAt("a", src)), drawingOf(nil, fileAt("a", other)), "r file-" + a + "|r ft-" +
			a},
		"new file": {drawingOf(nil, fileAt("b", src)), drawingOf(nil, fileAt("a", src), fileAt("b", src)), "b file-" +
			b + "|r tree|r changes-state|r review-counts"},
		"last file": {drawingOf(nil, fileAt("a", src)), drawingOf(nil, fileAt("a", src), fileAt("b", src)),
			"a files|r tree|r changes-state|r review-counts"},
		"file gone": {drawingOf(nil, fileAt("a", src), fileAt("b", src)), drawingOf(nil, fileAt("a", src)), "x file-" +
			b + "|r tree|r changes-state|r review-counts"},
		"thread": {drawingOf(nil, fileAt("a", src)), drawingOf([]part.Thread{{ID: "t", Path: "a", Entries: say(1)}},
			fileAt("a", src)), "r fh-" + a + "|r ft-" + a + "|a pool|r review-counts"},
		"reply": {drawingOf([]part.Thread{{ID: "t", Path: "a", Entries: say(1)}}, fileAt("a", src)),
			drawingOf([]part.Thread{{ID: "t", Path: "a", Entries: say(2)}}, fileAt("a", src)), "r thread-t"},
		"moved": {drawingOf([]part.Thread{{ID: "t", From: 1, To: 1}}),
			drawingOf([]part.Thread{{ID: "t", From: 3, To: 3}}), "x thr-t|a pool"},
		"deleted": {drawingOf([]part.Thread{{ID: "t", Resolved: true}}), drawingOf(nil), "x thr-t"},
	} {
		if got := ops(difference(c.old, c.now)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestFilesComeInTheOrderOfTheTree(t *testing.T) {
	paths := []string{"z.go", "a/b.go", "a/c/d.go", "b/a.go", "a.go"}
	slices.SortFunc(paths, diff.ComparePaths)
	if got := strings.Join(paths, " "); got != "a/c/d.go a/b.go b/a.go a.go z.go" {
		t.Error(got)
	}
}

func TestThreadActions(t *testing.T) {
	th := &ahp.Annotation{ID: "t", Entries: []ahp.AnnotationEntry{{ID: "1"}, {ID: "2"}}}
	for _, c := range []struct {
		verb, entry, text string
		resolve           bool
		want              string
	}{
		{"resolve", "", "", false, "annotations/updated"},
		{"reply", "", "yes", true, "annotations/entrySet annotations/updated"},
		{"edit", "2", "no", false, "annotations/entrySet"},
		{"delete", "2", "", false, "annotations/entryRemoved"},
		{"delete", "1", "", false, "annotations/removed"},
		{"reply", "", "", false, "error"},
		{"edit", "9", "x", false, "error"},
		{"dance", "", "", false, "error"},
	} {
		list, err := threadActions(th, c.verb, c.entry, c.text, c.resolve)
		var got []string
		for _, a := range list {
			got = append(got, a.ActionType())
		}
		if err != nil {
			got = []string{"error"}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s %q: %s, want %s", c.verb, c.entry, s, c.want)
		}
	}
}

func TestALookSurvivesItsRoomName(t *testing.T) {
	for _, l := range []look{{short: "ab", scope: "session"}, {short: "ab", scope: "turn.x-1", split: true,
		space: diff.SpaceNone}, {short: "ab", scope: "uncommitted", space: diff.SpaceBlank},
		{short: "ab", scope: "branch", split: true, space: diff.SpaceAmount}} {
		parts := strings.Split(l.room(), ":")
		got := look{short: parts[1], scope: parts[2], split: strings.HasPrefix(parts[3], "s"),
			space: spaceOf(func(_, flag string) bool { return strings.HasSuffix(parts[3], flag) })}
		if got != l {
			t.Errorf("%+v became %+v", l, got)
		}
	}
}

// The address of a comparison of turns is its scope, however it was chosen.
func TestTheAddressHoldsTheScope(t *testing.T) {
	v := site.Visit{Short: "ab", Session: "ahp-session:/one"}
	for query, want := range map[string]string{
		"":                                    "scope=session",
		"scope=branch&view=split":             "scope=branch&view=split",
		"from=one&to=two&ws=ignore":           "scope=compare.one..two&ws=ignore",
		"from=one&to=one":                     "scope=turn.one",
		"ws=amount":                           "scope=session&ws=amount",
		"ws=blank&scope=branch":               "scope=branch&ws=blank",
		"ws=anything":                         "scope=session",
		"scope=branch&from=5&to=9":            "scope=branch", // lines of a gap
		"scope=compare.one..two&from=&to=":    "scope=compare.one..two",
		"scope=compare.one..two&view=unified": "scope=compare.one..two",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		l := lookOf(v, q)
		if l.query() != want {
			t.Errorf("%q: %s, want %s", query, l.query(), want)
		}
		from, to, ok := l.turns()
		if is := strings.Contains(want, "compare"); ok != is || is && (from != "one" || to != "two") {
			t.Errorf("%q: compares %q %q", query, from, to)
		}
	}
}
