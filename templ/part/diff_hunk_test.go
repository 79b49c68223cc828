package part

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/changeset/diff"
)

// The bar of a hunk has its name; if lines are links, it also has forms, so that a reader without a script can mark
// and revert it.
func TestHunkTools(t *testing.T) {
	far := strings.Repeat("line\n", 12)
	d := diff.Compute([]byte("a\n"+far+"gone\n"), []byte("A\n"+far), diff.Options{})
	name := HunkName(d.Hunks[1].Key)
	f := &DiffFile{ID: "a", Base: "/s/x/changes", Query: "scope=uncommitted", Diff: d,
		Done: map[string]string{d.Hunks[0].Key: "Ana"}}
	if got := drawn(t, DiffRows(f, DiffView{Ops: []HunkOp{{ID: "stage", Label: "Stage"}}})); !strings.Contains(got,
		`data-k="`+name+`"`) || strings.Contains(got, "<form") {
		t.Errorf("on the page of all files: %s", got)
	}
	got := drawn(t, DiffRows(f, DiffView{Links: true, Ops: []HunkOp{{ID: "stage", Label: "Stage"},
		{ID: "revert", Label: "Revert", Confirm: true}}}))
	for _, want := range []string{
		`formaction="/s/x/changes/reviewed?scope=uncommitted&amp;file=` + f.Key() + `&amp;hunk=` + name +
			`&amp;reviewed=true"`,
		`&amp;reviewed=false" aria-pressed="true"`,
		`name="op" value="stage"`, `name="file" value="` + f.Key() + `"`, `name="at" value="R1"`,
		`name="at" value="L14"`, ">Revert hunk<", "data-confirm", "Reviewed by Ana: +1 −1 at line 1",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
	if head := drawn(t, DiffHead(f)); !strings.Contains(head, `data-done="`+HunkName(d.Hunks[0].Key)+` Ana"`) ||
		!strings.Contains(head, "1/2 hunks") {
		t.Errorf("the head does not say what is reviewed: %s", head)
	}
}

func TestMovedRows(t *testing.T) {
	d := diff.Compute(nil, []byte("one\ntwo\nthree\n"), diff.Options{})
	at := func(path string) Moved {
		return Moved{Block: diff.Block{Kind: diff.Add, From: 2, To: 3, Line: 40}, Path: path,
			Href: "/s/x/changes/file/k?q"}
	}
	for path, want := range map[string]string{"b.go": "Moved from b.go:L40", "a.go": "Moved from line 40",
		`<b>".go`: "Moved from &lt;b&gt;&#34;.go:L40"} {
		got := drawn(t, DiffRows(&DiffFile{ID: "a", Path: "a.go", Diff: d, Moved: []Moved{at(path)}}, DiffView{}))
		if strings.Count(got, `class="r a m"`) != 2 || strings.Count(got, "</a>") != 1 {
			t.Errorf("%s: two rows with one label are wanted: %s", path, got)
		}
		if !strings.Contains(got, `href="/s/x/changes/file/k?q#L40" aria-label="`+want+`"></a>`) {
			t.Errorf("%s: %q is missing in %s", path, want, got)
		}
	}
}

func TestPlaceNote(t *testing.T) {
	for want, p := range map[string]Place{
		"Moved from L40": {File: "k", Side: After, From: 40, To: 41, Now: 50, NowTo: 51},
		"(previously lines 4 to 5) no longer exist": {File: "k", Side: After, From: 4, To: 5, Gone: true,
			Quote: "old <b>"},
		"that version is no longer available": {File: "k", Side: Before, From: 3, To: 3, Now: 3, NowTo: 3,
			Unknown: true},
	} {
		got := drawn(t, PlaceNote(p))
		if !strings.Contains(got, want) || !strings.Contains(got, `data-at="`+p.at()+`"`) ||
			strings.Contains(got, "<b>") {
			t.Errorf("%q: %s", want, got)
		}
	}
	if (Place{From: 3, To: 3, Now: 3, NowTo: 3}).words() != "" {
		t.Error("a link whose lines stand where they stood needs no words")
	}
}

// Only what would do something is offered at a file and its hunks.
func TestApplicableOperations(t *testing.T) {
	for staged, want := range map[string]string{"": "stage discard revert", StagedPart: "stage unstage discard revert",
		StagedAll: "unstage revert"} {
		f := DiffFile{Staged: staged}
		var hunks []HunkOp
		for _, id := range []string{"stage", "unstage", "discard", "revert"} {
			f.Ops, hunks = append(f.Ops, FileOp{ID: id}), append(hunks, HunkOp{ID: id})
		}
		var atFile, atHunk []string
		for _, op := range f.fileOps() {
			atFile = append(atFile, op.ID)
		}
		for _, op := range f.hunkOps(hunks) {
			atHunk = append(atHunk, op.ID)
		}
		if got := strings.Join(atFile, " "); got != want || strings.Join(atHunk, " ") != want {
			t.Errorf("staged %q: a file offers %s, its hunks %v; want %s", staged, got, atHunk, want)
		}
	}
}
