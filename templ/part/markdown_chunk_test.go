package part

import (
	"html"
	"regexp"
	"strings"
	"testing"
)

// Long code is split into chunks at line ends, even inside of a multi-line comment, and no character is lost.
func TestLongCodeIsInChunks(t *testing.T) {
	code := "package x\n\n/* a comment\n" + strings.Repeat("over many lines\n", 60) + "*/\n" +
		strings.Repeat("var a = \"<b>\" // why\n", 100)
	got := CodeBlock("go", code)
	if n := strings.Count(got, `<span class="code-chunk">`); n != 4 {
		t.Errorf("%d chunks of 40 lines in 164", n)
	}
	inner := got[strings.Index(got, "<code>")+6 : strings.Index(got, "</code>")]
	if text := html.UnescapeString(regexp.MustCompile(`</?span[^>]*>`).ReplaceAllString(inner, "")); text != code {
		t.Errorf("the text is another one:\n%s", text)
	}
	if !balanced(inner) {
		t.Error("an element goes over the end of a chunk")
	}
	if Markdown("```go\n"+code+"```\n") == "" || !strings.Contains(Markdown("```go\n"+code+"```\n"), `class="code-chunk"`) {
		t.Error("what cleans the page takes the chunks away")
	}
}
