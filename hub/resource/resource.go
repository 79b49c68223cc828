// Package resource reads, writes and watches files by URI, only inside granted directories. Symbolic links, "..",
// percent-encodings and races between check and use do not lead out: the operating system resolves every path below an
// open root.
package resource

import (
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine"
)

// Limits of one answer.
const (
	mostBytes   = 16 << 20
	mostEntries = 10_000
)

// Files reaches files below its roots and its grants. The zero value refuses everything.
type Files struct {
	machine.FileReach
	Guard *guard.Guard // refuses closed paths
}

// Path returns the absolute local path of a file URI. It refuses encoded separators and zero bytes, which no file name
// has.
func Path(uri ahp.URI) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", ahp.Errorf(ahp.CodeInvalidParams, "uri: %.200q is not a file:// URI", uri)
	}
	escaped := strings.ToLower(u.EscapedPath())
	switch {
	case u.Host != "" && u.Host != "localhost":
		return "", ahp.Errorf(ahp.CodePermissionDenied, "uri: files of the computer %.100s can't be read from here",
			u.Host)
	case !strings.HasPrefix(u.Path, "/") || strings.ContainsRune(u.Path, 0) || strings.Contains(escaped, "%2f") ||
		strings.Contains(escaped, "%5c"):
		return "", ahp.Errorf(ahp.CodeInvalidParams, "uri: %.200q has no absolute path", uri)
	}
	return filepath.Clean(filepath.FromSlash(u.Path)), nil
}

// URI returns the URI of a local path.
func URI(path string) ahp.URI {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// spot is a path below an open root.
type spot struct {
	root  *os.Root
	dir   string // of the root
	rel   string
	uri   ahp.URI // as requested
	alone bool    // only this file is open below the root
	files *Files
}

func (s spot) path() string { return filepath.Join(s.dir, s.rel) }

// open returns the spot of a URI below its root. The caller must close the root.
func (f Files) open(uri ahp.URI, why purpose) (spot, error) {
	path, err := Path(uri)
	if err != nil {
		return spot{}, err
	}
	for _, dir := range f.Roots {
		for _, base := range bases(dir) {
			rel, err := filepath.Rel(base, path)
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			return spot{dir: base, rel: rel, uri: uri, files: &f}.opened()
		}
	}
	return f.granted(path, uri, why)
}

// bases returns both names of a root: as granted, and with links resolved.
func bases(dir string) []string {
	out := []string{filepath.Clean(dir)}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != out[0] {
		out = append(out, real)
	}
	return out
}

// within tries an operation on the requested path. If a link has an absolute target, it tries again with links
// resolved: the root refuses such links even when they lead to its own files.
func within[T any](s *spot, do func(root *os.Root, rel string) (T, error)) (v T, err error) {
	if err := errors.Join(s.checkNotReplaced(), s.checkPath()); err != nil {
		return v, err
	}
	v, err = do(s.root, s.rel)
	if err == nil || s.alone || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return v, errors.Join(err, s.checkNotReplaced())
	}
	base, err1 := filepath.EvalSymlinks(s.dir)
	real, err2 := filepath.EvalSymlinks(s.path())
	if err1 != nil || err2 != nil {
		return v, err
	}
	rel, err3 := filepath.Rel(base, real)
	if err3 != nil || !filepath.IsLocal(rel) || rel == s.rel {
		return v, err
	}
	s.rel = rel
	return do(s.root, rel)
}

func denied(uri ahp.URI) error {
	return ahp.Errorf(ahp.CodePermissionDenied, "%.200s is outside of the directories that you can access", uri)
}

// problem converts a system error into a protocol error. A path that leads out of its root is a refusal, and so is any
// unknown error.
func problem(uri ahp.URI, err error) error {
	var known *ahp.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case guard.IsRefusal(err):
		return closed(uri, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return ahp.Errorf(ahp.CodeNotFound, "%.200s does not exist", uri)
	case errors.Is(err, fs.ErrExist):
		return ahp.Errorf(ahp.CodeAlreadyExists, "%.200s already exists", uri)
	case errors.Is(err, fs.ErrPermission):
		return ahp.Errorf(ahp.CodePermissionDenied, "ahphub has no permission to open %.200s", uri)
	}
	return denied(uri)
}

// List lists a directory (AHP requirement 175). A link is listed as its target.
func (f Files) List(uri ahp.URI) (ahp.ResourceListResult, error) {
	none := ahp.ResourceListResult{}
	s, err := f.open(uri, reading)
	if err != nil {
		return none, err
	}
	defer s.root.Close()
	entries, err := within(&s, s.readDir)
	if err != nil {
		return none, s.notDirectory(err)
	}
	if len(entries) > mostEntries {
		return none, ahp.Errorf(ahp.CodeInvalidParams, "%.200s has over %d entries. List a directory in it", uri,
			mostEntries)
	}
	out := ahp.ResourceListResult{Entries: make([]ahp.DirectoryEntry, 0, len(entries))}
	for _, e := range entries {
		out.Entries = append(out.Entries, ahp.DirectoryEntry{Name: e.Name(), Type: s.entryType(e)})
	}
	slices.SortFunc(out.Entries, func(a, b ahp.DirectoryEntry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (s *spot) readDir(root *os.Root, rel string) ([]fs.DirEntry, error) {
	info, err := root.Stat(rel)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errNoDirectory
	}
	dir, err := root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := s.checkFile(dir); err != nil {
		return nil, err
	}
	entries, err := dir.ReadDir(mostEntries + 1)
	if len(entries) > 0 {
		return entries, nil
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

var errNoDirectory = errors.New("not a directory")

func (s *spot) notDirectory(err error) error {
	if errors.Is(err, errNoDirectory) {
		return ahp.Errorf(ahp.CodeInvalidParams, "%.200s is a file. Read it instead", s.uri)
	}
	return problem(s.uri, err)
}

func (s *spot) entryType(e fs.DirEntry) ahp.ResourceType {
	if e.IsDir() {
		return ahp.ResourceTypeDirectory
	}
	if e.Type()&fs.ModeSymlink != 0 {
		link := spot{root: s.root, dir: s.dir, rel: filepath.Join(s.rel, e.Name()), uri: s.uri, files: s.files}
		info, err := within(&link, (*os.Root).Stat)
		if err == nil && info.IsDir() {
			return ahp.ResourceTypeDirectory
		}
	}
	return ahp.ResourceTypeFile
}
