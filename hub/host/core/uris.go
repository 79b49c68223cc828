package core

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path/filepath"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
)

// RootInfo describes the root channel.
var RootInfo = hub.ChannelInfo{URI: ahp.RootURI, Kind: ahp.ChannelRoot}

// SessionInfo describes the channel of a session.
func SessionInfo(uri ahp.URI) hub.ChannelInfo {
	return hub.ChannelInfo{URI: uri, Kind: ahp.ChannelSession, Session: uri}
}

// AnnotationsURI returns the channel of a session's threads.
func AnnotationsURI(session ahp.URI) ahp.URI { return session + "/annotations" }

// NewSessionURI returns a new session URI.
func NewSessionURI() ahp.URI { return "ahp-session:/" + ids.New() }

// NewChatURI returns a new chat URI.
func NewChatURI() ahp.URI { return "ahp-chat:/" + ids.New() }

// FileURI returns the file URI of a local path.
func FileURI(path string) ahp.URI {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// FilePath returns the absolute local path of a file URI.
func FilePath(uri ahp.URI) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return "", false
	}
	path := filepath.Clean(filepath.FromSlash(u.Path))
	return path, filepath.IsAbs(path)
}

// LocalPaths returns the local paths of file URIs and skips others.
func LocalPaths(uris []ahp.URI) (list []string) {
	for _, u := range uris {
		if p, ok := FilePath(u); ok {
			list = append(list, p)
		}
	}
	return list
}

// ShortID returns the 12 hex digits that identify a session in the addresses of pages, changesets
// and blobs, whatever URI its client chose.
func ShortID(session ahp.URI) string {
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:6])
}

// OwnWorktrees returns the names of a session's directories in the data directory's worktrees.
func OwnWorktrees(session ahp.URI) []string {
	if session == "" {
		return nil
	}
	return []string{ShortID(session)}
}
