package resource

import (
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"path"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Read reads a file of at most 16 MB.
func (f Files) Read(uri ahp.URI, encoding ahp.ContentEncoding) (ahp.ResourceReadResult, error) {
	s, err := f.open(uri, reading)
	if err != nil {
		return ahp.ResourceReadResult{}, err
	}
	defer s.root.Close()
	data, err := within(&s, s.readFile)
	if err != nil {
		return ahp.ResourceReadResult{}, problem(uri, err)
	}
	return Encode(s.rel, data, encoding), nil
}

// readFile looks before and after it opens: opening a pipe would wait for a writer.
func (s *spot) readFile(root *os.Root, rel string) ([]byte, error) {
	info, err := root.Stat(rel)
	if err != nil {
		return nil, err
	}
	if err := readable(s.uri, info); err != nil {
		return nil, err
	}
	file, err := root.OpenFile(rel, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	if err := errors.Join(readable(s.uri, info), s.checkRead(file)); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if len(data) > mostBytes {
		return nil, tooLarge(s.uri)
	}
	return data, err
}

func readable(uri ahp.URI, info os.FileInfo) error {
	switch {
	case info.IsDir():
		return ahp.Errorf(ahp.CodeInvalidParams, "%.200s is a directory: list it instead", uri)
	case !info.Mode().IsRegular():
		return ahp.Errorf(ahp.CodeInvalidParams, "%.200s is not a file that can be read", uri)
	case info.Size() > mostBytes:
		return tooLarge(uri)
	}
	return nil
}

func tooLarge(uri ahp.URI) error {
	return ahp.Errorf(ahp.CodeInvalidParams, "%.200s is larger than %d MB, the most that is read at once", uri, mostBytes>>20)
}

// Encode makes the answer to resourceRead of content: as text when it is text and the client does not ask otherwise, else as base64
// (AHP requirement 169). The name helps to tell its type.
func Encode(name string, data []byte, want ahp.ContentEncoding) ahp.ResourceReadResult {
	out := ahp.ResourceReadResult{ContentType: ContentType(name, data)}
	if want == ahp.ContentEncodingBase64 || !utf8.Valid(data) {
		out.Data, out.Encoding = base64.StdEncoding.EncodeToString(data), ahp.ContentEncodingBase64
		return out
	}
	out.Data, out.Encoding = string(data), ahp.ContentEncodingUtf8
	return out
}

// ContentType tells the media type from the first bytes and the name. What a name promises is believed of text only: a
// picture is one when its bytes say so.
func ContentType(name string, data []byte) string {
	kind := http.DetectContentType(data)
	if kind != "text/plain; charset=utf-8" {
		return kind
	}
	switch named := mime.TypeByExtension(path.Ext(name)); named {
	case "application/json", "image/svg+xml", "text/css; charset=utf-8", "text/markdown; charset=utf-8", "application/xml":
		return named
	}
	return kind
}
