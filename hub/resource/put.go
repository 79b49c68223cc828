package resource

import (
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
)

// writes serializes writes, so that an etag or a file's end stays valid between check and use.
var writes sync.Mutex

// Put writes to a file as resourceWrite specifies (AHP requirements 171 to 174). It creates the file, but never its
// directory. It follows links inside the root.
func (f Files) Put(p ahp.ResourceWriteParams) error {
	w, err := newPut(p)
	if err != nil {
		return err
	}
	s, err := f.open(p.URI, writing)
	if err != nil {
		return err
	}
	defer s.root.Close()
	writes.Lock()
	defer writes.Unlock()
	_, err = within(&s, func(root *os.Root, rel string) (struct{}, error) { return w.into(&s, root, rel) })
	return problem(p.URI, err)
}

type put struct {
	uri      ahp.URI
	data     []byte
	mode     ahp.ResourceWriteMode
	position int64
	create   bool // and refuse an existing file
	etag     string
}

func newPut(p ahp.ResourceWriteParams) (w put, err error) {
	w = put{uri: p.URI, mode: p.Mode, create: p.CreateOnly != nil && *p.CreateOnly, etag: p.IfMatch}
	if w.data, err = Decode(p.Data, p.Encoding); err != nil {
		return w, err
	}
	if p.Position != nil {
		w.position = *p.Position
	}
	switch w.mode {
	case "":
		w.mode = ahp.ResourceWriteModeTruncate
	case ahp.ResourceWriteModeTruncate, ahp.ResourceWriteModeAppend, ahp.ResourceWriteModeInsert:
	default:
		return w, ahp.Errorf(ahp.CodeInvalidParams, "mode: %.40q is not supported. Use truncate, append or insert",
			w.mode)
	}
	if len(w.data) > mostBytes {
		return w, ahp.Errorf(ahp.CodeInvalidParams, "%.200s: at most %d MB can be written at once", w.uri,
			mostBytes>>20)
	}
	return w, nil
}

// Decode decodes content; without an encoding it is text.
func Decode(data string, encoding ahp.ContentEncoding) ([]byte, error) {
	switch encoding {
	case ahp.ContentEncodingUtf8, "":
		return []byte(data), nil
	case ahp.ContentEncodingBase64:
		b, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, ahp.Errorf(ahp.CodeInvalidParams, "data: this is not valid base64: %v", err)
		}
		return b, nil
	}
	return nil, ahp.Errorf(ahp.CodeInvalidParams, "encoding: %.40q is not supported. Use utf-8 or base64", encoding)
}

// into checks before it opens: opening a pipe would wait for its other end.
func (w put) into(s *spot, root *os.Root, rel string) (none struct{}, err error) {
	info, err := root.Stat(rel)
	switch {
	case err == nil:
		if err := w.allowed(info); err != nil {
			return none, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return none, err
	case w.etag != "":
		return none, w.conflict()
	}
	file, err := root.OpenFile(rel, w.flags(), 0o644)
	if err != nil {
		return none, err
	}
	if err = s.checkFile(file); err == nil {
		err = w.write(file)
	}
	return none, errors.Join(err, file.Close())
}

func (w put) flags() int {
	flags := os.O_RDWR | nonBlocking
	if w.etag == "" {
		flags |= os.O_CREATE
	}
	if w.create {
		flags |= os.O_CREATE | os.O_EXCL
	}
	if w.atEnd() {
		flags |= os.O_APPEND // other programs may append too
	}
	return flags
}

func (w put) atEnd() bool { return w.mode == ahp.ResourceWriteModeAppend && w.position == 0 }

func (w put) allowed(info fs.FileInfo) error {
	switch {
	case w.create:
		return ahp.Errorf(ahp.CodeAlreadyExists, "%.200s already exists", w.uri)
	case info.IsDir():
		return ahp.Errorf(ahp.CodeInvalidParams, "%.200s is a directory. Name a file in it", w.uri)
	case !info.Mode().IsRegular():
		return ahp.Errorf(ahp.CodeInvalidParams, "%.200s is not a regular file, so it can't be written", w.uri)
	case w.etag != "" && w.etag != etag(info):
		return w.conflict()
	}
	return nil
}

func (w put) conflict() error {
	return ahp.Errorf(ahp.CodeConflict, "%.200s has changed since. Resolve and read it again", w.uri)
}

func (w put) write(file *os.File) error {
	info, err := file.Stat()
	if err == nil {
		err = w.allowedOpen(info)
	}
	if err != nil {
		return err
	}
	if w.atEnd() {
		_, err = file.Write(w.data)
		return w.failed(err)
	}
	at := w.position
	if w.mode == ahp.ResourceWriteModeAppend {
		at = info.Size() - w.position
	}
	if at < 0 || at > info.Size() || w.position < 0 {
		return ahp.Errorf(ahp.CodeInvalidParams, "position: %d is outside of the file, which has %d bytes", w.position,
			info.Size())
	}
	if w.mode == ahp.ResourceWriteModeTruncate {
		return w.failed(w.replace(file, at))
	}
	return w.failed(w.insert(file, at, info.Size()))
}

// allowedOpen checks the opened file again: it may have been replaced.
func (w put) allowedOpen(info fs.FileInfo) error {
	w.create = false // O_EXCL has checked that
	return w.allowed(info)
}

func (w put) replace(file *os.File, at int64) error {
	if err := file.Truncate(at); err != nil {
		return err
	}
	_, err := file.WriteAt(w.data, at)
	return err
}

// insert moves the content after the position.
func (w put) insert(file *os.File, at, size int64) error {
	if size-at > mostBytes {
		return ahp.Errorf(ahp.CodeInvalidParams,
			"%.200s: %d MB is the most that can be moved up: insert closer to the end", w.uri, mostBytes>>20)
	}
	rest := make([]byte, size-at)
	if _, err := file.ReadAt(rest, at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err := file.WriteAt(append(w.data[:len(w.data):len(w.data)], rest...), at)
	return err
}

// failed reports that the disk failed, not that access was denied.
func (w put) failed(err error) error { return broken(w.uri, err) }

func broken(uri ahp.URI, err error) error {
	known, isKnown := errors.AsType[*ahp.Error](err)
	switch {
	case err == nil:
		return nil
	case isKnown:
		return known
	}
	return ahp.Errorf(ahp.CodeInternalError, "%.200s could not be written: %v", uri, err)
}
