package custom

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/texts"
)

// Command describes how an MCP server is started or reached, with unexpanded placeholders.
type Command struct {
	Argv    []string          `json:"argv,omitempty"` // started here
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"dir,omitempty"` // absolute
	URL     string            `json:"url,omitempty"` // or reached there
	Headers map[string]string `json:"headers,omitempty"`
	SSE     bool              `json:"sse,omitempty"` // by the older form of HTTP

	Workspace string `json:"-"` // directories that placeholders mean
	Plugin    string `json:"-"`
	As        string `json:"as"` // the directory it is trusted in
}

// Digest identifies the command for trust decisions: a changed command has another digest.
func (c Command) Digest() string {
	c.Dir = strings.Replace(c.Dir, c.Workspace, c.As, 1) // a work tree's is the same
	raw, _ := json.Marshal(c)                            // strings only
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// Shown returns the command for a person's trust decision, with only the names of variables and headers.
func (c Command) Shown() string {
	if c.URL != "" {
		return c.URL
	}
	quoted := make([]string, len(c.Argv))
	for i, a := range c.Argv {
		if quoted[i] = a; a == "" || strings.ContainsAny(a, " \t\n\"'\\$`;|&<>") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// Sets names the variables, or the headers, that are set for it.
func (c Command) Sets() []string {
	return slices.Sorted(maps.Keys(cmpMap(c.Headers, c.Env, c.URL != "")))
}

func cmpMap(a, b map[string]string, first bool) map[string]string {
	if first {
		return a
	}
	return b
}

// placeholder is ${NAME}, ${NAME:-otherwise}, ${env:NAME} or ${input:id}.
var placeholder = regexp.MustCompile(`\$\{(?:(env|input|config|command):)?([A-Za-z_][A-Za-z0-9_.-]*)(?::-([^}]*))?\}`)

// Expand puts values in the place of placeholders: directories, and variables that lookup knows. What cannot be filled in
// is an error.
func (c Command) Expand(lookup func(string) (string, bool)) (Command, error) {
	var failed error
	fill := func(s string) string {
		return placeholder.ReplaceAllStringFunc(s, func(m string) string {
			v, err := c.value(placeholder.FindStringSubmatch(m), lookup)
			failed = cmp.Or(failed, err)
			return v
		})
	}
	out := c
	out.Argv = slices.Clone(c.Argv)
	for i, a := range c.Argv {
		out.Argv[i] = fill(a)
	}
	out.Env, out.Headers = filled(c.Env, fill), filled(c.Headers, fill)
	out.Dir, out.URL = fill(c.Dir), fill(c.URL)
	return out, failed
}

func filled(m map[string]string, fill func(string) string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = fill(v)
	}
	return out
}

func (c Command) value(part []string, lookup func(string) (string, bool)) (string, error) {
	kind, name, otherwise := part[1], part[2], part[3]
	switch {
	case kind == "input":
		return "", fmt.Errorf("it asks for the input %q, which ahphub does not support. Set a variable and use ${env:NAME}", name)
	case kind == "config" || kind == "command":
		return "", fmt.Errorf("it uses %s, which only editors support", part[0])
	case kind == "":
		if dir, ok := c.directory(name); ok {
			return dir, nil
		}
	}
	if v, ok := lookup(name); ok {
		return v, nil
	}
	if strings.Contains(part[0], ":-") {
		return otherwise, nil
	}
	return "", fmt.Errorf("it needs the variable %s, which is not set for this host", name)
}

func (c Command) directory(name string) (string, bool) {
	switch name {
	case "workspaceFolder", "CLAUDE_PROJECT_DIR":
		return c.Workspace, c.Workspace != ""
	case "workspaceFolderBasename":
		return filepath.Base(c.Workspace), c.Workspace != ""
	case "PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT", "extensionPath":
		return c.Plugin, c.Plugin != ""
	}
	return "", false
}

// Reads names the variables of the host that its placeholders mean.
func (c Command) Reads() (names []string) {
	all := append([]string{c.Dir, c.URL}, c.Argv...)
	all = slices.AppendSeq(all, maps.Values(c.Env))
	all = slices.AppendSeq(all, maps.Values(c.Headers))
	for _, s := range all {
		for _, m := range placeholder.FindAllStringSubmatch(s, -1) {
			_, dir := c.directory(m[2])
			if (m[1] == "" && !dir || m[1] == "env") && !slices.Contains(names, m[2]) {
				names = append(names, m[2])
			}
		}
	}
	slices.Sort(names)
	return names
}

// declared is a server as the files write it.
type declared struct {
	Type    string            `json:"type"`
	Command json.RawMessage   `json:"command"` // a text, or a list
	Args    []string          `json:"args"`
	Env     map[string]any    `json:"env"`
	Cwd     string            `json:"cwd"`
	URL     string            `json:"url"`
	HTTPURL string            `json:"httpUrl"`
	Headers map[string]string `json:"headers"`
}

// servers reads the MCP servers of a file. In a plugin their names do not reach further than it.
func (s *search) servers(c config, plugin string) []Entry {
	if info, err := s.fs.Stat(c.file); err != nil || info.IsDir() {
		return nil
	}
	s.files--
	at := s.abs(c.file)
	broken := func(err error) []Entry {
		return []Entry{{ID: s.root.id(at, "mcp"), Kind: Server, Name: s.root.rel(at), Path: at, Problem: err.Error()}}
	}
	data, err := s.read(c.file, s.limits.Config, true)
	if err != nil {
		return broken(fmt.Errorf("%s", plain(err)))
	}
	list, err := inside(data, c.member)
	if list == nil && err == nil && plugin != "" {
		list, err = members(data) // some write them without the name around
	}
	if err != nil {
		return broken(fmt.Errorf("cannot be read: %w", err))
	}
	var out []Entry
	for _, m := range list {
		if len(out) >= s.limits.Entries {
			s.found.Over = true
			break
		}
		out = append(out, s.server(m, at, plugin))
	}
	return out
}

func (s *search) server(m member, at, plugin string) Entry {
	e := Entry{ID: s.root.id(at, "mcp:"+m.name), Kind: Server, Name: texts.ElideBytes(texts.OneLine(m.name), mostName), Path: at, Line: m.line}
	var d declared
	if err := json.Unmarshal(m.raw, &d); err != nil {
		e.Problem = "is not declared as a server is: " + texts.ElideBytes(texts.OneLine(err.Error()), 150)
		return e
	}
	c := &Command{Workspace: s.root.Dir, Plugin: plugin, As: cmp.Or(s.root.As, s.root.Dir)}
	if s.root.Place != Workspace {
		c.Workspace = ""
	}
	if e.Problem = d.fill(c); e.Problem == "" {
		if c.Dir = cmp.Or(d.Cwd, plugin, s.root.Dir); !filepath.IsAbs(c.Dir) && !strings.HasPrefix(c.Dir, "${") {
			c.Dir = filepath.Join(cmp.Or(plugin, s.root.Dir), c.Dir)
		}
		e.Command = c
	}
	return e
}

// fill takes a declaration over, and says what is wrong with it.
func (d declared) fill(c *Command) (problem string) {
	var one string
	if len(d.Command) > 0 && json.Unmarshal(d.Command, &one) == nil && one != "" {
		c.Argv = append([]string{one}, d.Args...)
	} else if len(d.Command) > 0 {
		var many []string
		if json.Unmarshal(d.Command, &many) == nil {
			c.Argv = append(many, d.Args...)
		}
	}
	c.Env, c.Headers = map[string]string{}, d.Headers
	for k, v := range d.Env {
		if v != nil {
			c.Env[k] = fmt.Sprint(v)
		}
	}
	c.URL, c.SSE = cmp.Or(d.HTTPURL, d.URL), d.Type == "sse"
	switch {
	case len(c.Argv) == 0 && c.URL == "":
		return "says neither a command nor a url"
	case len(c.Argv) > 0:
		c.URL = ""
		return ""
	}
	if u, err := url.Parse(c.URL); !strings.Contains(c.URL, "${") && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return problemf("is at %q, which is no address of a server: it begins with http:// or https://", c.URL)
	}
	return ""
}
