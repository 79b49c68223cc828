package host

import (
	"context"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// newDirs validates the directories of a session. An agent without multipleWorkingDirectories gets
// only the first (AHP requirement 82).
func (h *Host) newDirs(ctx context.Context, session ahp.URI, provider string, uris []ahp.URI) ([]ahp.URI, error) {
	if len(uris) == 0 && h.cfg.DefaultDir != "" {
		uris = []ahp.URI{core.FileURI(h.cfg.DefaultDir)}
	}
	if many := h.agents.Info(provider).Capabilities; len(uris) > 1 &&
		(many == nil || many.MultipleWorkingDirectories == nil) {
		uris = uris[:1]
	}
	dirs := make([]ahp.URI, 0, len(uris))
	for _, uri := range uris {
		path, err := h.existingDir(ctx, uri)
		if err != nil {
			return nil, err
		}
		if err := h.checkPlace(ctx, session, "workingDirectories", path); err != nil {
			return nil, err
		}
		if err := h.allows(provider, path); err != nil {
			return nil, err
		}
		dirs = append(dirs, core.FileURI(path))
	}
	return dirs, nil
}

// allows checks a directory with agents that are confined to some directories.
func (h *Host) allows(provider, path string) error {
	if b, ok := h.agents.Get(provider).(agent.Confined); ok {
		if err := b.Allows(path); err != nil {
			return core.BadParams("workingDirectories: %s", err)
		}
	}
	return nil
}

// directoriesOf returns the local directories of a session.
func (h *Host) directoriesOf(ctx context.Context, session ahp.URI) ([]string, error) {
	if h.core.Catalogue.Alive(session) == nil {
		return nil, core.NoSession(session)
	}
	if err := h.core.Ensure(ctx, session); err != nil {
		return nil, core.NoSession(session)
	}
	return h.core.LocalDirs(session), nil
}

// existingDir returns the local path of an existing directory.
func (h *Host) existingDir(ctx context.Context, uri ahp.URI) (string, error) {
	path, ok := core.FilePath(uri)
	if !ok {
		return "", core.BadParams("workingDirectories: %.200q is not a file:// URI of this server", uri)
	}
	place := h.cfg.Machine.Files().Places(ctx, []string{path}, nil)[0]
	switch {
	case place.Closed != "":
		return "", core.BadParams("workingDirectories: %s", place.Closed)
	case !place.Exists:
		return "", core.BadParams("workingDirectories: %s does not exist or can't be read. Check the path", path)
	case !place.Dir:
		return "", core.BadParams("workingDirectories: %s is a file. Choose its directory", path)
	}
	return path, nil
}

func projectOf(dirs []ahp.URI) *ahp.ProjectInfo {
	if len(dirs) == 0 {
		return nil
	}
	path, _ := core.FilePath(dirs[0])
	return &ahp.ProjectInfo{URI: dirs[0], DisplayName: filepath.Base(path)}
}
