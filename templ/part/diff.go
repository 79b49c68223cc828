package part

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/changeset/diff"
)

// ReviewScripts are the scripts of a page with a review, each of which stands on those before it.
func ReviewScripts() []string {
	return []string{"js/review.js", "js/review-lines.js", "js/review-comments.js", "js/hunks.js"}
}

// DiffFile is one file of a review as it is drawn. It holds nothing that differs between the people looking at it:
// drafts and rights are drawn elsewhere, so the HTML of a patch serves them all.
type DiffFile struct {
	ID      string // the changeset's id of the file, sent back by forms
	Base    string // path of the review page, as in "/s/ab12/changes"
	Query   string // what selects this changeset, as in "scope=session"
	Path    string
	OldPath string // set when renamed
	Status  DiffStatus
	Form    DiffForm
	Add     int
	Del     int
	OldMode string // as git prints it, set when it changed
	NewMode string
	OldSize int64 // bytes
	NewSize int64
	OldURL  string // picture of the before side, for images
	NewURL  string

	OldPixels, NewPixels diff.Pixels

	Staged string   // of an uncommitted change: StagedPart or StagedAll, "" when none of it is
	Ops    []FileOp // what can be done with a file of this changeset; all files share them

	Tag        string // what is special about where the change came from
	Reviewed   bool
	ReviewedBy string            // who set the mark, for people
	Stale      bool              // changed since its review
	Done       map[string]string // hunks that are reviewed, by their keys, and by whom; nil when the file is as a whole
	Fold       string            // why the rows are not in the page ("12,400 changed lines"), "" when they are
	Shut       bool              // rows are in the page, folded
	Versions   string            // object ids of both sides, as a permalink carries them: "old new", "-" for none

	Depth   int // in the tree
	Diff    *diff.File
	Moved   []Moved  // blocks that were moved, as diff.Moves orders them
	Threads []Thread // every thread on the file; placed under their lines, the outdated at the head
	Note    string   // a sentence in place of rows, as when the content cannot be read
}

// DiffStatus says what happened to a file.
type DiffStatus string

const (
	DiffAdded    DiffStatus = "added"
	DiffModified DiffStatus = "modified"
	DiffDeleted  DiffStatus = "deleted"
	DiffRenamed  DiffStatus = "renamed"
)

// DiffForm says how the content is shown.
type DiffForm string

const (
	DiffText      DiffForm = ""
	DiffBinary    DiffForm = "binary"
	DiffImage     DiffForm = "image"
	DiffSymlink   DiffForm = "symlink"
	DiffSubmodule DiffForm = "submodule"
)

// DiffView is how a reader wants diffs drawn.
type DiffView struct {
	Split  bool
	Syntax Syntax
	Links  bool            // every line number is a link that opens a comment form: the way without JavaScript
	Form   templ.Component // an open comment form, drawn under the line FormAt names
	FormAt string
	Ops    []HunkOp // what can be done with a hunk; drawn where Links are
	Whole  bool     // the page shows this one file: long lines are not cut
}

// Key is the DOM name of the file: short, stable, safe in an id and a fragment.
func (f *DiffFile) Key() string { return DiffKey(f.ID) }

// DiffKey shortens a changeset's file id, which may hold any character, to twelve hex digits.
func DiffKey(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:6])
}

// Href is the page that shows this file alone.
func (f *DiffFile) Href() string { return f.Base + "/file/" + f.Key() + "?" + f.Query }

// open counts the threads that still want an answer.
func (f *DiffFile) open() int {
	n := 0
	for i := range f.Threads {
		if !f.Threads[i].Resolved {
			n++
		}
	}
	return n
}

// head are the threads that stand above the rows: on the whole file, or outdated; all when no rows are drawn.
func (f *DiffFile) head() []Thread {
	var out []Thread
	for _, t := range f.Threads {
		if t.Outdated || t.To == 0 || f.Diff == nil || f.Fold != "" || f.Note != "" {
			out = append(out, t)
		}
	}
	return out
}

// dir and name split the path for the eye: the name is what one looks for.
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

// StatusSign is the status as one character.
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

// Count writes n with thin spaces between thousands.
func Count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Size writes a number of bytes for people.
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

// threadsWord follows the number of a file's open threads.
func threadsWord(n int) string {
	if n == 1 {
		return " open thread"
	}
	return " open threads"
}
