package terminal

import (
	"slices"
	"sync"
	"time"
)

// Bounds of a Feed.
const (
	keepOutput    = 512 << 10              // bytes a viewer may lag
	blockBytes    = 32 << 10               // block size
	lead          = 128 << 10              // bytes the program may be ahead of the fastest viewer
	patience      = 100 * time.Millisecond // longest wait for a viewer that reads nothing
	ignoreFor     = 5 * time.Second        // how long the program then ignores that viewer
	drawBudget    = 8                      // drawing takes at most one part in this many of the time
	cheapBytes    = 64 << 10               // output that is always drawn; the screen under overload
	markBytes     = 64 << 10               // interval at which the pace of the output is measured
	firstDrawTime = 30 * time.Millisecond  // initial estimate of the time to draw that much
)

// Feed is the output of one terminal for viewers: raw, immediate and bounded. Each viewer reads it
// in order from its own offset. A viewer that is new, or lags behind the kept output, begins with
// the screen. The program is slowed only to the pace of the fastest viewer that reads its output.
type Feed struct {
	moved chan struct{} // a viewer has read output

	mu      sync.Mutex
	blocks  []block // of output, oldest first
	end     int64   // offset after the newest
	modes   modes   // at end
	cols    int
	rows    int
	base    *picture // the newest drawn screen
	viewers map[*Viewer]struct{}

	commands []Command // the newest, bounded

	busy        bool          // a picture is being drawn in advance
	mark        int64         // offset of the last pace measurement
	marked      time.Time     // time of the last pace measurement
	drawKeepsUp bool          // output is slower than drawing
	drawTime    time.Duration // time to draw the last markBytes

	drawing sync.Mutex // held while a screen is drawn
	rest    time.Time  // guarded by drawing: no drawing before this time
	ahead   sync.WaitGroup
}

// block is a run of output that begins between sequences. Its bytes are append-only, so readers can
// keep slices of it.
type block struct {
	at         int64
	modes      modes // before its first byte
	cols, rows int
	data       []byte
}

func newFeed(cols, rows int) *Feed {
	return &Feed{moved: make(chan struct{}, 1), cols: cols, rows: rows, viewers: map[*Viewer]struct{}{},
		drawTime: firstDrawTime}
}

// add appends output, after which the terminal is in modes m.
func (f *Feed) add(text string, m modes) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.modes
	f.modes = m
	b := f.blockFor(before, len(text))
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

// blockFor returns a block with room for n bytes; a text is never split.
func (f *Feed) blockFor(before modes, n int) *block {
	if last := len(f.blocks) - 1; last >= 0 {
		if b := &f.blocks[last]; b.cols == f.cols && b.rows == f.rows && cap(b.data)-len(b.data) >= n {
			return b
		}
	}
	f.blocks = append(f.blocks, block{at: f.end, modes: before, cols: f.cols, rows: f.rows,
		data: make([]byte, 0, max(blockBytes, n))})
	return &f.blocks[len(f.blocks)-1]
}

// look compares the pace of the output with the speed of drawing; f.mu is held.
func (f *Feed) look(now time.Time) {
	took := now.Sub(f.marked) * markBytes / time.Duration(f.end-f.mark)
	f.drawKeepsUp = took > f.drawTime
	f.mark, f.marked = f.end, now
}

func (f *Feed) trim() {
	for len(f.blocks) > 1 && f.end-f.blocks[1].at >= keepOutput {
		f.blocks[0].data = nil
		f.blocks = f.blocks[1:]
	}
}

// start returns the offset of the oldest kept output; f.mu is held.
func (f *Feed) start() int64 {
	if len(f.blocks) == 0 {
		return f.end
	}
	return f.blocks[0].at
}

// resize sets the terminal's size.
func (f *Feed) resize(cols, rows int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cols != f.cols || rows != f.rows {
		f.cols, f.rows = cols, rows
		f.modes.dropRegions()
	}
}

// clear drops the output and all viewers' screens. Modes stay.
func (f *Feed) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commands = slices.DeleteFunc(f.commands, func(c Command) bool { return !c.IsRunning() })
	f.blocks, f.base = nil, &picture{at: f.end, text: []byte(f.modes.String()), modes: f.modes, cols: f.cols,
		rows: f.rows}
	for v := range f.viewers {
		v.fresh = true
		v.signal()
	}
}

// pace returns once the fastest viewer is close enough, or soon if no viewer reads.
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
		v.excused = now.Add(ignoreFor)
	}
}

// Size returns the terminal's size.
func (f *Feed) Size() (cols, rows int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cols, f.rows
}

// from returns the blocks from offset at on; f.mu is held.
func (f *Feed) from(at int64) []block { return slices.Clone(f.blocks[f.index(at):]) }

// index returns the index of the block with the byte at an offset; f.mu is held.
func (f *Feed) index(at int64) int {
	i := len(f.blocks)
	for i > 0 && f.blocks[i-1].at+int64(len(f.blocks[i-1].data)) > at {
		i--
	}
	return i
}
