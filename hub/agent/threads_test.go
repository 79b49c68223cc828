package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// An agent gets all parts of a thread: file, lines, their text, the comments with their authors,
// and whether it is resolved.
func TestFormatThreads(t *testing.T) {
	said := func(by, hunk, text string) ahp.AnnotationEntry {
		own, err := json.Marshal(map[string]any{"by": map[string]string{"name": by}, "hunk": hunk})
		if err != nil {
			t.Fatal(err)
		}
		return ahp.AnnotationEntry{Text: ahp.Markdown(text), Meta: ahp.Meta{"ahphub": own}}
	}
	lines := func(from, to int64) *ahp.TextRange {
		return &ahp.TextRange{Start: ahp.TextPosition{Line: from}, End: ahp.TextPosition{Line: to}}
	}
	for name, c := range map[string]struct {
		list []ahp.Annotation
		want string
	}{
		"none": {nil, ""},
		"a thread": {[]ahp.Annotation{{ID: "t1", Resource: "file:///w/a/b.go", Range: lines(2, 4),
			Entries: []ahp.AnnotationEntry{said("Ben", "x := 1\ny := 2", "Why?\n\nReally"),
				said("Ana", "", "Because.")}}},
			"\n**`a/b.go`**, lines 3–4, thread `t1`\n\n```diff\nx := 1\ny := 2\n```\n\n> Ben: Why?\n> \n> " +
				"Really\n\n> Ana: Because.\n\n"},
		"resolved, of a whole file elsewhere": {
			[]ahp.Annotation{{ID: "t2", Resource: "file:///v/c.go", Resolved: true,
				Entries: []ahp.AnnotationEntry{said("Ben", "", "Fine")}}},
			"\n**`/v/c.go`** (resolved), thread `t2`\n\n> Ben: Fine\n\n"},
		"a suggestion": {[]ahp.Annotation{{ID: "t3", Resource: "file:///w/a.go", Range: lines(4, 5),
			Entries: []ahp.AnnotationEntry{said("Ben", "a", "```suggestion\nb\n```")}}},
			"\n**`a.go`**, line 5, thread `t3`\n\n```diff\na\n```\n\n> Ben: ```suggestion\n> b\n> ```\n\n\nA block " +
				"marked `suggestion` says what the quoted lines should read instead.\n"},
	} {
		if got := Threads([]string{"/w"}, c.list); got != c.want {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, c.want)
		}
		for _, a := range c.list {
			if got := ThreadsForPeople([]string{"/w"}, c.list); strings.Contains(got, a.ID) {
				t.Errorf("%s: people are shown an id in\n%q", name, got)
			}
		}
	}
}
