package custom

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ahphub/ahphub/hub/texts"
)

const (
	mostName        = 100  // bytes
	mostDescription = 1000 // bytes
	mostListed      = 100  // globs or tools of one entry
)

// readMarkdown reads a file with frontmatter between lines of dashes; many have only text.
func readMarkdown(s *search, sp spot, file string) []Entry {
	return []Entry{s.markdown(sp.kind, file, nameOf(path.Base(file)))}
}

// readSkill reads the SKILL.md of a folder. The folder's name is the default for the skill's.
func readSkill(s *search, _ spot, file string) []Entry {
	e := s.markdown(Skill, file, path.Base(path.Dir(file)))
	if e.Problem == "" && e.Description == "" {
		e.Problem = "has no description, so no agent can tell when to use it"
	}
	return []Entry{e}
}

func (s *search) markdown(kind Kind, file, name string) Entry {
	at := s.abs(file)
	e := Entry{ID: entryID(s.root, at, string(kind)), Kind: kind, Name: name, Path: at}
	data, err := s.read(file, s.limits.Text, false)
	if err != nil {
		e.Problem = plain(err)
		return e
	}
	head, body, err := frontmatter(data)
	if err != nil {
		e.Problem = err.Error()
		return e
	}
	describe(&e, head, kind, name)
	if kind == Rule && e.Description == "" {
		e.Description = heading(body)
	}
	return e
}

// nameOf removes suffixes that only denote the kind of file.
func nameOf(file string) string {
	for _, end := range []string{".instructions.md", ".prompt.md", ".agent.md", ".chatmode.md", ".mdc", ".json"} {
		if name, ok := strings.CutSuffix(file, end); ok && name != "" {
			return name
		}
	}
	if strings.ToUpper(file) == strings.ToUpper(strings.TrimSuffix(file, ".md"))+".MD" && file[0] >= 'A' &&
		file[0] <= 'Z' {
		return file // AGENTS.md is called by that name
	}
	return strings.TrimSuffix(file, ".md")
}

var (
	fence = []byte("---")
	// bare matches patterns that some write without quotes, which YAML would misread.
	bare = regexp.MustCompile(`(?m)^(globs|applyTo):[ \t]*([*{!&@%][^\r\n]*?)[ \t]*(\r?)$`)
)

// frontmatter splits a file into head and body. Without a head, all is body.
func frontmatter(data []byte) (head map[string]any, body []byte, err error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || !bytes.Equal(bytes.TrimRight(first, " \t\r"), fence) {
		return nil, data, nil
	}
	raw, body, ok := cutFence(rest)
	if !ok {
		return nil, data, fmt.Errorf("its head has no end: put a line of three dashes after it")
	}
	quoted := bare.ReplaceAllFunc(raw, func(m []byte) []byte {
		part := bare.FindSubmatch(m)
		return fmt.Appendf(nil, "%s: '%s'%s", part[1], bytes.ReplaceAll(part[2], []byte("'"), []byte("''")), part[3])
	})
	if err := yaml.Unmarshal(quoted, &head); err != nil {
		return nil, body, fmt.Errorf("its head is no YAML: %s",
			texts.ElideBytes(texts.OneLine(strings.TrimPrefix(err.Error(), "yaml: ")), 200))
	}
	return head, body, nil
}

func cutFence(data []byte) (head, body []byte, ok bool) {
	for at := 0; at < len(data); {
		line, _, _ := bytes.Cut(data[at:], []byte("\n"))
		if bytes.Equal(bytes.TrimRight(line, " \t\r"), fence) {
			return data[:at], data[min(at+len(line)+1, len(data)):], true
		}
		at += len(line) + 1
	}
	return nil, nil, false
}

// describe copies what a head says; values of the wrong type are ignored.
func describe(e *Entry, head map[string]any, kind Kind, name string) {
	e.Name = name
	if kind != Rule {
		e.Name = texts.ElideBytes(texts.OneLine(first(text(head["name"]), name)), mostName)
	}
	e.Description = texts.ElideBytes(texts.OneLine(text(head["description"])), mostDescription)
	switch kind {
	case Agent:
		e.Model, e.Tools = texts.ElideBytes(texts.OneLine(text(head["model"])), mostName), list(head["tools"])
	case Rule:
		e.Globs = list(firstOf(head, "globs", "applyTo", "paths"))
		if always, ok := head["alwaysApply"].(bool); ok {
			e.Always = &always
		}
	}
	e.NoModel = head["disable-model-invocation"] == true
	e.NoUser = head["user-invocable"] == false
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// list returns the strings of a list, or of a text with commas.
func list(v any) (out []string) {
	add := func(s string) {
		if s = texts.ElideBytes(texts.OneLine(s), mostName*2); s != "" && len(out) < mostListed {
			out = append(out, s)
		}
	}
	switch v := v.(type) {
	case string:
		for _, s := range splitCommas(v) {
			add(s)
		}
	case []any:
		for _, x := range v {
			add(text(x))
		}
	}
	return out
}

// splitCommas splits at commas outside of braces and parentheses.
func splitCommas(s string) (out []string) {
	depth, from := 0, 0
	for i, c := range s {
		switch {
		case c == '{' || c == '(':
			depth++
		case c == '}' || c == ')':
			depth--
		case c == ',' && depth <= 0:
			out, from = append(out, s[from:i]), i+1
		}
	}
	return append(out, s[from:])
}

func firstOf(m map[string]any, keys ...string) any {
	for _, k := range keys {
		if m[k] != nil {
			return m[k]
		}
	}
	return nil
}

func first(a, b string) string {
	if strings.TrimSpace(a) != "" {
		return a
	}
	return b
}

// heading returns the first heading of a text.
func heading(body []byte) string {
	for line := range bytes.Lines(body) {
		if h, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("#")); ok {
			return texts.ElideBytes(texts.OneLine(strings.TrimLeft(string(h), "#")), 200)
		}
	}
	return ""
}
