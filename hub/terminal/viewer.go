package terminal

import (
	"context"
	"time"

	"github.com/ahphub/ahphub/hub/machine"
)

// ViewerBytes bounds the bytes that are sent to a viewer and not yet reported as taken.
const ViewerBytes = 256 << 10

// TakenEvery is how many bytes a viewer may take without reporting them.
const TakenEvery = 32 << 10

// Viewer reads a Feed. Next has one caller; Taken is safe for concurrent use.
type Viewer struct {
	feed *Feed
	wake chan struct{}

	// guarded by feed.mu
	pos     int64
	sent    int64 // bytes, screens included
	taken   int64
	fresh   bool      // the screen is next
	excused time.Time // the program does not wait for this viewer before this time
}

// Piece is the next piece for a viewer to show.
type Piece = machine.TerminalPiece

// Watch adds a viewer, which begins with the current screen. The caller must close it.
func (f *Feed) Watch() *Viewer {
	v := &Viewer{feed: f, wake: make(chan struct{}, 1), fresh: true}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.viewers[v] = struct{}{}
	return v
}

// Close removes the viewer.
func (v *Viewer) Close() {
	v.feed.mu.Lock()
	delete(v.feed.viewers, v)
	v.feed.mu.Unlock()
	v.feed.nudge()
}

// Taken records how many bytes the viewer has taken since it was added.
func (v *Viewer) Taken(n int64) {
	v.feed.mu.Lock()
	defer v.feed.mu.Unlock()
	if n > v.taken && n <= v.sent {
		v.taken = n
		v.signal()
	}
}

// Next returns the next piece, once there is one and the viewer has taken enough
// of those before.
func (v *Viewer) Next(ctx context.Context) (Piece, error) {
	for {
		p, due, ok := v.take()
		if ok {
			v.feed.nudge()
			return p, nil
		}
		if due {
			return v.screen(), nil
		}
		select {
		case <-v.wake:
		case <-ctx.Done():
			return Piece{}, ctx.Err()
		}
	}
}

// take returns a piece of output, or reports that the screen is due.
func (v *Viewer) take() (p Piece, screen, ok bool) {
	f := v.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if v.pos < f.start() {
		v.fresh = true
	}
	room := ViewerBytes - (v.sent - v.taken)
	if v.fresh {
		return Piece{}, room >= ViewerBytes-TakenEvery, false
	}
	if v.pos == f.end || room <= 0 {
		return Piece{}, false, false
	}
	b := f.blocks[f.index(v.pos)]
	data := b.data[v.pos-b.at:]
	data = data[:min(int64(len(data)), room):len(data)]
	v.pos += int64(len(data))
	v.sent += int64(len(data))
	return Piece{Data: data, At: v.pos - int64(len(data))}, false, true
}

// screen returns the whole screen; the output continues where it ends.
func (v *Viewer) screen() Piece {
	f := v.feed
	pic := f.picture()
	f.mu.Lock()
	defer f.mu.Unlock()
	v.fresh, v.pos = false, pic.at
	v.sent += int64(len(pic.text))
	return Piece{Screen: true, Data: pic.text, At: pic.at, Cols: pic.cols, Rows: pic.rows}
}

func (v *Viewer) signal() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

func (f *Feed) nudge() {
	select {
	case f.moved <- struct{}{}:
	default:
	}
}
