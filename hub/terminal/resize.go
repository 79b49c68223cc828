package terminal

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ahphub/ahphub/hub/machine"
)

// sizeEvery is the minimum time between size changes of a program.
const sizeEvery = 50 * time.Millisecond

// sizer debounces size changes.
type sizer struct {
	mu         sync.Mutex
	cols, rows int         // requested size
	told       time.Time   // when the program last got its size
	later      *time.Timer // pending change; nil if none
	closed     bool
}

// Resize changes the terminal's size and notifies the program. While sizes change quickly, as when a window is dragged,
// it gets the latest one twenty times a second.
func (p *Process) Resize(cols, rows int) error {
	if err := machine.CheckTerminalSize(cols, rows); err != nil {
		return err
	}
	s := &p.size
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || p.hasExited() {
		return ErrExited
	}
	s.cols, s.rows = cols, rows
	if s.later != nil {
		return nil
	}
	if wait := sizeEvery - time.Since(s.told); wait > 0 {
		s.later = time.AfterFunc(wait, p.resizeLater)
		return nil
	}
	return p.tellSize()
}

func (p *Process) resizeLater() {
	p.size.mu.Lock()
	defer p.size.mu.Unlock()
	if p.size.later = nil; !p.size.closed {
		_ = p.tellSize() // fails only when the program is gone
	}
}

// tellSize sets the program's size; p.size.mu is held.
func (p *Process) tellSize() error {
	cols, rows := p.size.cols, p.size.rows
	p.size.told = time.Now()
	size := &unix.Winsize{Col: uint16(cols), Row: uint16(rows)}
	err := p.control(func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size) })
	switch {
	case err == nil:
		p.feed.resize(cols, rows)
	case p.hasExited():
		return ErrExited
	}
	return err
}

// close ends resizing.
func (s *sizer) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed = true; s.later != nil {
		s.later.Stop()
	}
}
