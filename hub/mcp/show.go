package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/threads"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	pageOf      = 50       // threads listed by a call
	mostPreview = 400      // bytes of a comment in a list
	mostComment = 16 << 10 // bytes of a comment shown alone
)

func (n *session) list(ctx context.Context, in listInput) (string, error) {
	all, err := n.box.Threads(ctx)
	if err != nil {
		return "", err
	}
	wanted, err := n.filterOf(in)
	if err != nil {
		return "", err
	}
	var found []*ahp.Annotation
	for i := range all {
		if wanted(&all[i]) {
			found = append(found, &all[i])
		}
	}
	total := count(len(found), in)
	if in.Offset < 0 || in.Offset >= len(found) {
		return "There are " + total + ".", nil
	}
	page := found[in.Offset:min(in.Offset+pageOf, len(found))]
	var b strings.Builder
	b.WriteString(total)
	if len(page) < len(found) {
		fmt.Fprintf(&b, ", here %d to %d", in.Offset+1, in.Offset+len(page))
	}
	b.WriteString(":\n")
	cache := n.newFileCache()
	for _, a := range page {
		n.line(ctx, &b, cache, a)
	}
	if rest := len(found) - in.Offset - len(page); rest > 0 {
		fmt.Fprintf(&b, "\n%d more: call again with offset %d.\n", rest, in.Offset+len(page))
	}
	return b.String(), nil
}

// count returns the number and kind of the comments in words.
func count(n int, in listInput) string {
	kind, on := cmp.Or(in.Status, "open")+" ", ""
	if in.Status == "all" {
		kind = ""
	}
	if in.File != "" {
		on = " on " + in.File
	}
	switch n {
	case 0:
		return "no " + kind + "comments" + on
	case 1:
		return "1 " + kind + "comment" + on
	}
	return fmt.Sprintf("%d %scomments%s", n, kind, on)
}

func (n *session) filterOf(in listInput) (func(*ahp.Annotation) bool, error) {
	if in.Status != "" && in.Status != "open" && in.Status != "resolved" && in.Status != "all" {
		return nil, host.Refusal("status is open, resolved or all")
	}
	file := strings.TrimPrefix(in.File, "./")
	return func(a *ahp.Annotation) bool {
		status := "open"
		if a.Resolved {
			status = "resolved"
		}
		name := n.box.FileName(a.Resource)
		byName := file == "" || name == file || strings.HasSuffix(file, "/"+name)
		return byName && (in.Status == "all" || status == in.Status || in.Status == "" && !a.Resolved)
	}, nil
}

// line writes a thread of a list: its location, beginning and status.
func (n *session) line(ctx context.Context, b *strings.Builder, l *fileCache, a *ahp.Annotation) {
	fmt.Fprintf(b, "\n- id %s: %s%s\n", a.ID, n.placeNow(ctx, l, a), state(a))
	first, last := a.Entries[0], a.Entries[len(a.Entries)-1]
	fmt.Fprintf(b, "  %s: %s\n", who(first), indent(clip(first.Text.Text, mostPreview)))
	if more := len(a.Entries) - 1; more > 0 {
		fmt.Fprintf(b, "  (%d more; the last by %s: %s)\n", more, who(last), indent(clip(last.Text.Text, mostPreview)))
	}
}

func (n *session) get(ctx context.Context, in getInput) (string, error) {
	a, err := n.thread(ctx, in.ID)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n", n.placeNow(ctx, n.newFileCache(), &a), state(&a))
	if st, _ := core.ReadStamp(a.Entries[0].Meta); st.Hunk != "" {
		b.WriteString("\nIt is about:\n" + block("", st.Hunk) + "\n")
	}
	for _, e := range a.Entries {
		st, _ := core.ReadStamp(e.Meta)
		fmt.Fprintf(&b, "\n%s, %s:\n%s\n", who(e), st.At.Format("2006-01-02 15:04"), clip(e.Text.Text, mostComment))
	}
	return b.String(), nil
}

func who(e ahp.AnnotationEntry) string {
	st, ok := core.ReadStamp(e.Meta)
	if !ok || st.By.Name == "" {
		return "somebody"
	}
	if strings.HasPrefix(st.By.ID, "agent:") {
		return st.By.Name + " (the agent)"
	}
	return st.By.Name
}

func state(a *ahp.Annotation) string {
	if a.Resolved {
		return ", resolved"
	}
	return ""
}

// place returns where a comment was written.
func (n *session) place(a *ahp.Annotation) string {
	st, _ := core.ReadStamp(a.Entries[0].Meta)
	return n.box.FileName(a.Resource) + where(rangeOf(a, st.Hunk))
}

func where(r review.Range) string {
	switch {
	case r.From == 0:
		return ""
	case r.From == r.To:
		return fmt.Sprintf(", line %d", r.From)
	}
	return fmt.Sprintf(", lines %d to %d", r.From, r.To)
}

// rangeOf returns the lines of a comment, 1-based and inclusive. Clients disagree about an end at a
// line's first character, so the number of quoted lines counts; without a quote such an end means
// the line before.
func rangeOf(a *ahp.Annotation, quote string) review.Range {
	if a.Range == nil {
		return review.Range{}
	}
	r := threads.WholeLines(*a.Range)
	if quote != "" {
		r.To = r.From + strings.Count(quote, "\n")
	}
	return r
}

// fileCache caches the files of one answer.
type fileCache struct {
	files     map[ahp.URI][]string // nil lines: not readable as text
	bytesLeft int                  // remaining bytes to read
}

const mostLooked = 32 << 20

func (n *session) newFileCache() *fileCache {
	return &fileCache{files: map[ahp.URI][]string{}, bytesLeft: mostLooked}
}

// placeNow returns where a comment's lines are in the current file, if they can be found.
func (n *session) placeNow(ctx context.Context, l *fileCache, a *ahp.Annotation) string {
	st, _ := core.ReadStamp(a.Entries[0].Meta)
	was, name := rangeOf(a, st.Hunk), n.box.FileName(a.Resource)
	if was.From == 0 {
		return name + " (the whole file)"
	}
	if st.Side == before {
		return name + where(was) + " of the side before"
	}
	lines := n.lines(ctx, l, a.Resource)
	if lines == nil || st.Hunk == "" {
		return name + where(was)
	}
	now, how := review.Find(lines, st.Hunk, was)
	if how == review.Outdated {
		return name + where(was) + " when it was written; these lines are gone"
	}
	return name + where(now)
}

func (n *session) lines(ctx context.Context, l *fileCache, uri ahp.URI) []string {
	if lines, known := l.files[uri]; known || l.bytesLeft <= 0 {
		return lines
	}
	var lines []string
	if text, err := n.box.TextNow(ctx, uri); err == nil {
		lines = review.Lines(text)
		l.bytesLeft -= len(text)
	}
	l.files[uri] = lines
	return lines
}

// block formats a fenced block whose fence is longer than any in s.
func block(lang, s string) string {
	f := agent.Fence(s, 3)
	if s = strings.TrimSuffix(s, "\n"); s != "" {
		s += "\n"
	}
	return f + lang + "\n" + s + f
}

func indent(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") }

// clip truncates a comment, with a note.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return texts.CutBytes(s, most) + " … (cut: it is longer)"
}

// cut truncates an answer.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return texts.CutBytes(s, most) + "\n\n(The answer was cut off here: it is too long.)"
}

// width returns the length of a line in UTF-16 code units, as the protocol counts.
func width(line string) int64 {
	if len(line) == utf8.RuneCountInString(line) {
		return int64(len(line))
	}
	return int64(len(utf16.Encode([]rune(line))))
}

// sentence capitalizes s and ends it with a full stop.
func sentence(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	s = strings.ToUpper(string(r)) + s[size:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

func refusef(format string, args ...any) error { return host.Refusal(fmt.Sprintf(format, args...)) }
