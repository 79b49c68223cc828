package resource

import (
	"errors"
	"io"
	"os"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine"
)

// Read reads a file of at most 16 MB.
func (f Files) Read(uri ahp.URI) (machine.FileContent, error) {
	s, err := f.open(uri, reading)
	if err != nil {
		return machine.FileContent{}, err
	}
	defer s.root.Close()
	c, err := within(&s, s.readFile)
	if err != nil {
		return machine.FileContent{}, problem(uri, err)
	}
	c.Type = machine.MediaType(s.rel, c.Data)
	return c, nil
}

// readFile checks before and after it opens: opening a pipe would wait for a writer.
func (s *spot) readFile(root *os.Root, rel string) (c machine.FileContent, err error) {
	info, err := root.Stat(rel)
	if err != nil {
		return c, err
	}
	if err := readable(s.uri, info); err != nil {
		return c, err
	}
	file, err := root.OpenFile(rel, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return c, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return c, err
	}
	if err := errors.Join(readable(s.uri, info), s.checkFile(file)); err != nil {
		return c, err
	}
	if c.Path, err = guard.RealPath(file); err != nil {
		return c, err
	}
	c.Data, err = io.ReadAll(io.LimitReader(file, mostBytes+1))
	if len(c.Data) > mostBytes {
		return c, tooLarge(s.uri)
	}
	return c, err
}

func readable(uri ahp.URI, info os.FileInfo) error {
	switch {
	case info.IsDir():
		return ahp.Errorf(ahp.CodeInvalidParams, "%.200s is a directory. List it instead", uri)
	case !info.Mode().IsRegular():
		return ahp.Errorf(ahp.CodeInvalidParams, "%.200s is not a regular file, so it can't be read", uri)
	case info.Size() > mostBytes:
		return tooLarge(uri)
	}
	return nil
}

func tooLarge(uri ahp.URI) error {
	return ahp.Errorf(ahp.CodeInvalidParams, "%.200s is larger than %d MB, the most that can be read at once", uri,
		mostBytes>>20)
}
