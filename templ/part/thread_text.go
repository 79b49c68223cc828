package part

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/changeset/diff"
)

// Piece is a part of a comment: Markdown, or a suggestion.
type Piece struct {
	Text    string
	Suggest *Suggestion
}

// Suggestion is a comment's proposed replacement of its lines, as a small diff.
type Suggestion struct {
	Ref  string // identifies it in a form
	Rows []diff.Row
}

// NewSuggestion compares the old lines with the proposed ones.
func NewSuggestion(ref, old string, lines []string) *Suggestion {
	s := &Suggestion{Ref: ref}
	text := ""
	if len(lines) > 0 {
		text = strings.Join(lines, "\n") + "\n"
	}
	if old != "" {
		old = strings.TrimSuffix(old, "\n") + "\n"
	}
	for _, h := range diff.Compute([]byte(old), []byte(text), diff.Options{}).Hunks {
		s.Rows = append(s.Rows, h.Rows...)
	}
	return s
}

// SuggestionRows renders the lines of a suggestion. Their classes differ from those of the review's
// rows, so that keys skip them.
func SuggestionRows(s *Suggestion) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, out io.Writer) error {
		b := []byte(`<div class="suggest-rows" role="group" aria-label="Suggested change">`)
		for _, r := range s.Rows {
			b = append(b, `<div class="`+[...]string{diff.Context: "suggest-same", diff.Add: "suggest-add", diff.Delete: "suggest-del"}[r.Kind]+
				`">`...)
			b = SyntaxNone.append(b, r.Text, r.Spans)
			b = append(b, "</div>"...)
		}
		if len(s.Rows) == 0 {
			b = append(b, `<div class="suggest-same">These lines already match the suggestion.</div>`...)
		}
		_, err := out.Write(append(b, "</div>"...))
		return err
	})
}

// ThreadText is Markdown of a comment as HTML, with those called in it marked; Markdown leaves nothing in that
// could run or load.
func ThreadText(text string, called []string) templ.Component {
	return templ.Raw(markCalled(Markdown(text), called))
}

// markCalled marks @Name in the text of HTML; code and links stay as they are.
func markCalled(html string, called []string) string {
	if len(called) == 0 || !strings.Contains(html, "@") {
		return html
	}
	var b strings.Builder
	quiet := 0 // elements without mentions
	for html != "" {
		at := strings.IndexByte(html, '<')
		if at < 0 {
			at = len(html)
		}
		if quiet > 0 {
			b.WriteString(html[:at])
		} else {
			writeCalled(&b, html[:at], called)
		}
		if html = html[at:]; html == "" {
			break
		}
		end := strings.IndexByte(html, '>') + 1
		if end == 0 {
			end = len(html)
		}
		tag := html[:end]
		b.WriteString(tag)
		html, quiet = html[end:], max(0, quiet+quieter(tag))
	}
	return b.String()
}

func quieter(tag string) int {
	for _, name := range []string{"a", "code", "pre"} {
		if strings.HasPrefix(tag, "</"+name+">") {
			return -1
		}
		if strings.HasPrefix(tag, "<"+name+" ") || strings.HasPrefix(tag, "<"+name+">") {
			return 1
		}
	}
	return 0
}

func writeCalled(b *strings.Builder, text string, called []string) {
	for {
		at := strings.IndexByte(text, '@')
		if at < 0 {
			break
		}
		b.WriteString(text[:at])
		n := 0
		for _, name := range called {
			if name = templ.EscapeString(name); len(name) > n && len(text) > at+len(name) &&
				strings.EqualFold(text[at+1:at+1+len(name)], name) {
				n = len(name)
			}
		}
		if n == 0 {
			b.WriteByte('@')
		} else {
			b.WriteString(`<span class="called">` + text[at:at+1+n] + `</span>`)
		}
		text = text[at+1+n:]
	}
	b.WriteString(text)
}
