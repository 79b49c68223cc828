package terminal

import (
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// output is the way of what a program writes: merged, decoded, bounded, emitted.
type output struct {
	dec     *decoder
	backlog backlog
	emit    func([]ahp.Action)
	cleared *atomic.Bool
}

// pump emits chunks until there are no more: until the terminal is hung up, or
// some time after the program is gone although others still hold it open.
func (o *output) pump(chunks <-chan []byte, exited <-chan struct{}) {
	var drain <-chan time.Time
	for {
		select {
		case c, ok := <-chunks:
			if !ok {
				return
			}
			o.send(o.dec.write(merge(c, chunks)))
		case <-exited:
			exited, drain = nil, time.After(drainFor)
		case <-drain:
			return
		}
	}
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

func (o *output) finish(code int) {
	o.send(append(o.dec.finish(), &ahp.TerminalExitedAction{ExitCode: ahp.Ptr(int64(code))}))
}

func (o *output) send(actions []ahp.Action) {
	if o.cleared.Swap(false) {
		o.backlog.reset()
	}
	if len(actions) > 0 {
		o.emit(o.backlog.add(actions))
	}
}
