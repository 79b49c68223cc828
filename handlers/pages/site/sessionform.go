package site

import (
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/worktrees"
)

// ConfigOf converts the fields "config.<key>" by the schema's types.
func ConfigOf(form url.Values, schema ahp.SessionConfigSchema) ahp.Meta {
	out := ahp.Meta{}
	for key, prop := range schema.Properties {
		v, ok := form["config."+key]
		if !ok || v[0] == "" {
			continue
		}
		raw, err := json.Marshal(v[0])
		switch {
		case prop.Type == "boolean":
			raw, err = json.Marshal(v[0] == "true")
		case prop.Type == "number" && json.Valid([]byte(v[0])):
			raw = json.RawMessage(v[0]) // other text stays a string, which the host refuses with the setting's name
		}
		if err == nil {
			out[key] = raw
		}
	}
	return out
}

// FileURI returns the URI of a directory.
func FileURI(dir string) ahp.URI { return (&url.URL{Scheme: "file", Path: path.Clean(dir)}).String() }

// FirstOf returns the first of a list, or "".
func FirstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

const maxRecent = 8

// RecentDirs lists the directories of the newest sessions. A session's worktree is replaced by the directory it was
// created from, since no other session works in it.
func (st *Site) RecentDirs(list []ahp.SessionSummary) (out []string) {
	for _, s := range list {
		tree, isTree := worktrees.Of(st.SessionState(s.Resource))
		for _, d := range s.WorkingDirectories {
			dir, _ := core.FilePath(d)
			if below, err := filepath.Rel(tree.Dir, dir); isTree && err == nil && filepath.IsLocal(below) {
				dir = filepath.Join(tree.Repo, below)
			}
			if !slices.Contains(out, dir) && len(out) < maxRecent {
				out = append(out, dir)
			}
		}
	}
	return out
}
