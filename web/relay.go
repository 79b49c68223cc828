package web

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/klauspost/compress/gzhttp"
)

// Hosts are the host names that a node's visitors may ask for.
type Hosts struct{ hosts hosts }

// NewHosts returns the names of a listening address, of a public one (nil: none) and further ones.
func NewHosts(listen string, public *url.URL, more []string) Hosts {
	return Hosts{newHosts(Config{Listen: listen, PublicURL: public, AllowHosts: more})}
}

// Check answers a request for another name, and reports whether it may go on.
func (h Hosts) Check(w http.ResponseWriter, r *http.Request) bool {
	if h.hosts.allows(r) {
		return true
	}
	refuseHost(w)
	return false
}

func refuseHost(w http.ResponseWriter) {
	http.Error(w, "Unknown host name. Start ahphub with --public-url or --allow-host to allow it.", http.StatusForbidden)
}

// WithHeaders sets the headers of every answer of this server, as a node does that answers without a hub.
func (h Hosts) WithHeaders(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header(), r, isSecure(r, h.hosts.public))
}

// checkedKey marks requests whose host name another node has checked, relayedKey those whose answer that node compresses.
type (
	checkedKey struct{}
	relayedKey struct{}
)

// Arrival is how a request came to the node that passed it on.
type Arrival struct {
	Visitor    string // address
	Secure     bool   // over TLS
	Compresses bool   // the node compresses the answer, by CompressRelayed
}

// FromNode returns a request that another node passed on, as it arrived there. That node has checked the host name. Only
// call it for requests that nodes alone can make.
func FromNode(r *http.Request, a Arrival) *http.Request {
	ctx := context.WithValue(r.Context(), checkedKey{}, true)
	if a.Compresses {
		ctx = context.WithValue(ctx, relayedKey{}, true)
	}
	r = r.WithContext(ctx)
	r.RemoteAddr = a.Visitor
	r.TLS = nil // the nodes'
	if a.Secure {
		at := *r.URL
		at.Scheme = "https" // read by people.Secure
		r.URL = &at
	}
	return r
}

// compressHeader marks what Compress would have compressed, in an answer to a node that compresses itself.
const compressHeader = "Ahphub-Compress"

// CompressRelayed compresses what next passes on from the node that leads, where Compress there left it to this node.
// Everything else stays as it came: the leader alone knows which answers show a secret.
func CompressRelayed(next http.Handler) http.Handler {
	return Compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !MayCompress(r) {
			next.ServeHTTP(w, r)
			return
		}
		relayed := &relayedWriter{ResponseWriter: w}
		defer relayed.end()
		next.ServeHTTP(relayed, r)
	}))
}

// A proxy flushes after each read, and each flush costs the compressor. The beginning of a page is sent on at once, and
// what comes later once it is large or has waited.
const (
	relayedBytes = 64 << 10
	relayedTime  = 20 * time.Millisecond
)

// relayedWriter heeds the mark of an answer that is passed on.
type relayedWriter struct {
	http.ResponseWriter

	mu      sync.Mutex
	waiting int         // bytes since the last flush
	begun   bool        // something was flushed
	late    *time.Timer // flushes what waits; nil: it was not asked for
	over    bool
}

// WriteHeader implements http.ResponseWriter.
func (w *relayedWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.Header()
	if status >= http.StatusOK && h.Get(compressHeader) == "" {
		h.Set(gzhttp.HeaderNoCompression, "1") // removed by the library
	}
	h.Del(compressHeader)
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *relayedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.ResponseWriter.Write(b)
	w.waiting += n
	return n, err
}

// FlushError implements what http.ResponseController calls.
func (w *relayedWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over || w.waiting == 0:
		return nil
	case !w.begun || w.waiting >= relayedBytes:
		return w.flush()
	case w.late == nil:
		w.late = time.AfterFunc(relayedTime, w.flushLate)
	}
	return nil
}

func (w *relayedWriter) flushLate() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = nil
	if !w.over && w.waiting > 0 {
		_ = w.flush() // the next write fails, too
	}
}

// flush sends what waits; mu is held.
func (w *relayedWriter) flush() error {
	w.waiting, w.begun = 0, true
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// end makes sure that nothing is flushed any more.
func (w *relayedWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.late != nil {
		w.late.Stop()
	}
}
