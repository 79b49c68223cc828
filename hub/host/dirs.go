package host

import (
	"net/url"
	"os"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// newDirs checks that directories exist. An agent without multipleWorkingDirectories gets
// the first only (AHP requirement 82).
func (h *Host) newDirs(session ahp.URI, provider string, uris []ahp.URI) ([]ahp.URI, error) {
	if len(uris) == 0 && h.cfg.DefaultDir != "" {
		uris = []ahp.URI{FileURI(h.cfg.DefaultDir)}
	}
	if many := h.agentInfo(provider).Capabilities; len(uris) > 1 && (many == nil || many.MultipleWorkingDirectories == nil) {
		uris = uris[:1]
	}
	dirs := make([]ahp.URI, 0, len(uris))
	for _, uri := range uris {
		path, err := existingDir(uri)
		if err != nil {
			return nil, err
		}
		if err := h.checkPlace(session, "workingDirectories", path); err != nil {
			return nil, err
		}
		if err := h.allows(provider, path); err != nil {
			return nil, err
		}
		dirs = append(dirs, FileURI(path))
	}
	return dirs, nil
}

// allows asks an agent that works in some directories only.
func (h *Host) allows(provider, path string) error {
	if b, ok := h.cfg.Agents[provider].(agent.Confined); ok {
		if err := b.Allows(path); err != nil {
			return badParams("workingDirectories: %s", err)
		}
	}
	return nil
}

func existingDir(uri ahp.URI) (string, error) {
	path, ok := FilePath(uri)
	if !ok {
		return "", badParams("workingDirectories: %.200q is not a file:// URI of this machine", uri)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", badParams("workingDirectories: %s does not exist or cannot be read: check the path", path)
	case !info.IsDir():
		return "", badParams("workingDirectories: %s is a file: choose its directory", path)
	}
	return path, nil
}

// FileURI names a local path as a file URI.
func FileURI(path string) ahp.URI {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// FilePath is the absolute local path of a file URI.
func FilePath(uri ahp.URI) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return "", false
	}
	path := filepath.Clean(filepath.FromSlash(u.Path))
	return path, filepath.IsAbs(path)
}

func projectOf(dirs []ahp.URI) *ahp.ProjectInfo {
	if len(dirs) == 0 {
		return nil
	}
	path, _ := FilePath(dirs[0])
	return &ahp.ProjectInfo{URI: dirs[0], DisplayName: filepath.Base(path)}
}

func paths(uris []ahp.URI) (list []string) {
	for _, u := range uris {
		if p, ok := FilePath(u); ok {
			list = append(list, p)
		}
	}
	return list
}
