package resource

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

// Resolve describes the file that a URI names (AHP requirement 178). If it follows links, it returns the canonical URI
// of their target.
func (f Files) Resolve(uri ahp.URI, follow bool) (ahp.ResourceResolveResult, error) {
	none := ahp.ResourceResolveResult{}
	s, err := f.open(uri, reading)
	if err != nil {
		return none, err
	}
	defer s.root.Close()
	stat := (*os.Root).Stat
	if !follow {
		stat = (*os.Root).Lstat
	}
	info, err := within(&s, stat)
	if err != nil {
		return none, problem(uri, err)
	}
	out := ahp.ResourceResolveResult{URI: uri, Type: typeOf(info), Mtime: info.ModTime().UTC().Format(time.RFC3339Nano),
		Etag: etag(info)}
	if follow {
		if out.URI, err = s.canonical(); err != nil {
			return none, problem(uri, err)
		}
	}
	if out.Type == ahp.ResourceTypeFile {
		out.Size, out.ContentType = ahp.Ptr(info.Size()), s.sniff(info)
	}
	return out, nil
}

// canonical returns the URI with all links resolved.
func (s *spot) canonical() (ahp.URI, error) {
	real, err := filepath.EvalSymlinks(s.path())
	return URI(real), err
}

func typeOf(info fs.FileInfo) ahp.ResourceType {
	switch {
	case info.IsDir():
		return ahp.ResourceTypeDirectory
	case info.Mode()&fs.ModeSymlink != 0:
		return ahp.ResourceTypeSymlink
	}
	return ahp.ResourceTypeFile
}

// etag returns a value that changes with every write that changes size or time.
func etag(info fs.FileInfo) string {
	return fmt.Sprintf("%x-%x", info.ModTime().UnixNano(), info.Size())
}

// sniff reads the first bytes for the media type, or returns "" if it cannot.
func (s *spot) sniff(info fs.FileInfo) string {
	if !info.Mode().IsRegular() {
		return ""
	}
	file, err := s.root.OpenFile(s.rel, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	if s.checkFile(file) != nil {
		return ""
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(file, head)
	if err != nil && n == 0 {
		return "text/plain; charset=utf-8"
	}
	return machine.MediaType(s.rel, head[:n])
}
