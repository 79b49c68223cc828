package machine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ServerCommand describes how an MCP server is started or reached, with unexpanded placeholders.
type ServerCommand struct {
	Argv    []string          `json:"argv,omitempty"` // started here
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"dir,omitempty"` // absolute
	URL     string            `json:"url,omitempty"` // or reached there
	Headers map[string]string `json:"headers,omitempty"`
	SSE     bool              `json:"sse,omitempty"` // by the older form of HTTP

	// directories that placeholders mean; not part of the digest
	Workspace string `json:"-" cbor:"workspace"`
	Plugin    string `json:"-" cbor:"plugin"`
	As        string `json:"as"` // the directory it is trusted in
}

// Digest identifies the command for trust decisions: a changed command has another digest.
func (c ServerCommand) Digest() string {
	c.Dir = strings.Replace(c.Dir, c.Workspace, c.As, 1) // a worktree's is the same
	raw, _ := json.Marshal(c)                            // strings only
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// Shown returns the command for a person's trust decision, with only the names of variables and headers.
func (c ServerCommand) Shown() string {
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
func (c ServerCommand) Sets() []string {
	return slices.Sorted(maps.Keys(firstMap(c.Headers, c.Env, c.URL != "")))
}

func firstMap(a, b map[string]string, first bool) map[string]string {
	if first {
		return a
	}
	return b
}

// placeholder is ${NAME}, ${NAME:-otherwise}, ${env:NAME} or ${input:id}.
var placeholder = regexp.MustCompile(`\$\{(?:(env|input|config|command):)?([A-Za-z_][A-Za-z0-9_.-]*)(?::-([^}]*))?\}`)

// Expand puts values in the place of placeholders: directories, and variables that lookup knows. A placeholder
// without a value is an error.
func (c ServerCommand) Expand(lookup func(string) (string, bool)) (ServerCommand, error) {
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
	out.Env, out.Headers = fillAll(c.Env, fill), fillAll(c.Headers, fill)
	out.Dir, out.URL = fill(c.Dir), fill(c.URL)
	return out, failed
}

func fillAll(m map[string]string, fill func(string) string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = fill(v)
	}
	return out
}

func (c ServerCommand) value(part []string, lookup func(string) (string, bool)) (string, error) {
	kind, name, otherwise := part[1], part[2], part[3]
	switch {
	case kind == "input":
		return "", fmt.Errorf("it asks for the input %q, which ahphub does not support. "+
			"Set a variable and use ${env:NAME}", name)
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
	return "", fmt.Errorf("it needs the variable %s, which is not set on this server", name)
}

func (c ServerCommand) directory(name string) (string, bool) {
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
func (c ServerCommand) Reads() (names []string) {
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
