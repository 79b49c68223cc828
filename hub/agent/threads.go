package agent

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
)

// AboutThreads reports whether a turn is about review threads. Such a message is never executed,
// whatever its text, because it carries text of others.
func AboutThreads(t Turn) bool {
	for _, a := range t.Message.Attachments {
		if _, ok := a.Value.(*ahp.MessageAnnotationsAttachment); ok {
			return true
		}
	}
	return len(t.Threads) > 0
}

// Threads formats review threads as Markdown: the location, the id for tools, the quoted lines and
// the comments. Paths are relative to dirs, the session's directories.
func Threads(dirs []string, list []ahp.Annotation) string {
	return formatThreads(dirs, list, func(a ahp.Annotation) string { return ", thread " + Code(a.ID) })
}

// ThreadsForPeople formats review threads for a reader, who has no use for ids.
func ThreadsForPeople(dirs []string, list []ahp.Annotation) string {
	return formatThreads(dirs, list, func(ahp.Annotation) string { return "" })
}

func formatThreads(dirs []string, list []ahp.Annotation, id func(ahp.Annotation) string) string {
	var b strings.Builder
	for _, a := range list {
		fmt.Fprintf(&b, "\n**%s**%s%s%s\n\n", Code(fileName(dirs, a.Resource)), span(a.Range), resolvedMark(a), id(a))
		if hunk := quoteLines(a); hunk != "" {
			b.WriteString(CodeBlock("diff", hunk) + "\n")
		}
		for _, e := range a.Entries {
			b.WriteString(entry(e))
		}
	}
	if suggests(list) {
		b.WriteString("\nA block marked `suggestion` says what the quoted lines should read instead.\n")
	}
	return b.String()
}

// suggests reports whether a thread contains a suggestion.
func suggests(list []ahp.Annotation) bool {
	for _, a := range list {
		for _, e := range a.Entries {
			if strings.Contains(e.Text.Text, "```suggestion") {
				return true
			}
		}
	}
	return false
}

// CountThreads returns the number of threads in words.
func CountThreads(n int) string {
	switch n {
	case 0:
		return "review threads that are gone"
	case 1:
		return "one review thread"
	}
	return fmt.Sprintf("%d review threads", n)
}

func resolvedMark(a ahp.Annotation) string {
	if a.Resolved {
		return " (resolved)"
	}
	return ""
}

// span formats lines: the protocol counts from 0, people from 1.
func span(r *ahp.TextRange) string {
	if r == nil {
		return ""
	}
	from, to := r.Start.Line+1, r.End.Line+1
	if r.End.Character == 0 && to > from {
		to-- // the range ends before the line's first character
	}
	if to <= from {
		return fmt.Sprintf(", line %d", from)
	}
	return fmt.Sprintf(", lines %d–%d", from, to)
}

// stamp is the hub's record in an entry: its author and the text it is about.
type stamp struct {
	By   struct{ Name string }
	Hunk string
}

func stampOf(e ahp.AnnotationEntry) (s stamp) {
	_ = json.Unmarshal(e.Meta["ahphub"], &s) // other hosts' entries have none
	return s
}

func quoteLines(a ahp.Annotation) string {
	for _, e := range a.Entries {
		if h := stampOf(e).Hunk; h != "" {
			return h
		}
	}
	return ""
}

func entry(e ahp.AnnotationEntry) string {
	text := strings.TrimSpace(e.Text.Text)
	if name := stampOf(e).By.Name; name != "" {
		text = name + ": " + text
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ") + "\n\n"
}

// fileName returns the path of a resource for people: relative to the session's directory, without
// the parts that identify a stored version (ahp-blob:<path>?version=<id>).
func fileName(dirs []string, uri ahp.URI) string {
	u, err := url.Parse(uri)
	if err != nil {
		return uri
	}
	path := u.Path
	if old := u.Query().Get("path"); old != "" { // the former format of versions
		path = old
	}
	for _, d := range dirs {
		if rel, err := filepath.Rel(d, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}
