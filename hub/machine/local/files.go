package local

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/resource"
)

// files implements machine.Files.
type files struct{ guard *guard.Guard }

// Files returns the files of this computer.
func (m *Machine) Files() machine.Files { return files{m.guard} }

func (f files) within(reach machine.FileReach) resource.Files {
	return resource.Files{FileReach: reach, Guard: f.guard}
}

func (f files) Look(_ context.Context, uri ahp.URI) (machine.FoundFile, error) {
	return resource.Look(uri, f.guard)
}

func (f files) CheckOpen(_ context.Context, reach machine.FileReach, uri ahp.URI, write bool) error {
	return f.within(reach).CheckOpen(uri, write)
}

func (f files) Read(_ context.Context, reach machine.FileReach, uri ahp.URI) (machine.FileContent, error) {
	return f.within(reach).Read(uri)
}

func (f files) List(_ context.Context, reach machine.FileReach, uri ahp.URI) (ahp.ResourceListResult, error) {
	return f.within(reach).List(uri)
}

func (f files) Resolve(_ context.Context, reach machine.FileReach, uri ahp.URI, follow bool) (
	ahp.ResourceResolveResult, error,
) {
	return f.within(reach).Resolve(uri, follow)
}

func (f files) Write(_ context.Context, reach machine.FileReach, p ahp.ResourceWriteParams) error {
	return f.within(reach).Put(p)
}

func (f files) Mkdir(_ context.Context, reach machine.FileReach, uri ahp.URI) error {
	return f.within(reach).Mkdir(uri)
}

func (f files) Copy(ctx context.Context, reach machine.FileReach, p ahp.ResourceCopyParams) error {
	return f.within(reach).Copy(ctx, p)
}

func (f files) Move(ctx context.Context, reach machine.FileReach, p ahp.ResourceMoveParams) error {
	return f.within(reach).Move(ctx, p)
}

func (f files) Delete(_ context.Context, reach machine.FileReach, uri ahp.URI, recursive bool) error {
	return f.within(reach).Delete(uri, recursive)
}

func (f files) Watch(_ context.Context, reach machine.FileReach, p ahp.CreateResourceWatchParams) (
	machine.FileWatch, error,
) {
	w, err := f.within(reach).Watch(p)
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (files) RealPaths(_ context.Context, paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			out[i] = real
		}
	}
	return out
}

func (f files) Places(_ context.Context, paths, worktrees []string) []machine.Place {
	out := make([]machine.Place, len(paths))
	for i, path := range paths {
		if info, err := os.Stat(path); err == nil {
			out[i].Exists, out[i].Dir = true, info.IsDir()
		}
		if err := f.guard.CheckPath(path, worktrees...); err != nil {
			out[i].Closed = guard.Reason(err)
		}
	}
	return out
}

func (files) IsWide(_ context.Context, dirs []string) bool { return guard.IsWide(dirs) }
