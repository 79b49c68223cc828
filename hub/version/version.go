// Package version names versions of files by URI: a version in a changeset stays readable after the
// file changes.
package version

import (
	"net/url"
	"path"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Scheme is the prefix of version URIs.
const Scheme = "ahp-blob:/"

// Kinds of versions. Kept ones are stored in the session's own directory, because no checkpoint
// contains what a tool call would write. A submodule's version is a commit.
const (
	Kept   = "kept"
	Commit = "commit"
)

// Ref names a version of a file: ahp-blob:<path>?kind=<kind>&session=<short>&version=<id>. The path
// is the file's and the same on both sides of a comparison: editors derive the name, the language,
// and whether the file was renamed from it.
type Ref struct {
	Session string // the short id of the session
	OID     string // identifies the content
	Path    string
	Kind    string // "" for content in the session's checkpoints
}

// URI returns the URI of a version.
func (r Ref) URI() ahp.URI {
	q := url.Values{"session": {r.Session}, "version": {r.OID}}
	if r.Kind != "" {
		q.Set("kind", r.Kind)
	}
	u := url.URL{Path: path.Join("/", r.Path)}
	return "ahp-blob:" + u.EscapedPath() + "?" + q.Encode()
}

// Parse parses a version's URI, also as escaped by editors. Older states have
// ahp-blob:/<short>/<id>?path=<path>.
func Parse(uri ahp.URI) (r Ref, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Host != "" || !strings.HasPrefix(uri, Scheme) {
		return r, false
	}
	if raw, err := url.QueryUnescape(u.RawQuery); err == nil && !strings.Contains(u.RawQuery, "=") {
		u.RawQuery = raw // VS Code escapes "=" and "&" too
	}
	q := u.Query()
	r = Ref{Session: q.Get("session"), OID: q.Get("version"), Path: u.Path, Kind: q.Get("kind")}
	if r.OID == "" {
		r.Session, r.OID, _ = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
		r.Path = q.Get("path")
	}
	return r, true
}

// IsOf reports whether a URI names a file version of the session with a short id.
func IsOf(short string, uri ahp.URI) bool {
	r, ok := Parse(uri)
	return ok && r.Session == short
}
