package custom

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub/texts"
)

// declared is the declaration of a server in a file.
type declared struct {
	Type    string            `json:"type"`
	Command json.RawMessage   `json:"command"` // a string or a list
	Args    []string          `json:"args"`
	Env     map[string]any    `json:"env"`
	Cwd     string            `json:"cwd"`
	URL     string            `json:"url"`
	HTTPURL string            `json:"httpUrl"`
	Headers map[string]string `json:"headers"`
}

// servers reads the MCP servers of a file. Names of a plugin's servers are local to the plugin.
func (s *search) servers(c config, plugin string) []Entry {
	if info, err := s.fs.Stat(c.file); err != nil || info.IsDir() {
		return nil
	}
	s.files--
	at := s.abs(c.file)
	broken := func(err error) []Entry {
		return []Entry{{ID: entryID(s.root, at, "mcp"), Kind: Server, Name: relPath(s.root, at), Path: at,
			Problem: err.Error()}}
	}
	data, err := s.read(c.file, s.limits.Config, true)
	if err != nil {
		return broken(fmt.Errorf("%s", plain(err)))
	}
	list, err := inside(data, c.member)
	if list == nil && err == nil && plugin != "" {
		list, err = members(data) // some omit the enclosing member
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
	e := Entry{ID: entryID(s.root, at, "mcp:"+m.name), Kind: Server,
		Name: texts.ElideBytes(texts.OneLine(m.name), mostName), Path: at, Line: m.line}
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

// fill copies a declaration into c, and returns what is wrong with it.
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
	if strings.Contains(c.URL, "${") {
		return ""
	}
	if u, err := url.Parse(c.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return problemf("is at %q, which is no address of a server: it begins with http:// or https://", c.URL)
	}
	return ""
}
