package custom

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/texts"
)

// manifests are the possible paths of a plugin's manifest; the first that exists counts.
var manifests = []string{".plugin/plugin.json", ".claude-plugin/plugin.json", ".cursor-plugin/plugin.json"}

// part is a component of a plugin, at its usual place or where the manifest says.
type part struct {
	field, dir string
	spot       spot
}

var parts = []part{
	{"skills", "skills", spot{kind: Skill, read: readSkill}},
	{"agents", "agents", spot{kind: Agent, match: ".md", read: readMarkdown}},
	{"commands", "commands", spot{kind: Prompt, match: ".md", deep: true, read: readMarkdown}},
	{"rules", "rules", spot{kind: Rule, match: ".mdc", deep: true, read: readMarkdown}},
}

// plugins adds the installed plugins, and the root if it is a plugin itself.
func (s *search) plugins() {
	if s.root.Place == Workspace && s.manifest(".") != "" {
		s.found.Groups = append(s.found.Groups, s.plugin("."))
	}
	if !s.enter(pluginDirs) {
		return
	}
	f, err := s.fs.Open(pluginDirs)
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(1000) // as many as can be read
	slices.Sort(names)
	for i, name := range names {
		if i >= s.limits.Plugins {
			s.found.Over = true
			return
		}
		dir := path.Join(pluginDirs, name)
		if info, err := s.fs.Stat(dir); err == nil && info.IsDir() {
			s.found.Groups = append(s.found.Groups, s.plugin(dir))
		}
	}
}

func (s *search) manifest(dir string) string {
	for _, m := range manifests {
		file := path.Join(dir, m)
		if info, err := s.fs.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

// plugin reads a plugin. Its manifest may be absent.
func (s *search) plugin(dir string) Group {
	s.enter(dir)
	at := s.abs(dir)
	g := Group{ID: entryID(s.root, at, "plugin"), Path: at, Name: filepath.Base(at), Plugin: true, Entries: []Entry{}}
	var fields map[string]json.RawMessage
	if file := s.manifest(dir); file != "" {
		s.enter(path.Dir(file))
		fields, g.Problem = s.fields(file)
		g.Name = texts.ElideBytes(texts.OneLine(first(textOf(fields["name"]), g.Name)), mostName)
		g.Version = texts.ElideBytes(texts.OneLine(textOf(fields["version"])), mostName)
	}
	for _, p := range parts {
		for _, at := range s.paths(dir, fields[p.field], p.dir) {
			p.spot.dir = at
			list, _, problem := s.entries(p.spot)
			g.Entries, g.Problem = append(g.Entries, list...), first(g.Problem, problem)
		}
	}
	for _, file := range s.paths(dir, fields["hooks"], "hooks/hooks.json") {
		s.enter(path.Dir(file))
		if info, err := s.fs.Stat(file); err == nil && info.Mode().IsRegular() {
			g.Entries = append(g.Entries, readHooks(s, spot{}, file)...)
		}
	}
	for _, file := range s.paths(dir, fields["mcpServers"], ".mcp.json") {
		g.Entries = append(g.Entries, s.servers(config{file, "mcpServers"}, s.abs(dir))...)
	}
	if most := s.limits.Entries; len(g.Entries) > most {
		g.Entries, s.found.Over = g.Entries[:most], true
	}
	return g
}

func (s *search) fields(file string) (map[string]json.RawMessage, string) {
	data, err := s.read(file, s.limits.Config, true)
	if err != nil {
		return nil, "its manifest " + plain(err)
	}
	list, err := members(data)
	if err != nil {
		return nil, "its manifest cannot be read: " + err.Error()
	}
	out := map[string]json.RawMessage{}
	for _, m := range list {
		out[m.name] = m.raw
	}
	return out, ""
}

// paths returns the paths that a manifest names, or the usual one. It omits paths out of the
// plugin.
func (s *search) paths(dir string, raw json.RawMessage, usual string) []string {
	var one string
	var many []string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		many = []string{one}
	} else if json.Unmarshal(raw, &many) != nil || len(many) == 0 {
		many = []string{usual}
	}
	var out []string
	for _, p := range many[:min(len(many), 20)] {
		if p = path.Clean(strings.TrimSuffix(p, "/")); !path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../") {
			out = append(out, path.Join(dir, p))
		}
	}
	return out
}

func textOf(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // other types count as absent
	return s
}

// Plugin reads a directory of the root as a plugin; false if it does not exist.
func Plugin(root Root, dir string, limits Limits) (Group, bool) {
	limits = limits.withDefaults()
	rel, err := filepath.Rel(root.Dir, dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return Group{}, false
	}
	s := &search{root: root, limits: limits, files: limits.Files}
	if s.fs, err = os.OpenRoot(root.Dir); err != nil {
		return Group{}, false
	}
	defer s.fs.Close()
	if info, err := s.fs.Stat(filepath.ToSlash(rel)); err != nil || !info.IsDir() {
		return Group{}, false
	}
	return s.plugin(filepath.ToSlash(rel)), true
}
