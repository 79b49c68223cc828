package review

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/templ/part"
)

// A review is exported in two self-contained forms: as Markdown to read and paste, and as a patch that git applies,
// with the comments between its files.

// ExportThreads serves GET /s/{session}/threads.md.
func (p *Pages) ExportThreads(w http.ResponseWriter, r *http.Request) error {
	v, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	m, _, err := p.review(r, v, l)
	if err != nil {
		return err
	}
	x := p.exported(r, v, l)
	x.threads = m.Threads
	h := w.Header()
	h.Set("Content-Type", "text/markdown; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+l.short+`-review.md"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(x.markdown()) // the client may have disconnected
	return nil
}

// exported returns the start of an export, as its reader sees it.
func (p *Pages) exported(r *http.Request, v site.Visit, l look) export {
	s := p.SessionFor(v.Who, v.Session)
	x := export{title: site.SessionTitle(s.Title), origin: site.OriginOf(r), base: l.base()}
	if v.Who.Scope.IsWhole() {
		x.verdicts = p.Verdicts(v.Session, s.WorkingDirectories)
	}
	return x
}

type export struct {
	title, origin, base string
	verdicts            []part.Verdict
	threads             []part.Thread
}

func (x *export) markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Review: %s\n\n<%s%s/changes>\n", site.EscapeInline(x.title), x.origin, x.base)
	x.writeVerdicts(&b)
	x.writeThreads(&b)
	return b.Bytes()
}

func (x *export) writeVerdicts(b *bytes.Buffer) {
	if len(x.verdicts) == 0 {
		return
	}
	b.WriteString("\n## Reviews\n")
	for _, v := range slices.Backward(x.verdicts) {
		fmt.Fprintf(b, "\n- **%s** on %s", site.EscapeInline(v.Words()), v.At.UTC().Format("2006-01-02 15:04 UTC"))
		if why := v.Ended(); why != "" {
			fmt.Fprintf(b, " (%s)", site.EscapeInline(why))
		}
		b.WriteByte('\n')
		if v.Summary != "" {
			b.WriteString("\n" + indented("  ", v.Summary) + "\n")
		}
		for _, f := range v.Changed {
			b.WriteString("  - " + asCode(f) + "\n")
		}
	}
}

func (x *export) writeThreads(b *bytes.Buffer) {
	open := 0
	for i := range x.threads {
		if !x.threads[i].Resolved {
			open++
		}
	}
	fmt.Fprintf(b, "\n## Threads\n\n%d open, %d resolved.\n", open, len(x.threads)-open)
	path := ""
	for _, t := range byFile(x.threads) {
		if t.Path != path {
			path = t.Path
			fmt.Fprintf(b, "\n### %s\n", asCode(path))
		}
		x.writeThread(b, t)
	}
}

// byFile sorts threads by file and position.
func byFile(list []part.Thread) []*part.Thread {
	out := make([]*part.Thread, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	slices.SortStableFunc(out, func(a, b *part.Thread) int {
		if c := diff.ComparePaths(a.Path, b.Path); c != 0 {
			return c
		}
		return a.From - b.From
	})
	return out
}

func (x *export) writeThread(b *bytes.Buffer, t *part.Thread) {
	fmt.Fprintf(b, "\n#### [%s](%s%s/changes#thread-%s) · %s\n", capital(t.Lines()), x.origin, x.base,
		url.PathEscape(t.ID), stateWord(t))
	if t.Quote != "" {
		b.WriteString("\n" + fenced(t.Quote) + "\n")
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		fmt.Fprintf(b, "\n> **%s**", site.EscapeInline(e.By))
		if !e.At.IsZero() {
			b.WriteString(" on " + e.At.UTC().Format("2006-01-02 15:04 UTC"))
		}
		b.WriteString("\n>\n" + indented("> ", e.Text) + "\n")
	}
}

func stateWord(t *part.Thread) string {
	switch {
	case t.Resolved:
		return "resolved"
	case t.Outdated:
		return "open, its lines no longer exist"
	case t.MovedFrom > 0:
		return fmt.Sprintf("open, written on line %d", t.MovedFrom)
	}
	return "open"
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// asCode formats a path as inline code, with more backticks than it contains.
func asCode(s string) string {
	marks := "`"
	for strings.Contains(s, marks) {
		marks += "`"
	}
	if len(marks) > 1 {
		return marks + " " + s + " " + marks
	}
	return marks + s + marks
}

func fenced(s string) string {
	marks := "```"
	for strings.Contains(s, marks) {
		marks += "`"
	}
	return marks + "\n" + strings.TrimSuffix(s, "\n") + "\n" + marks
}

func indented(with, text string) string {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(with+l, " ")
	}
	return strings.Join(lines, "\n")
}

// commented adds comments to a patch: verdicts before the first file, threads before their file. Git ignores lines
// between files unless they look like part of a patch, so every line of a comment begins with a bar.
func (p *Pages) commented(r *http.Request, v site.Visit, l look, patch []byte) ([]byte, error) {
	m, _, err := p.review(r, v, l)
	if err != nil {
		return nil, err
	}
	x := p.exported(r, v, l)
	x.threads = m.Threads
	return x.patch(patch), nil
}

func (x *export) patch(patch []byte) []byte {
	var b, said bytes.Buffer
	head := export{title: x.title, origin: x.origin, base: x.base, verdicts: x.verdicts}
	fmt.Fprintf(&said, "Review: %s\n%s%s/changes\n", x.title, x.origin, x.base)
	head.writeVerdicts(&said)
	barred(&b, said.String())
	left := byFile(x.threads)
	for _, file := range splitPatch(patch) {
		name := patchedPath(file)
		left = slices.DeleteFunc(left, func(t *part.Thread) bool {
			if name == "" || name != t.Path && !strings.HasSuffix(t.Path, "/"+name) &&
				!strings.HasSuffix(name, "/"+t.Path) {
				return false
			}
			x.bar(&b, t)
			return true
		})
		b.Write(file)
	}
	for _, t := range left { // of files that are not in the patch
		x.bar(&b, t)
	}
	return b.Bytes()
}

func (x *export) bar(b *bytes.Buffer, t *part.Thread) {
	var said bytes.Buffer
	x.writeThread(&said, t)
	barred(b, t.Path+"\n"+said.String())
}

func barred(b *bytes.Buffer, text string) {
	b.WriteString(indented("| ", strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r", " ")) + "\n|\n")
}

// splitPatch splits git's patch before each file.
func splitPatch(patch []byte) (files [][]byte) {
	mark := []byte("\ndiff --git ")
	for len(patch) > 0 {
		at := bytes.Index(patch, mark)
		if at < 0 {
			return append(files, patch)
		}
		files, patch = append(files, patch[:at+1]), patch[at+1:]
	}
	return files
}

// patchedPath returns the file's path from the first line of its part; "" when it is quoted or
// ambiguous.
func patchedPath(file []byte) string {
	first, _, _ := bytes.Cut(file, []byte("\n"))
	_, after, ok := bytes.Cut(first, []byte(" b/"))
	if !ok {
		return ""
	}
	return string(after)
}
