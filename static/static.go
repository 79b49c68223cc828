// Package static has the files that browsers load besides pages: our style sheets and scripts, and the vendored
// front-end libraries. Everything is embedded and served by content hash, so caches may keep it forever.
//
// The scripts are ES modules: one for each part of a page, which imports others by relative address. They share
// one hash, of all of js, so that these addresses lead to files of the same version and each module runs once.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"
)

//go:embed css js img vendor/xterm vendor/fonts
var files embed.FS

// Assets serves the embedded files.
type Assets struct{ byName map[string]*asset }

type asset struct {
	name, hash, kind string
	source           []byte
	once             sync.Once
	body             []byte          // the served content: the minified source
	packed           []byte          // gzip of body; nil if it is not smaller
	imports          func() []string // names of a module's direct imports
}

// New reads the embedded files.
func New() (*Assets, error) {
	a := &Assets{byName: map[string]*asset{}}
	tree := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		source, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		f := &asset{name: name, kind: kind(name), source: source}
		a.byName[name] = f
		f.imports = sync.OnceValue(f.findImports)
		if isModule(name) {
			_, _ = fmt.Fprintln(tree, name, len(source))
			_, _ = tree.Write(source)
			return nil
		}
		f.setHash(source)
		return nil
	})
	for name, f := range a.byName {
		if isModule(name) {
			f.hash = hex.EncodeToString(tree.Sum(nil)[:6])
		} else if strings.HasPrefix(name, "css/") {
			f.source = relative.ReplaceAllFunc(f.source, func(url []byte) []byte {
				return []byte(`url("` + a.Path(string(relative.FindSubmatch(url)[1])) + `")`)
			})
			f.setHash(f.source)
		}
	}
	return a, err
}

// relative matches the files that a style sheet loads. Their addresses with hashes are inserted.
var relative = regexp.MustCompile(`url\("\.\./([^"]+)"\)`)

func (f *asset) setHash(content []byte) {
	sum := sha256.Sum256(content)
	f.hash = hex.EncodeToString(sum[:6])
}

// isModule reports whether a file is one of our scripts.
func isModule(name string) bool { return strings.HasPrefix(name, "js/") }

// imported matches the static imports of a module, not those by import().
var imported = regexp.MustCompile(`(?m)(?:^import|^export [^;]*? from|^} from|^import [^;]*? from) '\./([\w-]+\.js)';`)

func (f *asset) findImports() (names []string) {
	for _, m := range imported.FindAllSubmatch(f.source, -1) {
		names = append(names, "js/"+string(m[1]))
	}
	return names
}

// Imports returns the addresses of the modules that scripts import, directly or not, without the
// scripts themselves. A page lists them, so that a browser requests all of them at once.
func (a *Assets) Imports(scripts ...string) (paths []string) {
	seen := map[string]bool{}
	for _, name := range scripts {
		seen[name] = true
	}
	var visit func(name string)
	visit = func(name string) {
		f := a.byName[name]
		if f == nil {
			return
		}
		for _, other := range f.imports() {
			if !seen[other] {
				seen[other] = true
				paths = append(paths, a.Path(other))
				visit(other)
			}
		}
	}
	for _, name := range scripts {
		visit(name)
	}
	return paths
}

// Path returns the address of a file, like "/assets/3f2a…/css/base.css"; "" when there is no such file.
func (a *Assets) Path(name string) string {
	f := a.byName[name]
	if f == nil {
		return ""
	}
	return "/assets/" + f.hash + "/" + name
}

// Has reports whether ServeHTTP serves an address.
func (a *Assets) Has(address string) bool {
	_, name, _ := strings.Cut(strings.TrimPrefix(address, "/assets/"), "/")
	path := a.Path(name)
	return path != "" && address == path
}

// ServeHTTP answers /assets/{hash}/{name}. For an old hash it answers 404, never newer bytes.
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
		if _, packed := f.prepare(); packed != nil {
			h.Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed)
			return
		}
	}
	body, _ := f.prepare()
	_, _ = w.Write(body)
}

// Content returns a file as it is served; nil if there is none.
func (a *Assets) Content(name string) []byte {
	f := a.byName[name]
	if f == nil {
		return nil
	}
	body, _ := f.prepare()
	return body
}

// Compressed returns the compressed size of a file; budgets are checked with it.
func (a *Assets) Compressed(name string) int {
	f := a.byName[name]
	if f == nil {
		return 0
	}
	body, packed := f.prepare()
	if packed != nil {
		return len(packed)
	}
	return len(body)
}

// prepare returns a file as it is served, plain and compressed. Both are created on first use.
func (f *asset) prepare() (body, packed []byte) {
	f.once.Do(func() {
		f.body = minified(f.name, f.source)
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		_, _ = z.Write(f.body)
		_ = z.Close()
		if b.Len() < len(f.body) {
			f.packed = b.Bytes()
		}
	})
	return f.body, f.packed
}

// minified removes comments and whitespace and shortens local names in our scripts and style sheets. A test checks
// that the library could parse each of them.
func minified(name string, source []byte) []byte {
	var out bytes.Buffer
	var err error
	switch {
	case isModule(name):
		err = (&js.Minifier{}).Minify(nil, &out, bytes.NewReader(source), nil)
	case strings.HasPrefix(name, "css/"):
		err = (&css.Minifier{}).Minify(minify.New(), &out, bytes.NewReader(source), nil)
	default:
		return source
	}
	if err != nil {
		return source
	}
	return out.Bytes()
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
