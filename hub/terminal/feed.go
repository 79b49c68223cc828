package terminal

import (
	"slices"
	"sync"
	"time"
)

// Bounds of a Feed.
const (
	keepOutput = 512 << 10              // bytes of output a viewer may be behind
	blockBytes = 32 << 10               // and the pieces it is kept in
	lead       = 128 << 10              // bytes the program may be ahead of the fastest viewer
	patience   = 100 * time.Millisecond // it waits for a viewer that takes nothing
	excuse     = 5 * time.Second        // and does not wait for that one again before
	drawBudget = 8                      // drawing takes at most one part in so many of the time
	cheapBytes = 64 << 10               // output that is drawn whatever it costs; the screen under overload
	markBytes  = 64 << 10               // the pace of the output is looked at after so much
	firstDear  = 30 * time.Millisecond  // what drawing that much is thought to take at first
)

// Feed is the output of one terminal as people watch it: raw, at once, bounded,
// at any rate. It is read in order from an offset of each viewer's own; a viewer
// that is new, or falls behind what is kept, begins with the screen. The program
// is never slowed but to the pace of the fastest viewer who takes what it prints.
type Feed struct {
	moved chan struct{} // a viewer has taken something

	mu      sync.Mutex
	blocks  []block // of output, the oldest first
	end     int64   // offset after the newest
	modes   modes   // as of end
	cols    int
	rows    int
	base    *picture // the newest screen drawn
	viewers map[*Viewer]struct{}

	commands []Command // the newest, bounded

	busy   bool          // a picture is being drawn ahead
	mark   int64         // where the pace of the output was last looked at
	marked time.Time     // and when
	calm   bool          // it comes no faster than it can be drawn
	dear   time.Duration // what drawing markBytes took last

	drawing sync.Mutex // held while a screen is drawn
	rest    time.Time  // guarded by drawing: drawing is too dear before
	ahead   sync.WaitGroup
}

// block is a run of output that begins between sequences. Its bytes are only
// ever appended to, so what was handed out stays as it is.
type block struct {
	at         int64
	modes      modes // before its first byte
	cols, rows int
	data       []byte
}

func newFeed(cols, rows int) *Feed {
	return &Feed{moved: make(chan struct{}, 1), cols: cols, rows: rows, viewers: map[*Viewer]struct{}{}, dear: firstDear}
}

// add appends output, after which the terminal is in modes m.
func (f *Feed) add(text string, m modes) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.modes
	f.modes = m
	b := f.room(before, len(text))
	b.data = append(b.data, text...)
	f.end += int64(len(text))
	f.trim()
	if f.end-f.mark >= markBytes {
		f.look(time.Now())
	}
	f.drawAhead()
	for v := range f.viewers {
		v.signal()
	}
}

// room returns the block that takes n bytes; a text is never divided.
func (f *Feed) room(before modes, n int) *block {
	if last := len(f.blocks) - 1; last >= 0 {
		if b := &f.blocks[last]; b.cols == f.cols && b.rows == f.rows && cap(b.data)-len(b.data) >= n {
			return b
		}
	}
	f.blocks = append(f.blocks, block{at: f.end, modes: before, cols: f.cols, rows: f.rows, data: make([]byte, 0, max(blockBytes, n))})
	return &f.blocks[len(f.blocks)-1]
}

// look compares the pace of the output with that of drawing; f.mu is held.
func (f *Feed) look(now time.Time) {
	took := now.Sub(f.marked) * markBytes / time.Duration(f.end-f.mark)
	f.calm = took > f.dear
	f.mark, f.marked = f.end, now
}

func (f *Feed) trim() {
	for len(f.blocks) > 1 && f.end-f.blocks[1].at >= keepOutput {
		f.blocks[0].data = nil
		f.blocks = f.blocks[1:]
	}
}

// start is the offset of the oldest output kept; f.mu is held.
func (f *Feed) start() int64 {
	if len(f.blocks) == 0 {
		return f.end
	}
	return f.blocks[0].at
}

// resize is told the terminal's new size.
func (f *Feed) resize(cols, rows int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cols != f.cols || rows != f.rows {
		f.cols, f.rows = cols, rows
		f.modes.resized()
	}
}

// clear forgets the output, and everybody's screen with it. What the program has
// switched stays switched.
func (f *Feed) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commands = slices.DeleteFunc(f.commands, func(c Command) bool { return !c.Running() })
	f.blocks, f.base = nil, &picture{at: f.end, text: []byte(f.modes.String()), modes: f.modes, cols: f.cols, rows: f.rows}
	for v := range f.viewers {
		v.fresh = true
		v.signal()
	}
}

// pace returns once the fastest viewer is near enough. Without a viewer, or with
// none that takes anything, it does so soon.
func (f *Feed) pace() {
	if f.near(time.Now()) {
		return
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	for {
		select {
		case <-f.moved:
			if f.near(time.Now()) {
				return
			}
		case now := <-t.C:
			f.excuseAll(now)
			return
		}
	}
}

func (f *Feed) near(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	waitFor := false
	for v := range f.viewers {
		if v.fresh || now.Before(v.excused) {
			continue
		}
		if f.end-v.pos <= lead {
			return true
		}
		waitFor = true
	}
	return !waitFor
}

func (f *Feed) excuseAll(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for v := range f.viewers {
		v.excused = now.Add(excuse)
	}
}

// Size is the terminal's size.
func (f *Feed) Size() (cols, rows int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cols, f.rows
}

// from returns the blocks from offset at on; f.mu is held.
func (f *Feed) from(at int64) []block { return slices.Clone(f.blocks[f.index(at):]) }

// index is that of the block with the byte at an offset; f.mu is held.
func (f *Feed) index(at int64) int {
	i := len(f.blocks)
	for i > 0 && f.blocks[i-1].at+int64(len(f.blocks[i-1].data)) > at {
		i--
	}
	return i
}
