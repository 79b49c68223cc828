package machine

import (
	"path/filepath"
	"slices"
	"strings"
)

// Checkpoint is the content of a session's directories at one moment. It is a document: store it as
// JSON.
type Checkpoint struct {
	Trees []Tree `json:"trees"`
}

// Tree is one directory of a checkpoint.
type Tree struct {
	Dir     string        `json:"dir"`              // the session's name of its directory, cleaned
	Top     string        `json:"top"`              // the worktree's top; paths are relative to it
	Prefix  string        `json:"prefix,omitempty"` // Dir below Top, with slashes
	OID     string        `json:"oid"`
	Skipped []SkippedFile `json:"skipped,omitempty"` // existing files that are not stored, by path
}

// SkippedFile is a file that is listed but not stored.
type SkippedFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	Time int64  `json:"time"` // of the last write, in nanoseconds
	Why  string `json:"why"`
}

// Within limits a checkpoint to some directories, whose links are resolved. Limit a checkpoint that
// is compared with it in the same way.
func (c Checkpoint) Within(dirs []string) (out Checkpoint) {
	var roots []string
	for _, t := range c.Trees {
		roots = append(roots, filepath.Join(t.Top, filepath.FromSlash(t.Prefix)))
	}
	for i, t := range c.Trees {
		for _, d := range outermost(dirs) {
			switch root := roots[i]; {
			case liesIn(root, d):
				out.Trees = append(out.Trees, t)
			case deepestOf(d, roots) == root:
				out.Trees = append(out.Trees, t.below(d))
			}
		}
	}
	return out
}

// below limits a tree to a directory in it.
func (t Tree) below(dir string) Tree {
	rel, err := filepath.Rel(t.Top, dir)
	if err != nil {
		return t
	}
	t.Prefix = filepath.ToSlash(rel)
	t.Skipped = t.SkippedBelow(t.Prefix)
	return t
}

// SkippedBelow returns the files below a directory that are not stored; "" is the top.
func (t Tree) SkippedBelow(prefix string) []SkippedFile {
	if prefix == "" {
		return t.Skipped
	}
	return slices.DeleteFunc(slices.Clone(t.Skipped),
		func(s SkippedFile) bool { return !strings.HasPrefix(s.Path, prefix+"/") })
}

// outermost cleans directories and drops those inside another one, even repositories.
func outermost(dirs []string) (out []string) {
	for _, d := range dirs {
		out = append(out, filepath.Clean(d))
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(d string) bool {
		return slices.ContainsFunc(out, func(other string) bool { return other != d && liesIn(d, other) })
	})
}

// deepestOf returns the deepest of dirs that contains path, or "".
func deepestOf(path string, dirs []string) (deepest string) {
	for _, d := range dirs {
		if liesIn(path, d) && len(d) > len(deepest) {
			deepest = d
		}
	}
	return deepest
}

// liesIn reports whether path is dir or below it.
func liesIn(path, dir string) bool {
	return path == dir || strings.HasPrefix(path,
		strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// FileStatus is the kind of a change, as git's letter.
type FileStatus byte

// The kinds of change.
const (
	FileAdded    FileStatus = 'A'
	FileModified FileStatus = 'M'
	FileDeleted  FileStatus = 'D'
	FileRenamed  FileStatus = 'R'
	FileRetyped  FileStatus = 'T' // a file became a link, or similar
)

// Modes of files as git writes them.
const (
	ModeSymlink   = "120000"
	ModeSubmodule = "160000"
)

// ChangedFile is one changed file.
type ChangedFile struct {
	Top     string // the worktree; paths are below it, with slashes
	Path    string
	OldPath string // of a renamed file
	Status  FileStatus
	OldMode string // like 100644; "" on a side without the file
	NewMode string
	OldOID  string // blob, or commit of a submodule; "" on a side without the file or without stored content
	NewOID  string
	OldSize int64 // bytes
	NewSize int64

	Additions, Deletions int
	Binary               bool
	Generated            Generated
	Skipped              string // why the content is not stored; such a file has no object ids
}

// Name returns the absolute path of the file.
func (f ChangedFile) Name() string { return filepath.Join(f.Top, filepath.FromSlash(f.Path)) }

// OldName returns the absolute path of the file before the change.
func (f ChangedFile) OldName() string {
	if f.OldPath == "" {
		return f.Name()
	}
	return filepath.Join(f.Top, filepath.FromSlash(f.OldPath))
}

// Paths returns the paths that a change touches in its worktree: both names of a renamed file.
func (f ChangedFile) Paths() []string {
	if f.OldPath == "" {
		return []string{f.Path}
	}
	return []string{f.OldPath, f.Path}
}

// Generated says whether a repository's attributes mark a file as generated.
type Generated string

// Values of linguist-generated in .gitattributes; "" when it does not mention the file.
const (
	GeneratedYes Generated = "yes"
	GeneratedNo  Generated = "no"
)

// IsOID reports whether s can be the name of a git object.
func IsOID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// Lines is a range of lines of one side of a changed file, 1-based and inclusive.
type Lines struct {
	Before   bool // of the old side
	From, To int
}
