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
	pace    func() // returns when people who watch have seen enough; nil does not wait

	pending []ahp.Action
	size    int       // bytes of output in pending
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
			o.add(o.dec.write(more(c, chunks)))
			if o.pace != nil {
				o.pace()
			}
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

// flushIfDue emits, or returns the timer that will tell when to: what comes
// within 8 ms is one step, up to 32 KiB.
func (o *output) flushIfDue(due <-chan time.Time) <-chan time.Time {
	if len(o.pending) == 0 {
		return nil
	}
	wait := time.Until(o.next)
	switch {
	case due != nil && (wait > 0 || o.size < mergeBytes):
		return due
	case wait <= 0 && o.size >= mergeBytes:
		o.flush()
		return nil
	}
	return time.After(max(wait, mergeFor))
}

// add gathers actions. When they overflow the scrollback, those that only
// added to what is now cleared are dropped.
func (o *output) add(actions []ahp.Action) {
	if o.cleared.Swap(false) {
		o.backlog.reset()
	}
	for _, a := range actions {
		o.backlog.note(a)
		o.gather(a)
	}
	if o.backlog.full() {
		o.pending = append(lasting(o.pending), o.backlog.trim(o.dec.scan.modes.String())...)
		o.size = dataIn(o.pending)
	}
}

// gather puts an action behind those that wait; output joins output.
func (o *output) gather(a ahp.Action) {
	d, ok := a.(*ahp.TerminalDataAction)
	if !ok {
		o.pending = append(o.pending, a)
		return
	}
	o.size += len(d.Data)
	if n := len(o.pending) - 1; n >= 0 {
		if last, ok := o.pending[n].(*ahp.TerminalDataAction); ok && len(last.Data)+len(d.Data) <= mergeBytes {
			o.pending[n] = &ahp.TerminalDataAction{Data: last.Data + d.Data}
			return
		}
	}
	o.pending = append(o.pending, a)
}

func dataIn(actions []ahp.Action) (n int) {
	for _, a := range actions {
		if d, ok := a.(*ahp.TerminalDataAction); ok {
			n += len(d.Data)
		}
	}
	return n
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
	o.emit(o.pending)
	n := o.size
	o.pending, o.size = nil, 0
	o.next = time.Now().Add(time.Duration(n) * time.Second / paceBytes)
}

// finish emits the rest and the exit.
func (o *output) finish(code int) {
	o.add(o.dec.finish())
	o.pending = append(o.pending, &ahp.TerminalExitedAction{ExitCode: ahp.Ptr(int64(code))})
	o.flush()
}

// more adds what else is there already, up to 32 KiB.
func more(first []byte, chunks <-chan []byte) []byte {
	for len(first) < mergeBytes {
		select {
		case c, ok := <-chunks:
			if !ok {
				return first
			}
			first = append(first, c...)
		default:
			return first
		}
	}
	return first
}
