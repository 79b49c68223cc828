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
	Argv    []string          `json:"argv,omitempty"` // to start it on this computer
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"dir,omitempty"` // absolute
	URL     string            `json:"url,omitempty"` // to reach it elsewhere
	Headers map[string]string `json:"headers,omitempty"`
	SSE     bool              `json:"sse,omitempty"` // with the older HTTP+SSE transport

	// directories for placeholders; not part of the digest
	Workspace string `json:"-" cbor:"workspace"`
	Plugin    string `json:"-" cbor:"plugin"`
	As        string `json:"as"` // the directory in which it is trusted
}

// Digest identifies the command for trust decisions: a changed command has a different digest.
func (c ServerCommand) Digest() string {
	c.Dir = strings.Replace(c.Dir, c.Workspace, c.As, 1) // the same in a worktree
	raw, _ := json.Marshal(c)                            // strings only
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// Shown returns the command for a person's trust decision, without the values of variables and headers.
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

// Sets returns the names of the variables, or of the headers, that the command sets.
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

// Expand replaces placeholders with directories, and with variables from lookup. A placeholder without a value is an
// error.
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

// Reads returns the names of the host's variables in its placeholders.
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
