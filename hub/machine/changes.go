package machine

import (
	"context"

	"github.com/ahphub/ahphub/hub/sandbox"
)

// Changes records what the directories of sessions hold, compares and writes it, with git. Each call says whose
// repositories it is about and where they may lie; what leads elsewhere is refused with an *OutsideError. A repository
// that cannot be read because of the caller's files is refused with an error that Refusal knows. Paths are absolute.
type Changes interface {
	// Checkpoint stores the current content of directories. What is unchanged remains in the user's repository
	// until Keep.
	Checkpoint(ctx context.Context, ws Workspace, dirs []string) (Checkpoint, error)
	// LookAtAll is a Checkpoint that a page or a client waits for.
	LookAtAll(ctx context.Context, ws Workspace, dirs []string) (Checkpoint, error)
	// Look is a Checkpoint that reads only the files written since the last one, as a watch told of them.
	Look(ctx context.Context, ws Workspace, dirs, paths []string) (Checkpoint, error)
	// Keep copies a checkpoint's content that is still in the user's repository.
	Keep(ctx context.Context, ws Workspace, c Checkpoint) error
	// Head returns the content of the last commit of each directory's repository; empty without one.
	Head(ctx context.Context, ws Workspace, dirs []string) (Checkpoint, error)
	// Branch returns what the branch that is checked out began as.
	Branch(ctx context.Context, ws Workspace, dirs []string) (Checkpoint, error)
	// Adopt stores with a session what another one keeps of some directories.
	Adopt(ctx context.Context, ws Workspace, from string, dirs []string) error
	// Drop deletes everything that is kept of a session.
	Drop(ctx context.Context, ws Workspace) error

	// Compare lists what differs between two checkpoints, by directory and path.
	Compare(ctx context.Context, ws Workspace, from, to Checkpoint) ([]ChangedFile, error)
	// Patch returns the differences between two checkpoints, or those of some files only, for git apply.
	Patch(ctx context.Context, ws Workspace, from, to Checkpoint, only ...ChangedFile) ([]byte, error)
	// Content returns a kept version of a file. Errors: ErrNoContent, ErrTooLarge.
	Content(ctx context.Context, ws Workspace, oid string) ([]byte, error)
	// Contents returns the versions of many files, read at once: those that it does not return are read by Content.
	Contents(ctx context.Context, ws Workspace, oids []string) map[string][]byte

	// Watch watches directories, at most the given number of folders. The error says what to do.
	Watch(ctx context.Context, ws Workspace, dirs []string, most int) (ChangesWatch, error)
	// CheckedOut returns what is checked out around a directory.
	CheckedOut(ctx context.Context, ws Workspace, dir string) (CheckedOut, error)
	// Staging reads the indexes of the directories' repositories.
	Staging(ctx context.Context, ws Workspace, dirs []string) (Staging, error)
	// Staged returns how many files people have staged there.
	Staged(ctx context.Context, ws Workspace, dirs []string) (int, error)
	// IsCurrent reports whether what CheckedOut or Staging returned with a stamp still holds. It is fast.
	IsCurrent(ctx context.Context, stamp Stamp) bool
	// Files lists up to most files whose changes count.
	Files(ctx context.Context, ws Workspace, dirs []string, most int) ([]string, error)
	// Track returns what git makes of a file of a directory, both with their links resolved.
	Track(ctx context.Context, ws Workspace, dir, path string) (Tracking, error)
	// TrackedFiles lists what git tracks in the repositories of directories, sorted.
	TrackedFiles(ctx context.Context, ws Workspace, dirs []string) ([]string, error)
	// Refs lists up to most branches and tags around a directory whose names contain query, newest first.
	Refs(ctx context.Context, ws Workspace, dir, query string, most int) ([]Ref, error)

	// PlanRevert returns what undoes the changes of files between two checkpoints, or only some lines of one file.
	// Later edits of other lines are kept. Nothing is written but to the session's own repository. Errors: ErrConflict.
	PlanRevert(ctx context.Context, ws Workspace, tops []Tree, files []ChangedFile, lines *Lines) (Rewrite, error)
	// PlanDiscard returns what puts files back to what is staged, or committed where nothing is.
	PlanDiscard(ctx context.Context, ws Workspace, tops []Tree, files []ChangedFile, lines *Lines) (Rewrite, error)
	// CarryOut writes what was planned: all of it or, with ErrConflict, nothing.
	CarryOut(ctx context.Context, ws Workspace, r Rewrite) error
	// TakeBack undoes what CarryOut or Edit wrote: all of it or, with ErrConflict, nothing.
	TakeBack(ctx context.Context, ws Workspace, r Rewrite) error
	// CanTakeBack reports whether everything is as it was left. It is quick.
	CanTakeBack(ctx context.Context, ws Workspace, r Rewrite) bool
	// Texts reads files of directories, to edit them. Errors: ErrConflict.
	Texts(ctx context.Context, ws Workspace, dirs, paths []string) ([]Text, error)
	// Edit rewrites texts: all of them or, with an error, none. It returns how to take that back. Errors:
	// ErrConflict, and ErrStale for a text that is not what was read.
	Edit(ctx context.Context, ws Workspace, dirs []string, edits []TextEdit) (Rewrite, error)

	// Stage adds changes to the indexes, as git add would, and returns of how many files.
	Stage(ctx context.Context, ws Workspace, tops []Tree, files []ChangedFile, lines *Lines) (int, error)
	// Unstage puts the indexes back to the last commit; without files everything below the worktrees' directories.
	Unstage(ctx context.Context, ws Workspace, tops []Tree, files []ChangedFile, lines *Lines) (int, error)
	// Commit commits what is staged, or when nothing is all of these files. Errors: ErrConflict, *RefusedError.
	Commit(ctx context.Context, ws Workspace, tops []Tree, files []ChangedFile, c Commit) (Committed, error)
	// CreateBranch makes a branch in each repository and checks it out; files and index stay.
	CreateBranch(ctx context.Context, ws Workspace, tops []Tree, name string) error

	// AddWorktree makes a worktree, and returns where its directory is in it. Errors: ErrConflict.
	AddWorktree(ctx context.Context, ws Workspace, n NewWorktree) (w Worktree, dir string, err error)
	// MergeWorktree merges a worktree's branch back, and returns how many commits that were. Errors: ErrConflict.
	MergeWorktree(ctx context.Context, ws Workspace, w Worktree) (commits int, err error)
	// Standing returns how far a worktree is from where it came from.
	Standing(ctx context.Context, ws Workspace, w Worktree) (WorktreeStanding, error)
	// RemoveWorktree removes a worktree and its branch; without force, only when nothing is lost. Errors: ErrConflict.
	RemoveWorktree(ctx context.Context, ws Workspace, w Worktree, force bool) error
}

// ChangesWatch tells of what is written in directories.
type ChangesWatch interface {
	// Written is closed when watching ends. While the receiver is slow, writes are gathered.
	Written() <-chan Written
	// Err returns why watching ended, nil when its context or Close ended it. Call it after Written was closed.
	Err() error
	// Close ends watching, and waits.
	Close()
}

// Workspace says whose repositories a call of Changes is about, and where they may lie.
type Workspace struct {
	Session string
	Dirs    []string  // directories in which the repositories may lie, besides the one that is read
	Granted []Outside // where the owner allows repositories to lead besides

	Sandboxed bool            // its programs are in a sandbox: what they write makes nothing run outside
	Sandbox   *sandbox.Policy // what git is kept from when a person acts, with its hooks and filters; nil: nothing
}

// Outside is a place outside of a session's directories that a repository leads to.
type Outside struct {
	By   string // the file or link that leads there
	Path string // where it leads, links resolved; for the owner alone
}

// Stamp names a state of some files by what changes when they are written to. It is the computer's to read.
type Stamp map[string]string

// CheckedOut is what a directory's repository has checked out. Without a branch or commit, there is no repository.
type CheckedOut struct {
	Branch string // "" when it is a commit
	Commit string // short, when no branch is
	Stamp  Stamp  // of the file that says so, or that would
}

// How much of a change is staged.
const (
	StagedPart = "part"
	StagedAll  = "all"
)

// Staging holds what the indexes of a session's worktrees contain of its uncommitted changes.
type Staging struct {
	Repositories int    // among the directories
	Files        int    // in which an index differs from the last commit
	Busy         string // what is in progress in one of them, as in "a merge"
	Stamp        Stamp  // of the indexes

	Tops map[string]map[string]StagedFile // by worktree's top, then path
}

// StagedFile is a path in which an index differs from the last commit: git's names of both sides, "" for none.
type StagedFile struct {
	HeadMode, HeadOID string
	Mode, OID         string
	Unmerged          bool
}

// Of returns how much of an uncommitted change is staged: "", StagedPart or StagedAll.
func (s Staging) Of(f ChangedFile) string {
	x := s.Tops[f.Top]
	if x == nil {
		return ""
	}
	i, new := x[f.Path]
	if i.Unmerged {
		return ""
	}
	o, old := x[f.OldPath]
	switch all := new && i.Mode == f.NewMode && i.OID == f.NewOID && (f.OldPath == "" || old && o.Mode == ""); {
	case all:
		return StagedAll
	case new || old && f.OldPath != "":
		return StagedPart
	}
	return ""
}

// Rewrite is a change of files that can be carried out, and taken back. It is a document: store it as JSON. The content
// that it names is kept with its session.
type Rewrite struct {
	Files []RewrittenFile `json:"files"`
}

// RewrittenFile is one path: what stands there before, and what is left.
type RewrittenFile struct {
	Dir  string      `json:"dir"`
	Top  string      `json:"top"`
	Path string      `json:"path"`
	Was  KeptContent `json:"was"`
	Left KeptContent `json:"left"`
}

// KeptContent is content that is kept byte for byte; the zero value is nothing.
type KeptContent struct {
	Mode string `json:"mode,omitempty"`
	OID  string `json:"oid,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// Text is a file that can be edited, as it is now.
type Text struct {
	Path string // absolute
	Data []byte
	Kept KeptContent // what Data is
}

// TextEdit is the new content of a file.
type TextEdit struct {
	Path string      // as of the Text
	Was  KeptContent // of the Text that Data was made from
	Data []byte
}

// Commit describes a requested commit.
type Commit struct {
	Message string
	Name    string // who wrote it
	Email   string // "" for the address that git is configured with there
	Guest   bool   // without an Email, use one of this computer
}

// Committed is a commit that was made.
type Committed struct {
	ID      string // short
	Branch  string // "" when none is checked out
	Subject string
	Files   int
}

// RefusedError says that a hook, or git, did not let a commit through, and what it printed.
type RefusedError struct{ Output string }

func (e *RefusedError) Error() string { return "git refused the commit:\n" + e.Output }

// Worktree is a worktree of a session's own, on a branch of its own. It is a document: store it as JSON.
type Worktree struct {
	Repo   string `json:"repo"`           // the top of the worktree it was made of
	Dir    string `json:"dir"`            // its own top
	Branch string `json:"branch"`         // its branch
	Into   string `json:"into,omitempty"` // the branch that Repo had checked out; "" for none
	Base   string `json:"base"`           // the commit it began at
}

// GitBox ends the name of the sandbox in which git acts on repositories that the programs of a session do not reach.
const GitBox = ".git"

// NewWorktree describes a worktree to make.
type NewWorktree struct {
	Dir    string // a directory of the repository it is made of
	Name   string // of its place among the hub's worktrees: one path element
	Branch string // a new branch
	Base   string // the branch, tag or commit where it begins; "" for what is checked out

	Sandbox *sandbox.Policy // of the session that it is made for; nil: none
}

// WorktreeStanding is how far a worktree is from where it came from.
type WorktreeStanding struct {
	Commits     int // of its branch that Into has not; 0 when there is no such branch
	Uncommitted int // files
	Gone        bool
}

// Ref is a branch or tag that a worktree can begin at.
type Ref struct {
	Name  string // short, as people say it
	About string // when it last changed, and by what
}

// Tracking is what git makes of a file.
type Tracking int

// A file is ignored, or not there; new to git; or tracked.
const (
	Ignored Tracking = iota
	Untracked
	Tracked
)

// Written says what was written in watched directories.
type Written struct {
	Paths []string // files, each once
	Whole bool     // everything may be different
	Bases bool     // commits or branches may be different
}
