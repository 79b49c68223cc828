package machine

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Files reads, writes and watches files of the computer. Each call says which files it may reach. No call reaches the
// computer's secrets, the hub's data, or the kernel's file systems. Errors are *ahp.Error if the caller can act on
// them.
type Files interface {
	// Look returns the file that a URI names, links resolved: the most that a grant can open.
	Look(ctx context.Context, uri ahp.URI) (FoundFile, error)

	// CheckOpen refuses a file that is out of reach to read, or to write. The file need not exist.
	CheckOpen(ctx context.Context, reach FileReach, uri ahp.URI, write bool) error
	// Read reads a file of at most 16 MB.
	Read(ctx context.Context, reach FileReach, uri ahp.URI) (FileContent, error)
	// List lists a directory (AHP requirement 175).
	List(ctx context.Context, reach FileReach, uri ahp.URI) (ahp.ResourceListResult, error)
	// Resolve describes the file that a URI names (AHP requirement 178).
	Resolve(ctx context.Context, reach FileReach, uri ahp.URI, follow bool) (ahp.ResourceResolveResult, error)

	// Write writes to a file (AHP requirements 171 to 174).
	Write(ctx context.Context, reach FileReach, p ahp.ResourceWriteParams) error
	// Mkdir creates a directory and its parents (AHP requirement 179).
	Mkdir(ctx context.Context, reach FileReach, uri ahp.URI) error
	// Copy copies a file, a link or a whole directory (AHP requirement 176).
	Copy(ctx context.Context, reach FileReach, p ahp.ResourceCopyParams) error
	// Move renames a file, with the rules of Copy.
	Move(ctx context.Context, reach FileReach, p ahp.ResourceMoveParams) error
	// Delete removes a file, a link or a directory (AHP requirement 177).
	Delete(ctx context.Context, reach FileReach, uri ahp.URI, recursive bool) error

	// Watch starts watching a file or directory; Run the watch, or Close it.
	Watch(ctx context.Context, reach FileReach, p ahp.CreateResourceWatchParams) (FileWatch, error)

	// RealPaths returns absolute paths with their links resolved, in order; "" for one that cannot be followed.
	RealPaths(ctx context.Context, paths []string) []string
	// Places returns what exists at absolute paths, in order. Worktrees are as in FileReach.
	Places(ctx context.Context, paths, worktrees []string) []Place
	// IsWide reports whether one of dirs contains everything of its owner: the file system's root, a home directory, or a
	// parent of one.
	IsWide(ctx context.Context, dirs []string) bool
}

// FileReach says which files a call may reach. The zero value reaches none.
type FileReach struct {
	Roots     []string    // absolute directories
	Granted   []FileGrant // the owner's grants
	Worktrees []string    // sessions whose worktrees in the hub's data count as roots
}

// FileGrant opens one file, or a directory with everything below it.
type FileGrant struct {
	Path  string // absolute, with its links resolved
	Dir   bool
	Write bool
}

// FoundFile is the file that a URI names.
type FoundFile struct {
	Path   string // absolute, with its links resolved
	Dir    bool
	Closed string // why it can't be opened for anyone; "" when it can
}

// FileContent is the content of a file.
type FileContent struct {
	Data []byte
	Type string // media type
	Path string // where it was read, links resolved, so that the caller can refuse it
}

// FileWatch receives the system's notifications of changes.
type FileWatch interface {
	// Run passes changes to tell, in batches that are never empty (AHP requirement 186), until ctx ends.
	Run(ctx context.Context, tell func([]ahp.ResourceChange))
	// Close ends a watch that is not running.
	Close() error
}

// Place is what exists at a path.
type Place struct {
	Exists bool // also false when it cannot be read
	Dir    bool
	Closed string // why it can't be opened for anyone; "" when it can
}
