package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

const mostReplay = 64 << 10 // bytes of a request that can be sent again to the next leader

// replay is the body of a request that may be sent more than once. It keeps the first mostReplay bytes.
type replay struct {
	src io.ReadCloser

	mu   sync.Mutex
	kept []byte
	read int // bytes taken from src
}

// into sets the body of a request to this one, from the beginning.
func (b *replay) into(r *http.Request) {
	if b.src != nil && b.src != http.NoBody {
		r.Body = &replayed{body: b}
	}
}

// canRewind reports whether all bytes read so far are kept.
func (b *replay) canRewind() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read == len(b.kept)
}

// replayed reads a body from its beginning. Bytes that an earlier attempt is still reading are kept for it.
type replayed struct {
	body   *replay
	at     int
	closed bool
}

var errGone = errors.New("the beginning of the body is not kept")

// Read implements io.Reader.
func (r *replayed) Read(p []byte) (int, error) {
	b := r.body
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r.closed:
		return 0, http.ErrBodyReadAfterClose
	case r.at < len(b.kept):
		n := copy(p, b.kept[r.at:])
		r.at += n
		return n, nil
	case r.at < b.read:
		return 0, errGone
	}
	n, err := b.src.Read(p)
	if b.read == len(b.kept) && b.read+n <= mostReplay {
		b.kept = append(b.kept, p[:n]...)
	}
	b.read += n
	r.at += n
	return n, err
}

// Close implements io.Closer. The server closes the body itself.
func (r *replayed) Close() error {
	r.body.mu.Lock()
	defer r.body.mu.Unlock()
	r.closed = true
	return nil
}
