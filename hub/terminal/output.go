package terminal

import (
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// paceBytes is how much a second of one terminal's output followers are sent.
// A program that writes faster is not slowed down: what it writes meanwhile is
// gathered, and what the scrollback would have lost is not sent at all.
const paceBytes = 4 << 20

// output is the way of what a program writes: merged, decoded, bounded, paced, emitted.
type output struct {
	dec     *decoder
	backlog backlog
	emit    func([]ahp.Action)
	cleared *atomic.Bool

	pending []ahp.Action
	next    time.Time // nothing is emitted before
}

// pump emits chunks until there are no more: until the terminal is hung up, or
// some time after the program is gone although others still hold it open.
func (o *output) pump(chunks <-chan []byte, exited <-chan struct{}) {
	var drain, due <-chan time.Time
	for {
		select {
		case c, ok := <-chunks:
			if !ok {
				return
			}
			o.add(o.dec.write(merge(c, chunks)))
			due = o.flushIfDue(due)
		case <-due:
			o.flush()
			due = nil
		case <-exited:
			exited, drain = nil, time.After(drainFor)
		case <-drain:
			return
		}
	}
}

// flushIfDue emits, or returns the timer that will tell when to.
func (o *output) flushIfDue(due <-chan time.Time) <-chan time.Time {
	wait := time.Until(o.next)
	if wait <= 0 {
		o.flush()
		return nil
	}
	if due == nil {
		due = time.After(wait)
	}
	return due
}

// add gathers actions. When they overflow the scrollback, those that only
// added to what is now cleared are dropped.
func (o *output) add(actions []ahp.Action) {
	if o.cleared.Swap(false) {
		o.backlog.reset()
	}
	for _, a := range actions {
		o.backlog.note(a)
	}
	o.pending = append(o.pending, actions...)
	if o.backlog.full() {
		o.pending = append(lasting(o.pending), o.backlog.trim(o.dec.scan.modes.String())...)
	}
}

// lasting are the actions whose effect outlives a clear.
func lasting(actions []ahp.Action) []ahp.Action {
	var kept []ahp.Action
	for _, a := range actions {
		switch a.(type) {
		case *ahp.TerminalDataAction, *ahp.TerminalClearedAction, *ahp.TerminalCommandExecutedAction, *ahp.TerminalCommandFinishedAction:
		default:
			kept = append(kept, a)
		}
	}
	return kept
}

func (o *output) flush() {
	if len(o.pending) == 0 {
		return
	}
	n := 0
	for _, a := range o.pending {
		if d, ok := a.(*ahp.TerminalDataAction); ok {
			n += len(d.Data)
		}
	}
	o.emit(o.pending)
	o.pending = nil
	o.next = time.Now().Add(time.Duration(n) * time.Second / paceBytes)
}

// finish emits the rest and the exit.
func (o *output) finish(code int) {
	o.add(o.dec.finish())
	o.pending = append(o.pending, &ahp.TerminalExitedAction{ExitCode: ahp.Ptr(int64(code))})
	o.flush()
}

// merge adds what else comes within 8 ms, up to 32 KiB.
func merge(first []byte, chunks <-chan []byte) []byte {
	if len(first) >= mergeBytes {
		return first
	}
	t := time.NewTimer(mergeFor)
	defer t.Stop()
	for len(first) < mergeBytes {
		select {
		case c, ok := <-chunks:
			if !ok {
				return first
			}
			first = append(first, c...)
		case <-t.C:
			return first
		}
	}
	return first
}
