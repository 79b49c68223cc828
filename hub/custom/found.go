package custom

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// Kind is the kind of an entry, in the protocol's words.
type Kind string

// The kinds.
const (
	Agent  Kind = "agent"
	Skill  Kind = "skill"
	Prompt Kind = "prompt"
	Rule   Kind = "rule"
	Hook   Kind = "hook"
	Server Kind = "mcpServer"
)

// Place is the origin of a root's files.
type Place string

// The places.
const (
	Workspace Place = "workspace" // a working directory: its files may be by any author
	Home      Place = "home"      // the user's own settings of agents
	Own       Place = "own"       // this host's data directory
)

// Root is a directory to look in.
type Root struct {
	Dir   string // absolute
	As    string // the directory that ids are made of, where Dir stands for another; "" is Dir
	Place Place
}

// Found holds the customizations of a root, in a fixed order.
type Found struct {
	Groups  []Group
	Servers []Entry // MCP servers that no plugin declares
	Over    bool    // there is more than is looked at

	folders []string // that were looked into
}

// Group is a plugin, or a directory of entries of one kind.
type Group struct {
	ID, Path, Name string
	Plugin         bool
	Version        string // of a plugin
	Contents       Kind   // of a directory
	Problem        string // why nothing could be read; entries have problems of their own
	Entries        []Entry
}

// Entry is one customization.
type Entry struct {
	ID          string
	Kind        Kind
	Name, Path  string
	Line        int // where in the file it is declared, from 1; 0 is the whole file
	Description string
	Model       string
	Tools       []string
	Globs       []string // files that a rule is for
	Always      *bool    // a rule that always applies, or does not
	NoModel     bool     // a model may not choose it by itself
	NoUser      bool     // a person cannot call it
	Problem     string   // why it cannot be used
	Command     *Command // of an MCP server
}

// id makes a handle that is the same after a restart, and in every session that sees the file.
func (r Root) id(path, name string) string {
	if rel, err := filepath.Rel(r.Dir, path); err == nil && r.As != "" {
		path = filepath.Join(r.As, rel)
	}
	sum := sha256.Sum256([]byte(filepath.ToSlash(path) + "\x00" + name))
	return "c" + hex.EncodeToString(sum[:10])
}

// rel is a path as people write it: relative to the root.
func (r Root) rel(path string) string {
	rel, err := filepath.Rel(r.Dir, path)
	if err != nil {
		return path
	}
	rel = filepath.ToSlash(rel)
	if r.Place == Home {
		return "~/" + rel
	}
	return cmp.Or(strings.TrimPrefix(rel, "./"), ".")
}
