// Package static holds what browsers load beside the pages: our style sheets and scripts, and the vendored
// front-end libraries. Everything is embedded and served by the hash of its content, so a cache may keep it for ever.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed css js img vendor/xterm
var files embed.FS

// Assets serves the embedded files.
type Assets struct{ byName map[string]*asset }

type asset struct {
	name, hash, kind string
	body             []byte
	once             sync.Once
	packed           []byte // gzip, made when first asked for; nil where it would not be smaller
}

// New reads what was embedded. It fails only for a file whose type it cannot tell.
func New() (*Assets, error) {
	a := &Assets{byName: map[string]*asset{}}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, "js/") {
			body = dropComments(body)
		}
		sum := sha256.Sum256(body)
		a.byName[name] = &asset{name: name, hash: hex.EncodeToString(sum[:6]), kind: kind(name), body: body}
		return nil
	})
	return a, err
}

// dropComments removes what a browser does not need of a script: lines that are a comment, and the indentation. It
// keeps the line breaks, which end statements; a test checks that no text runs over several lines.
func dropComments(script []byte) []byte {
	out := make([]byte, 0, len(script))
	for line := range bytes.Lines(script) {
		line = bytes.TrimLeft(line, " \t")
		if !bytes.HasPrefix(line, []byte("//")) && len(bytes.TrimSpace(line)) > 0 {
			out = append(out, line...)
		}
	}
	return out
}

// Path is the address of a file, as in "/assets/3f2a…/css/base.css"; "" when there is no such file.
func (a *Assets) Path(name string) string {
	f := a.byName[name]
	if f == nil {
		return ""
	}
	return "/assets/" + f.hash + "/" + name
}

// ServeHTTP answers /assets/{hash}/{name}. An old hash is not found rather than answered with newer bytes.
func (a *Assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hash, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/assets/"), "/")
	f := a.byName[name]
	if f == nil || f.hash != hash {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		if packed := f.gzip(); packed != nil {
			h.Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed)
			return
		}
	}
	_, _ = w.Write(f.body)
}

// Compressed is how many bytes a file costs on the wire; budgets are checked with it.
func (a *Assets) Compressed(name string) int {
	f := a.byName[name]
	if f == nil {
		return 0
	}
	if packed := f.gzip(); packed != nil {
		return len(packed)
	}
	return len(f.body)
}

func (f *asset) gzip() []byte {
	f.once.Do(func() {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		_, _ = z.Write(f.body)
		_ = z.Close()
		if b.Len() < len(f.body) {
			f.packed = b.Bytes()
		}
	})
	return f.packed
}

func kind(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".woff2":
		return "font/woff2"
	}
	return "text/plain; charset=utf-8"
}
