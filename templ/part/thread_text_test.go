package part

import (
	"strings"
	"testing"
)

func TestCalledAreMarked(t *testing.T) {
	people := []string{"Ana", "Ana Maria", "O'Neil"}
	for text, want := range map[string]string{
		"@Ana, look":                `<p><span class="called">@Ana</span>, look</p>`,
		"@ana maria!":               `<p><span class="called">@ana maria</span>!</p>`,
		"`@Ana` <b>@Ana</b>":        `<p><code>@Ana</code> &lt;b&gt;<span class="called">@Ana</span>&lt;/b&gt;</p>`,
		"[@Ana](https://x.example)": "@Ana</a>",
		"mail@ana.example":          "mail@",
		"nobody @ all":              "<p>nobody @ all</p>",
	} {
		if got := markCalled(Markdown(text), people); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := markCalled("x@", people); got != "x@" {
		t.Error(got)
	}
}

func TestSuggestionsAreSmallDiffs(t *testing.T) {
	for name, c := range map[string]struct {
		old   string
		lines []string
		want  []string
	}{
		"a word": {"a := 1", []string{"a := 2"}, []string{`<div class="suggest-del">a := <b>1</b></div>`,
			`<div class="suggest-add">a := <b>2</b></div>`}},
		"deletes":        {"a\nb", nil, []string{`<div class="suggest-del">a</div>`, `<div class="suggest-del">b</div>`}},
		"text, not HTML": {"<script>", []string{"<img onerror=x>"}, []string{"&lt;", "onerror"}},
		"nothing":        {"a", []string{"a"}, []string{"already match the suggestion"}},
	} {
		html := drawn(t, SuggestionRows(NewSuggestion("t/1/0", c.old, c.lines)))
		for _, w := range c.want {
			if !strings.Contains(html, w) {
				t.Errorf("%s: %q is missing in %s", name, w, html)
			}
		}
		if strings.Contains(html, "<script") || strings.Contains(html, "<img") {
			t.Errorf("%s: %s", name, html)
		}
	}
}

func TestVerdictsInWords(t *testing.T) {
	for want, v := range map[string]Verdict{
		"Ana approved":         {By: "Ana", Kind: "approve"},
		"Ben requests changes": {By: "Ben", Kind: "changes"},
		"You request changes":  {By: "You", Kind: "changes"},
		"cleared: 3 files changed": {Kind: "approve", End: "withdrawn", Changed: []string{"a", "b"},
			More: 1},
		"cleared: the approved files changed": {Kind: "approve", End: "withdrawn"},
		"dismissed":                           {By: "Ben", End: "dismissed", EndBy: "Ben"},
		"dismissed by Ana":                    {By: "Ben", End: "dismissed", EndBy: "Ana"},
		"replaced by a newer review":          {By: "Ben", End: "replaced"},
	} {
		got := v.Words()
		if v.End != "" {
			got = v.Ended()
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
