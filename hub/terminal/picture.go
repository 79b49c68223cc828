package terminal

import (
	"strings"
	"time"
)

// mostPicture bounds the text of a screen with its scrollback.
const mostPicture = 192 << 10

// picture is a terminal at one offset of its output, as text that draws it on a fresh terminal:
// scrollback, both screens, modes, cursor.
type picture struct {
	at         int64
	text       []byte
	plain      string // readable text of the visible screen
	drawn      bool   // by an emulator: text and plain match
	modes      modes
	cols, rows int
}

// picture draws the current terminal. While output is faster than drawing, it instead returns the
// end of the output in the right modes.
func (f *Feed) picture() *picture {
	f.drawing.Lock()
	defer f.drawing.Unlock()
	for range 2 {
		p, start := f.draw(false)
		if p == nil {
			break
		}
		if p.at >= start {
			return p
		}
	}
	return f.tailPicture()
}

// Text returns the visible screen as text, without trailing blanks.
func (f *Feed) Text() string {
	f.drawing.Lock()
	defer f.drawing.Unlock()
	if p, _ := f.draw(true); p != nil {
		return p.plain
	}
	return ""
}

// draw updates the newest picture; f.drawing is held. If that would cost too much, it returns nil.
// start is the offset of the oldest kept output.
func (f *Feed) draw(whatever bool) (p *picture, start int64) {
	f.mu.Lock()
	base, at := f.base, f.start()
	if base != nil && base.at >= at {
		at = base.at
	} else {
		base = nil
	}
	blocks, end, m := f.from(at), f.end, f.modes
	cols, rows := f.cols, f.rows
	start = f.start()
	f.mu.Unlock()
	if base != nil && base.at == end && base.cols == cols && base.rows == rows && base.drawn {
		return base, start
	}
	begun := time.Now()
	if !whatever && begun.Before(f.rest) && end-at > cheapBytes {
		return nil, start
	}
	vain := func() bool { return !whatever && f.isLost(end) }
	p = drawFrom(base, at, blocks, m, cols, rows, vain)
	took := time.Since(begun)
	f.rest = time.Now().Add(drawBudget * took)
	if p == nil {
		return nil, start
	}
	p.at = end
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := end - at; n >= markBytes {
		f.drawTime = took * markBytes / time.Duration(n)
	}
	if f.base == nil || f.base.at <= end {
		f.base = p
	}
	return p, f.start()
}

// isLost reports whether output after an offset is no longer kept.
func (f *Feed) isLost(after int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.start() > after
}

// tailPicture returns the end of the output, from the start of a block.
func (f *Feed) tailPicture() *picture {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &picture{at: f.end, modes: f.modes, cols: f.cols, rows: f.rows}
	blocks := f.blocks
	for len(blocks) > 1 && f.end-blocks[0].at > cheapBytes {
		blocks = blocks[1:]
	}
	if len(blocks) == 0 {
		return p
	}
	p.text = append(p.text, blocks[0].modes.String()...)
	for _, b := range blocks {
		p.text = append(p.text, b.data...)
	}
	return p
}

// drawAhead draws in the background before undrawn output is dropped, if the budget allows it; f.mu
// is held.
func (f *Feed) drawAhead() {
	at := f.start()
	if f.base != nil {
		at = max(at, f.base.at)
	}
	if f.busy || !f.drawKeepsUp || f.end-at < keepOutput/2 || !f.drawing.TryLock() {
		return
	}
	if time.Now().Before(f.rest) {
		f.drawing.Unlock()
		return
	}
	f.busy = true
	f.ahead.Go(func() {
		defer f.drawing.Unlock()
		f.draw(false)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.busy = false
	})
}

// close waits for background drawing.
func (f *Feed) close() { f.ahead.Wait() }

// Plain returns the readable text of an ended program's terminal, scrollback included.
func Plain(text string, cols, rows int) string {
	e := newEmulator(cols, rows)
	defer e.close()
	e.write([]byte(text))
	return strings.TrimRight(e.history()+e.plain(), " \n")
}
