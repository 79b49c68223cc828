package host

import (
	"net/url"
	"path"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset"
)

const blobScheme = "ahp-blob:/"

// keptKind marks the references of versions that the host keeps in the session's own directory: what a tool call would
// write is in no checkpoint yet. commitKind marks a submodule's version, which is a commit.
const (
	keptKind   = "kept"
	commitKind = "commit"
)

// blob is what an ahp-blob: URI says: ahp-blob:<path>?kind=<kind>&session=<short>&version=<id>. The path is the file's
// and the same on both sides of a comparison: editors name a version, choose its language, and tell a change from a
// renaming by it.
type blob struct{ short, oid, path, kind string }

func (b blob) uri() ahp.URI {
	q := url.Values{"session": {b.short}, "version": {b.oid}}
	if b.kind != "" {
		q.Set("kind", b.kind)
	}
	u := url.URL{Path: path.Join("/", b.path)}
	return "ahp-blob:" + u.EscapedPath() + "?" + q.Encode()
}

// readBlob reads a URI of this host, also as editors escape it. States from before the path was the file's have
// ahp-blob:/<short>/<id>?path=<path>.
func readBlob(uri ahp.URI) (b blob, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Host != "" || !strings.HasPrefix(uri, blobScheme) {
		return b, false
	}
	if raw, err := url.QueryUnescape(u.RawQuery); err == nil && !strings.Contains(u.RawQuery, "=") {
		u.RawQuery = raw // VS Code escapes "=" and "&" too
	}
	q := u.Query()
	b = blob{short: q.Get("session"), oid: q.Get("version"), path: u.Path, kind: q.Get("kind")}
	if b.oid == "" {
		b.short, b.oid, _ = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
		b.path = q.Get("path")
	}
	return b, true
}

// VersionURI names a version of a file of a session by the session's ShortID.
func VersionURI(short, oid, path string) ahp.URI {
	return blob{short: short, oid: oid, path: path}.uri()
}

// IsVersionOf reports whether a URI names a version of a file of the session with a ShortID.
func IsVersionOf(short string, uri ahp.URI) bool {
	b, ok := readBlob(uri)
	return ok && b.short == short
}

// blobURI names a version of a file by its content.
func blobURI(short, oid, name, mode string) ahp.URI {
	b := blob{short: short, oid: oid, path: name}
	if mode == changeset.ModeSubmodule {
		b.kind = commitKind
	}
	return b.uri()
}
