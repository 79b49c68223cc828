package machine

import (
	"context"

	"github.com/ahphub/ahphub/hub/sandbox"
)

// Changes records, compares and writes files of sessions' directories, with git. Each call names a workspace, which
// says where repositories may be; one that leads elsewhere is refused with an *OutsideError. When the caller's files
// make a repository unreadable, the error is a Refusal. Paths are absolute.
type Changes interface {
	// Checkpoint stores the current content of directories. Unchanged content stays in the user's repository until Keep.
	Checkpoint(ctx context.Context, ws Workspace, dirs []string) (Checkpoint, error)
	// LookAtAll is Checkpoint for callers that a page or a client waits for.
	LookAtAll(ctx context.Context, ws Workspace, dirs []string) (Checkpoint, error)
	// Look is a Checkpoint that reads only the given paths, which a watch reported as written since the last one.
	Look(ctx context.Context, ws Workspace, dirs, paths []string) (Checkpoint, error)
	// Keep copies a checkpoint's content that is still in the user's repository.
	Keep(ctx context.Context, ws Workspace, c Checkpoint) error
	// Head returns the content of the last commit of each directory's repository; empty without one.
	Head(ctx context.Context, ws Workspace, dirs []string) (Checkpoint, error)
	// Branch returns the content at the commit where the checked-out branch began.
	Branch(ctx context.Context, ws Workspace, dirs []string) (Checkpoint, error)
	// Adopt copies what session from keeps of some directories to this session.
	Adopt(ctx context.Context, ws Workspace, from string, dirs []string) error
	// Drop deletes everything that is kept for a session.
	Drop(ctx context.Context, ws Workspace) error

	// Compare lists what differs between two checkpoints, by directory and path.
	Compare(ctx context.Context, ws Workspace, from, to Checkpoint) ([]ChangedFile, error)
	// Patch returns the differences between two checkpoints, or those of some files only, for git apply.
	Patch(ctx context.Context, ws Workspace, from, to Checkpoint, only ...ChangedFile) ([]byte, error)
	// Content returns a kept version of a file. Errors: ErrNoContent, ErrTooLarge.
	Content(ctx context.Context, ws Workspace, oid string) ([]byte, error)
	// Contents returns the versions of many files in one read. Read those it leaves out with Content.
	Contents(ctx context.Context, ws Workspace, oids []string) map[string][]byte

	// Watch watches directories, up to most folders. The error says what to do.
	Watch(ctx context.Context, ws Workspace, dirs []string, most int) (ChangesWatch, error)
	// CheckedOut returns what is checked out around a directory.
	CheckedOut(ctx context.Context, ws Workspace, dir string) (CheckedOut, error)
	// Staging reads the indexes of the directories' repositories.
	Staging(ctx context.Context, ws Workspace, dirs []string) (Staging, error)
	// Staged returns how many files users have staged in the directories' repositories.
	Staged(ctx context.Context, ws Workspace, dirs []string) (int, error)
	// IsCurrent reports whether a result that CheckedOut or Staging returned with stamp is up to date. It is fast.
	IsCurrent(ctx context.Context, stamp Stamp) bool
	// Files lists up to most files whose changes count.
	Files(ctx context.Context, ws Workspace, dirs []string, most int) ([]string, error)
	// Track returns how git treats a file of a directory; both paths have their links resolved.
	Track(ctx context.Context, ws Workspace, dir, path string) (Tracking, error)
	// TrackedFiles lists what git tracks in the repositories of directories, sorted.
	TrackedFiles(ctx context.Context, ws Workspace, dirs []string) ([]string, error)
	// Refs lists up to most branches and tags around a directory whose names contain query, newest first.
	Refs(ctx context.Context, ws Workspace, dir, query string, most int) ([]Ref, error)

	// PlanRevert returns the Rewrite that undoes the changes of files between two checkpoints, or only some lines of one
	// file. Later edits of other lines are kept. It writes to the session's own repository only. Errors: ErrConflict.
	PlanRevert(ctx context.Context, ws Workspace, tops []Tree, files []ChangedFile, lines *Lines) (Rewrite, error)
	// PlanDiscard returns the Rewrite that restores files to their staged content, or else to their committed content.
	PlanDiscard(ctx context.Context, ws Workspace, tops []Tree, files []ChangedFile, lines *Lines) (Rewrite, error)
	// CarryOut writes a planned Rewrite: all of it or, with ErrConflict, nothing.
	CarryOut(ctx context.Context, ws Workspace, r Rewrite) error
	// TakeBack undoes what CarryOut or Edit wrote: all of it or, with ErrConflict, nothing.
	TakeBack(ctx context.Context, ws Workspace, r Rewrite) error
	// CanTakeBack reports whether all files still are as CarryOut or Edit left them. It is fast.
	CanTakeBack(ctx context.Context, ws Workspace, r Rewrite) bool
	// Texts reads files of directories for editing. Errors: ErrConflict.
	Texts(ctx context.Context, ws Workspace, dirs, paths []string) ([]Text, error)
	// Edit rewrites texts: all of them or, with an error, none. It returns the Rewrite for TakeBack. Errors: ErrConflict,
	// and ErrStale for a text that changed since it was read.
	Edit(ctx context.Context, ws Workspace, dirs []string, edits []TextEdit) (Rewrite, error)

	// Stage adds changes to the indexes, like git add, and returns the number of files.
	Stage(ctx context.Context, ws Workspace, tops []Tree, files []ChangedFile, lines *Lines) (int, error)
	// Unstage resets the indexes to the last commit: of files, or without files of everything below the directories.
	Unstage(ctx context.Context, ws Workspace, tops []Tree, files []ChangedFile, lines *Lines) (int, error)
	// Commit commits what is staged, or all of files when nothing is. Errors: ErrConflict, *RefusedError.
	Commit(ctx context.Context, ws Workspace, tops []Tree, files []ChangedFile, c Commit) (Committed, error)
	// CreateBranch creates a branch in each repository and checks it out; files and index stay unchanged.
	CreateBranch(ctx context.Context, ws Workspace, tops []Tree, name string) error

	// AddWorktree creates a worktree, and returns the path of n.Dir in it. Errors: ErrConflict.
	AddWorktree(ctx context.Context, ws Workspace, n NewWorktree) (w Worktree, dir string, err error)
	// MergeWorktree merges a worktree's branch back, and returns the number of commits. Errors: ErrConflict.
	MergeWorktree(ctx context.Context, ws Workspace, w Worktree) (commits int, err error)
	// Standing returns how far a worktree is ahead of the branch that it was created from.
	Standing(ctx context.Context, ws Workspace, w Worktree) (WorktreeStanding, error)
	// RemoveWorktree removes a worktree and its branch; without force, only if nothing is lost. Errors: ErrConflict.
	RemoveWorktree(ctx context.Context, ws Workspace, w Worktree, force bool) error
}

// ChangesWatch reports writes in watched directories.
type ChangesWatch interface {
	// Written is closed when watching ends. While the receiver is slow, writes are merged.
	Written() <-chan Written
	// Err returns why watching ended, or nil after its context or Close ended it. Call it once Written is closed.
	Err() error
	// Close stops watching and waits until it has stopped.
	Close()
}

// Workspace names the session of a call of Changes, and the directories where its repositories may be.
type Workspace struct {
	Session string
	Dirs    []string  // where the repositories may be, besides the directory that is read
	Granted []Outside // places outside to which the owner allows repositories to lead

	Sandboxed bool            // the session's programs run in a sandbox: nothing they write may run outside
	Sandbox   *sandbox.Policy // limits git, with its hooks and filters, when a person acts; nil: no limits
}

// Outside is a place outside of a session's directories to which a repository leads.
type Outside struct {
	By   string // the file or link that leads there
	Path string // its target, links resolved; shown to the owner only
}

// Stamp identifies a state of some files; it changes when they are written. Only the computer that made it can read it.
type Stamp map[string]string

// CheckedOut is what a directory's repository has checked out. Without branch and commit, there is no repository.
type CheckedOut struct {
	Branch string // "" when a commit is checked out
	Commit string // short; only without a branch
	Stamp  Stamp  // of the file that names it, present or not
}

// How much of a change is staged.
const (
	StagedPart = "part"
	StagedAll  = "all"
)

// Staging holds what the indexes of a session's worktrees contain of its uncommitted changes.
type Staging struct {
	Repositories int    // in the directories
	Files        int    // in which an index differs from the last commit
	Busy         string // an operation in progress in one of them, like "a merge"
	Stamp        Stamp  // of the indexes

	Tops map[string]map[string]StagedFile // by the worktree's top, then path
}

// StagedFile is a path whose index entry differs from the last commit; "" for a side without the file.
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

// Rewrite is a change of files that can be carried out and taken back. It is a document: store it as JSON. The content
// it names is kept with its session.
type Rewrite struct {
	Files []RewrittenFile `json:"files"`
}

// RewrittenFile is one path, with its content before and after.
type RewrittenFile struct {
	Dir  string      `json:"dir"`
	Top  string      `json:"top"`
	Path string      `json:"path"`
	Was  KeptContent `json:"was"`
	Left KeptContent `json:"left"`
}

// KeptContent is content that is kept byte for byte; the zero value is no file.
type KeptContent struct {
	Mode string `json:"mode,omitempty"`
	OID  string `json:"oid,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// Text is the current content of a file that can be edited.
type Text struct {
	Path string // absolute
	Data []byte
	Kept KeptContent // the stored form of Data
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
	Name    string // the author
	Email   string // "" for the address in git's configuration there
	Guest   bool   // without an Email, use an address of this computer
}

// Committed is a commit that was made.
type Committed struct {
	ID      string // short
	Branch  string // "" when none is checked out
	Subject string
	Files   int
}

// RefusedError reports that a hook, or git, rejected a commit, and its output.
type RefusedError struct{ Output string }

func (e *RefusedError) Error() string { return "git refused the commit:\n" + e.Output }

// Worktree is a session's own worktree, on its own branch. It is a document: store it as JSON.
type Worktree struct {
	Repo   string `json:"repo"`           // the top of the worktree it was created from
	Dir    string `json:"dir"`            // its own top
	Branch string `json:"branch"`         // its branch
	Into   string `json:"into,omitempty"` // the branch that Repo had checked out; "" for none
	Base   string `json:"base"`           // the commit where it begins
}

// GitBox is the name suffix of the sandbox in which git acts on repositories outside the reach of a session's programs.
const GitBox = ".git"

// NewWorktree describes a worktree to create.
type NewWorktree struct {
	Dir    string // a directory in the repository
	Name   string // of its directory among the hub's worktrees: one path element
	Branch string // a new branch
	Base   string // the branch, tag or commit where it begins; "" for what is checked out

	Sandbox *sandbox.Policy // of the worktree's session; nil: none
}

// WorktreeStanding is how far a worktree is ahead of the branch that it was created from.
type WorktreeStanding struct {
	Commits     int // of its branch that are not in Into; 0 when its branch is gone
	Uncommitted int // files
	Gone        bool
}

// Ref is a branch or tag where a worktree can begin.
type Ref struct {
	Name  string // short, without refs/heads/
	About string // when it last changed, and by what
}

// Tracking says how git treats a file.
type Tracking int

// The values of Tracking. Ignored includes a file that does not exist.
const (
	Ignored Tracking = iota
	Untracked
	Tracked
)

// Written describes writes in watched directories.
type Written struct {
	Paths []string // of files, each once
	Whole bool     // anything may have changed
	Bases bool     // commits or branches may have changed
}
