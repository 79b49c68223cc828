package part

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/changeset/diff"
)

// ReviewScripts returns the scripts of a page with a review, in order of dependency.
func ReviewScripts() []string {
	return []string{"js/review.js", "js/review-lines.js", "js/review-comments.js", "js/hunks.js"}
}

// DiffFile is one file of a review. It has no data that differs between viewers: drafts and rights
// are rendered elsewhere, so one patch serves all viewers.
type DiffFile struct {
	ID      string // the file's id in the changeset, sent by forms
	Base    string // path of the review page, like "/s/ab12/changes"
	Query   string // selects this changeset, like "scope=session"
	Path    string
	OldPath string // set when renamed
	Status  DiffStatus
	Form    DiffForm
	Add     int
	Del     int
	OldMode string // as printed by git; set if it changed
	NewMode string
	OldSize int64 // bytes
	NewSize int64
	OldURL  string // address of the old picture, for images
	NewURL  string

	OldPixels, NewPixels diff.Pixels

	Staged string   // for uncommitted changes: StagedPart, StagedAll, or "" if nothing is staged
	Ops    []FileOp // operations on files of this changeset; shared by all files

	Tag        string // a note about the origin of the change
	Reviewed   bool
	ReviewedBy string            // name of who set the mark
	Stale      bool              // changed since its review
	Done       map[string]string // reviewers of hunks by key; nil if the whole file is reviewed
	Fold       string            // why the rows are not in the page ("12,400 changed lines"); "" if they are
	Shut       bool              // rows are in the page, but folded
	Versions   string            // object ids of both sides, for permalinks: "old new", "-" for none

	Depth   int // in the tree
	Diff    *diff.File
	Moved   []Moved  // moved blocks, in the order of diff.Moves
	Threads []Thread // all threads of the file: below their lines, or outdated ones at the head
	Note    string   // shown instead of rows, for example if the content cannot be read
}

// DiffStatus is how a file changed.
type DiffStatus string

const (
	DiffAdded    DiffStatus = "added"
	DiffModified DiffStatus = "modified"
	DiffDeleted  DiffStatus = "deleted"
	DiffRenamed  DiffStatus = "renamed"
)

// DiffForm is how the content is shown.
type DiffForm string

const (
	DiffText      DiffForm = ""
	DiffBinary    DiffForm = "binary"
	DiffImage     DiffForm = "image"
	DiffSymlink   DiffForm = "symlink"
	DiffSubmodule DiffForm = "submodule"
)

// DiffView is how a reader views diffs.
type DiffView struct {
	Split  bool
	Syntax Syntax
	Links  bool            // line numbers are links that open a comment form, for use without JavaScript
	Form   templ.Component // an open comment form, below the line FormAt
	FormAt string
	Ops    []HunkOp // operations on hunks; rendered if Links is set
	Whole  bool     // the page shows only this file: long lines are not cut
}

// Key returns the file's name in the DOM: short, stable, and valid in ids and fragments.
func (f *DiffFile) Key() string { return DiffKey(f.ID) }

// DiffKey hashes a changeset's file id, which may contain any character, to twelve hex digits.
func DiffKey(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:6])
}

// Href returns the address of the file's own page.
func (f *DiffFile) Href() string { return f.Base + "/file/" + f.Key() + "?" + f.Query }

// open counts the unresolved threads.
func (f *DiffFile) open() int {
	n := 0
	for i := range f.Threads {
		if !f.Threads[i].Resolved {
			n++
		}
	}
	return n
}

// head returns the threads above the rows: on the whole file, or outdated; all threads if no rows are shown.
func (f *DiffFile) head() []Thread {
	var out []Thread
	for _, t := range f.Threads {
		if t.Outdated || t.To == 0 || f.Diff == nil || f.Fold != "" || f.Note != "" {
			out = append(out, t)
		}
	}
	return out
}

// dir and name split the path, since the name is what readers look for.
func (f *DiffFile) dir() string  { return f.Path[:strings.LastIndexByte(f.Path, '/')+1] }
func (f *DiffFile) name() string { return f.Path[strings.LastIndexByte(f.Path, '/')+1:] }

func (s DiffStatus) word() string {
	switch s {
	case DiffAdded:
		return "Added"
	case DiffDeleted:
		return "Deleted"
	case DiffRenamed:
		return "Renamed"
	}
	return "Modified"
}

// StatusSign returns the status as one character.
func (f *DiffFile) StatusSign() string { return f.Status.sign() }

func (s DiffStatus) sign() string {
	switch s {
	case DiffAdded:
		return "+"
	case DiffDeleted:
		return "−"
	case DiffRenamed:
		return "→"
	}
	return "±"
}

// Count formats n with commas between thousands.
func Count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Size formats a number of bytes.
func Size(n int64) string {
	switch {
	case n < 1<<10:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1<<20:
		return strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64) + " KB"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MB"
}

// Rows counts the rows of a file, for SyntaxFor.
func (f *DiffFile) Rows() int {
	if f.Diff == nil {
		return 0
	}
	n := 0
	for i := range f.Diff.Hunks {
		n += len(f.Diff.Hunks[i].Rows)
	}
	return n
}

// threadsWord returns the noun after the number of open threads.
func threadsWord(n int) string {
	if n == 1 {
		return " open thread"
	}
	return " open threads"
}
