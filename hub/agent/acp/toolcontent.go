package acp

import (
	"strings"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/resource"
	"github.com/ahphub/ahphub/hub/texts"
)

const mostEmbedded = 1 << 20 // bytes of a picture in a call's output

// contents returns a call's output so far.
func (r *player) contents(c *call) []ahp.ToolResultContentValue {
	out := make([]ahp.ToolResultContentValue, 0, len(c.raw))
	if c.sub != nil && c.sub.note != nil {
		out = append(out, c.sub.note)
	}
	for _, t := range c.raw {
		switch t.Type {
		case "diff":
			out = append(out, r.editContent(c, t))
		case "terminal":
			if v := r.p.terms.content(t.TerminalID); v != nil {
				out = append(out, v)
			}
		case "content":
			if v := plainContent(t.Content); v != nil {
				out = append(out, v)
			}
		}
	}
	return out
}

func plainContent(b block) ahp.ToolResultContentValue {
	switch {
	case b.Type == "image" && len(b.Data) <= mostEmbedded:
		return &ahp.ToolResultEmbeddedResourceContent{Data: b.Data, ContentType: embeddedType(b)}
	case b.Type == "resource_link":
		return &ahp.ToolResultResourceContent{URI: b.URI, ContentType: b.MimeType}
	case b.Type == "resource" && b.Resource != nil && b.Resource.Text != "":
		return &ahp.ToolResultTextContent{Text: texts.ElideBytes(b.Resource.Text, mostText)}
	}
	if text := markdown(b); text != "" {
		return &ahp.ToolResultTextContent{Text: texts.ElideBytes(text, mostText)}
	}
	return nil
}

// editContent returns a changed file with its content before and after. The changes of a turn are
// computed from the disk regardless, never from an agent's report.
func (r *player) editContent(c *call, t toolContent) *ahp.ToolResultFileEditContent {
	key := t.Path + "\x00" + value(t.OldText) + "\x00" + t.NewText
	e, known := c.edits[key]
	if !known {
		before, after := r.versions(t)
		e = agent.EditOf(r.s.spec.Host, t.Path, before, after)
		a, b := middle(splitLines(value(t.OldText)), splitLines(t.NewText))
		e.Diff = &ahp.FileEditDiffStats{Added: ahp.Ptr(int64(len(b))), Removed: ahp.Ptr(int64(len(a)))}
		if c.edits == nil {
			c.edits = map[string]ahp.FileEdit{}
		}
		c.edits[key] = e
	}
	return &ahp.ToolResultFileEditContent{Before: e.Before, After: e.After, Diff: e.Diff}
}

// versions returns the file before and after an edit. Many programs send only the replaced lines:
// if these occur once in the file, the whole versions are returned.
func (r *player) versions(t toolContent) (before, after []byte) {
	after = []byte(t.NewText)
	if t.OldText == nil {
		return nil, after
	}
	old := *t.OldText
	got, err := r.s.files().Read(resource.URI(t.Path))
	if err != nil || !utf8.Valid(got.Data) {
		return []byte(old), after
	}
	file := string(got.Data)
	switch {
	case old != "" && strings.Count(file, old) == 1:
		return got.Data, []byte(strings.Replace(file, old, t.NewText, 1))
	case t.NewText != "" && strings.Count(file, t.NewText) == 1: // the edit was already made
		return []byte(strings.Replace(file, t.NewText, old, 1)), got.Data
	}
	return []byte(old), after
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// middle returns the lines between the common start and the common end.
func middle(a, b []string) (removed, added []string) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// unified returns a change for a card: removed and added lines with their location. The turn's
// changes have the exact difference later.
func unified(path, before, after string) string {
	const most = 100
	removed, added := middle(splitLines(before), splitLines(after))
	lines := []string{"--- " + path, "+++ " + path}
	for _, l := range removed {
		lines = append(lines, "-"+texts.ElideBytes(l, 500))
	}
	for _, l := range added {
		lines = append(lines, "+"+texts.ElideBytes(l, 500))
	}
	if len(lines) > most {
		lines = append(lines[:most], "…")
	}
	return strings.Join(lines, "\n")
}
