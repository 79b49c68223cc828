package files

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/resource"
)

// What guests see of files: those that git tracks or that the session changed. A link with all files shows the others as
// well, but for those that git ignores. Keys, environments and what is git's own are shown to no guest.

// IsWide reports whether a session works in a directory that holds everything of its owner. Guests read no files there.
func IsWide(dirs []ahp.URI) bool { return guard.IsWide(core.LocalPaths(dirs)) }

// guestFiles cuts what a guest reads of a session's files down. asked is the path they name.
func (pt *Part) guestFiles(ctx context.Context, c core.Caller, f resource.Files, asked ahp.URI) (resource.Files, error) {
	if !c.IsGuest() {
		return f, nil
	}
	path, err := resource.Path(asked)
	if err != nil {
		return resource.Files{}, err
	}
	if err := pt.checkGuestFile(ctx, c, path); err != nil {
		return resource.Files{}, err
	}
	f.Check = func(real string) error {
		if real == path {
			return nil
		}
		return pt.checkGuestFile(ctx, c, real)
	}
	return f, nil
}

// checkGuestFile refuses a file that is not a guest's to read. What is not there is refused alike: a guest does not learn
// which files are.
func (pt *Part) checkGuestFile(ctx context.Context, c core.Caller, path string) error {
	e := pt.core.Catalogue.Alive(c.Session)
	switch {
	case e == nil || !c.Scope.IsWhole():
		return notForGuests(path, "it is outside of what is shared with you")
	case IsWide(e.Summary.WorkingDirectories):
		return notForGuests(path, "guests see no files of a session that works in a home directory or above")
	case guard.IsPrivateName(path):
		return notForGuests(path, "keys, environments and git's own files are not shown to guests")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return notForGuests(path, ignoredOrMissing)
	}
	tracking, err := pt.track(ctx, c.Session, real)
	switch {
	case err != nil || tracking == changeset.Ignored:
		return notForGuests(path, ignoredOrMissing)
	case guard.IsPrivateName(real):
		return notForGuests(path, "it leads to a file that is not shown to guests")
	case tracking == changeset.Tracked || c.AllFiles || pt.cfg.HasTouched(ctx, c.Session, real):
		return nil
	}
	return notForGuests(path, "git does not track it. Ask the owner for a link that shows all files")
}

const ignoredOrMissing = "git ignores it or it is not there"

func notForGuests(path, why string) error {
	return ahp.Errorf(ahp.CodePermissionDenied, "%.200s is not shared with you: %s", path, why)
}

// track returns what git makes of a file of a session, wherever links lead it.
func (pt *Part) track(ctx context.Context, session ahp.URI, path string) (changeset.Tracking, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return changeset.Ignored, err
	}
	for _, dir := range pt.core.LocalDirs(session) {
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			continue
		}
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return pt.cfg.Track(ctx, dir, path)
		}
	}
	return changeset.Ignored, nil
}

// guestNames keeps the files that a guest may read, of those that git does not ignore.
func (pt *Part) GuestNames(ctx context.Context, c core.Caller, files []string) ([]string, error) {
	if !c.IsGuest() {
		return files, nil
	}
	dirs := pt.core.LocalDirs(c.Session)
	if !c.Scope.IsWhole() || guard.IsWide(dirs) {
		return nil, nil
	}
	tracked, err := pt.cfg.TrackedFiles(ctx, dirs)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(files, func(path string) bool {
		_, found := slices.BinarySearch(tracked, path)
		return guard.IsPrivateName(path) || !found && !c.AllFiles && !pt.cfg.HasTouched(ctx, c.Session, path)
	}), nil
}
