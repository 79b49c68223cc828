package terminal

import (
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// paceBytes bounds a terminal's output to followers per second. A faster program is not slowed
// down: its output is merged, and output that no longer fits in the scrollback is not sent.
const paceBytes = 4 << 20

// titleEvery limits title changes: each goes into the list of terminals that all clients have.
const titleEvery = 500 * time.Millisecond

// output is the pipeline for a program's output: merged, decoded, bounded, paced, emitted.
type output struct {
	dec     *decoder
	backlog backlog
	emit    func([]ahp.Action)
	cleared *atomic.Bool
	said    <-chan []byte // text by the hub itself; nil for none
	pace    func()        // returns when viewers have caught up; nil does not wait

	pending []ahp.Action
	text    []byte    // output behind pending
	size    int       // bytes of output in both
	next    time.Time // earliest time of the next emission

	title  *ahp.TerminalTitleChangedAction // delayed, because the last was emitted recently
	titled time.Time                       // time of the last title
	late   *time.Timer                     // for a delayed title; nil without one
}

// pump emits chunks until they end: when the terminal is hung up, or some time after the program
// has ended even if other processes still hold the terminal open.
func (o *output) pump(chunks <-chan []byte, exited <-chan struct{}) {
	var drain, due <-chan time.Time
	for {
		select {
		case <-o.titleDue():
			o.late = nil
			o.tellTitle()
			due = o.flushIfDue(due)
		case c, ok := <-chunks:
			if !ok {
				o.flush() // the program may continue without its terminal
				return
			}
			o.scan(c, chunks)
			o.add(o.dec.step())
			if o.pace != nil {
				o.pace()
			}
			due = o.flushIfDue(due)
		case c := <-o.said:
			o.add(o.dec.write(c))
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

// flushIfDue emits, or returns the timer for it: output within 8 ms is one step, up to 32 KiB.
func (o *output) flushIfDue(due <-chan time.Time) <-chan time.Time {
	if o.empty() {
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

// add collects actions. When they overflow the scrollback, it drops actions that affect only
// cleared content.
func (o *output) add(actions []ahp.Action) {
	if o.cleared.Swap(false) {
		o.backlog.reset()
	}
	for _, a := range actions {
		o.backlog.note(a)
		o.gather(a)
	}
	if o.backlog.isFull() {
		o.pending, o.text = append(keepLasting(o.pending), o.backlog.trim(o.dec.scan.modes.String())...), o.text[:0]
		o.size = dataIn(o.pending)
	}
}

// gather appends an action to the pending ones; consecutive output is joined, up to 32 KiB.
func (o *output) gather(a ahp.Action) {
	if t, ok := a.(*ahp.TerminalTitleChangedAction); ok {
		o.gatherTitle(t)
		return
	}
	d, ok := a.(*ahp.TerminalDataAction)
	if !ok {
		o.settle()
		o.pending = append(o.pending, a)
		return
	}
	if len(o.text)+len(d.Data) > mergeBytes {
		o.settle()
	}
	o.text = append(o.text, d.Data...)
	o.size += len(d.Data)
}

// gatherTitle delays a title if there was one recently; only the last one is emitted.
func (o *output) gatherTitle(a *ahp.TerminalTitleChangedAction) {
	o.title = a
	if o.late != nil {
		return
	}
	if wait := titleEvery - time.Since(o.titled); wait > 0 {
		o.late = time.NewTimer(wait)
		return
	}
	o.tellTitle()
}

func (o *output) tellTitle() {
	o.settle()
	o.pending = append(o.pending, o.title)
	o.title, o.titled = nil, time.Now()
}

func (o *output) titleDue() <-chan time.Time {
	if o.late == nil {
		return nil
	}
	return o.late.C
}

// settle converts the collected output to an action.
func (o *output) settle() {
	o.pending = appendData(o.pending, o.text)
	o.text = o.text[:0]
}

func (o *output) empty() bool { return len(o.pending) == 0 && len(o.text) == 0 }

func dataIn(actions []ahp.Action) (n int) {
	for _, a := range actions {
		if d, ok := a.(*ahp.TerminalDataAction); ok {
			n += len(d.Data)
		}
	}
	return n
}

// keepLasting returns the actions whose effect outlives a clear.
func keepLasting(actions []ahp.Action) []ahp.Action {
	var kept []ahp.Action
	for _, a := range actions {
		switch a.(type) {
		case *ahp.TerminalDataAction, *ahp.TerminalClearedAction, *ahp.TerminalCommandExecutedAction,
			*ahp.TerminalCommandFinishedAction:
		default:
			kept = append(kept, a)
		}
	}
	return kept
}

func (o *output) flush() {
	if o.empty() {
		return
	}
	o.settle()
	o.emit(o.pending)
	n := o.size
	o.pending, o.size = nil, 0
	o.next = time.Now().Add(time.Duration(n) * time.Second / paceBytes)
}

// finish emits the rest and the exit.
func (o *output) finish(code int) {
	o.add(o.dec.finish())
	if o.title != nil {
		o.late.Stop()
		o.tellTitle()
	}
	o.settle()
	o.pending = append(o.pending, &ahp.TerminalExitedAction{ExitCode: ahp.Ptr(int64(code))})
	o.flush()
}

// scan takes a chunk and further ready ones, up to 32 KiB.
func (o *output) scan(c []byte, chunks <-chan []byte) {
	for n := len(c); ; n += len(c) {
		o.dec.scan.write(c)
		if n >= mergeBytes {
			return
		}
		var ok bool
		select {
		case c, ok = <-chunks:
			if !ok {
				return // pump sees it closed as well
			}
		default:
			return
		}
	}
}
