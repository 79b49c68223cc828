package custom

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// Short names for the types of hub/machine.
type (
	Kind    = machine.CustomKind
	Place   = machine.CustomPlace
	Root    = machine.CustomRoot
	Found   = machine.CustomFound
	Group   = machine.CustomGroup
	Entry   = machine.CustomEntry
	Command = machine.ServerCommand
)

// The kinds and places.
const (
	Agent  = machine.CustomAgent
	Skill  = machine.CustomSkill
	Prompt = machine.CustomPrompt
	Rule   = machine.CustomRule
	Hook   = machine.CustomHook
	Server = machine.CustomServer

	Workspace = machine.WorkspacePlace
	Home      = machine.HomePlace
	Own       = machine.OwnPlace
)

// entryID returns an ID that is the same after a restart, and in every session that sees the file.
func entryID(r Root, path, name string) string {
	if rel, err := filepath.Rel(r.Dir, path); err == nil && r.As != "" {
		path = filepath.Join(r.As, rel)
	}
	sum := sha256.Sum256([]byte(filepath.ToSlash(path) + "\x00" + name))
	return "c" + hex.EncodeToString(sum[:10])
}

// relPath returns a path relative to the root, as people write it.
func relPath(r Root, path string) string {
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
