package machine

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Files reads, writes and watches files of the computer. Each call says how far it may reach; nothing reaches the
// computer's own secrets, the hub's data, or the kernel's file systems. Errors are *ahp.Error where the caller can do
// something about it.
type Files interface {
	// Look finds what a URI stands for, links resolved: the most that can be granted when it is asked for.
	Look(ctx context.Context, uri ahp.URI) (FoundFile, error)

	// CheckOpen refuses a file that is out of reach to read, or to write. Nothing need be there yet.
	CheckOpen(ctx context.Context, reach FileReach, uri ahp.URI, write bool) error
	// Read reads a file of at most 16 MB.
	Read(ctx context.Context, reach FileReach, uri ahp.URI) (FileContent, error)
	// List lists a directory (AHP requirement 175).
	List(ctx context.Context, reach FileReach, uri ahp.URI) (ahp.ResourceListResult, error)
	// Resolve tells what a URI stands for (AHP requirement 178).
	Resolve(ctx context.Context, reach FileReach, uri ahp.URI, follow bool) (ahp.ResourceResolveResult, error)

	// Write writes into a file (AHP requirements 171 to 174).
	Write(ctx context.Context, reach FileReach, p ahp.ResourceWriteParams) error
	// Mkdir makes a directory and those above it (AHP requirement 179).
	Mkdir(ctx context.Context, reach FileReach, uri ahp.URI) error
	// Copy copies a file, a link or a whole directory (AHP requirement 176).
	Copy(ctx context.Context, reach FileReach, p ahp.ResourceCopyParams) error
	// Move renames, with the rules of Copy.
	Move(ctx context.Context, reach FileReach, p ahp.ResourceMoveParams) error
	// Delete removes a file, a link or a directory (AHP requirement 177).
	Delete(ctx context.Context, reach FileReach, uri ahp.URI, recursive bool) error

	// Watch begins to watch a file or directory; Run the watch, or Close it.
	Watch(ctx context.Context, reach FileReach, p ahp.CreateResourceWatchParams) (FileWatch, error)

	// RealPaths returns absolute paths with their links resolved, in order; "" for one that cannot be followed.
	RealPaths(ctx context.Context, paths []string) []string
	// Places returns what is at absolute paths, in order. Worktrees are as in FileReach.
	Places(ctx context.Context, paths, worktrees []string) []Place
	// IsWide reports whether one of some directories holds everything of its owner: the file system's root, a home
	// directory, or one above it.
	IsWide(ctx context.Context, dirs []string) bool
}

// FileReach says which files a call may reach. The zero value reaches none.
type FileReach struct {
	Roots     []string    // absolute directories
	Granted   []FileGrant // what the owner granted besides
	Worktrees []string    // sessions whose worktrees in the hub's data are among the roots
}

// FileGrant opens one file, or a directory with all below it.
type FileGrant struct {
	Path  string // absolute, with its links resolved
	Dir   bool
	Write bool
}

// FoundFile is what a URI stands for.
type FoundFile struct {
	Path   string // absolute, with its links resolved
	Dir    bool
	Closed string // why it is opened to no one; "" when it may be
}

// FileContent is what a file holds.
type FileContent struct {
	Data []byte
	Type string // media type
	Path string // where it was read, with links resolved: the caller may have to refuse it by that
}

// FileWatch receives the system's notifications of changes.
type FileWatch interface {
	// Run passes changes to tell, a batch at a time and never an empty one (AHP requirement 186), until ctx ends.
	Run(ctx context.Context, tell func([]ahp.ResourceChange))
	// Close ends a watch that does not run.
	Close() error
}

// Place is what is at a path.
type Place struct {
	Exists bool // false also when it cannot be read
	Dir    bool
	Closed string // why it is opened to no one; "" when it may be
}
