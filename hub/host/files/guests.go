package files

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// Guests see files that git tracks or that the session changed. A link with all files also shows
// others, except those that git ignores. Keys, environments and git's own files are never shown to
// guests.

// read reads a file within reach. For guests, it checks both the named path and the path it leads
// to.
func (p *Part) read(ctx context.Context, c core.Caller, reach machine.FileReach, uri ahp.URI) (
	machine.FileContent, error,
) {
	if !c.IsGuest() {
		got, err := p.cfg.Files.Read(ctx, reach, uri)
		return got, p.withGrantHint(ctx, c, uri, false, err)
	}
	path, ok := core.FilePath(uri)
	if !ok {
		return machine.FileContent{}, core.BadParams("uri: %.200q is not a file:// URI", uri)
	}
	if err := p.checkGuestFile(ctx, c, path); err != nil {
		return machine.FileContent{}, err
	}
	got, err := p.cfg.Files.Read(ctx, reach, uri)
	if err != nil {
		return got, p.withGrantHint(ctx, c, uri, false, err)
	}
	if got.Path != path {
		if err := p.checkGuestFile(ctx, c, got.Path); err != nil {
			return machine.FileContent{}, err
		}
	}
	return got, nil
}

// checkGuestFile returns an error for a file that guests may not read. Missing files get the same
// error, so that guests do not learn which files exist.
func (p *Part) checkGuestFile(ctx context.Context, c core.Caller, path string) error {
	e := p.core.Catalogue.Alive(c.Session)
	switch {
	case e == nil || !c.Scope.IsWhole():
		return denyGuest(path, "it is not shared with you")
	case p.checkWide(ctx, core.LocalPaths(e.Summary.WorkingDirectories)):
		return denyGuest(path, "guests see no files of a session that works in a home directory or above")
	case access.IsPrivateName(path):
		return denyGuest(path, "keys, environments and git's own files are not shown to guests")
	}
	real, tracking, err := p.track(ctx, c.Session, path)
	switch {
	case err != nil || tracking == machine.Ignored:
		return denyGuest(path, ignoredOrMissing)
	case access.IsPrivateName(real):
		return denyGuest(path, "it leads to a file that is not shown to guests")
	case tracking == machine.Tracked || c.AllFiles || p.cfg.HasTouched(ctx, c.Session, real):
		return nil
	}
	return denyGuest(path, "git does not track it. Ask the owner for a link that shows all files")
}

const ignoredOrMissing = "git ignores it or it is not there"

func denyGuest(path, why string) error {
	return ahp.Errorf(ahp.CodePermissionDenied, "%.200s is not shared with you: %s", path, why)
}

// track returns a file's real path and git's status of it. Missing files count as ignored.
func (p *Part) track(ctx context.Context, session ahp.URI, path string) (string, machine.Tracking, error) {
	all := p.cfg.Files.RealPaths(ctx, append([]string{path}, p.core.LocalDirs(session)...))
	real, dirs := all[0], all[1:]
	for _, dir := range dirs {
		if dir == "" || real == "" {
			continue
		}
		if rel, err := filepath.Rel(dir, real); err == nil && filepath.IsLocal(rel) {
			tracking, err := p.cfg.Track(ctx, dir, real)
			return real, tracking, err
		}
	}
	return real, machine.Ignored, nil
}

// GuestNames filters files that git does not ignore by what a guest may read.
func (p *Part) GuestNames(ctx context.Context, c core.Caller, files []string) ([]string, error) {
	if !c.IsGuest() {
		return files, nil
	}
	dirs := p.core.LocalDirs(c.Session)
	if !c.Scope.IsWhole() || p.checkWide(ctx, dirs) {
		return nil, nil
	}
	tracked, err := p.cfg.TrackedFiles(ctx, dirs)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(files, func(path string) bool {
		_, found := slices.BinarySearch(tracked, path)
		return access.IsPrivateName(path) || !found && !c.AllFiles && !p.cfg.HasTouched(ctx, c.Session, path)
	}), nil
}
