package hub

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Envelope is one numbered step of the timeline. It is shared by every queue
// and window that holds it and never changes after it was made.
type Envelope struct {
	Channel   ChannelInfo
	Seq       int64 // serverSeq
	Action    ahp.Action
	Origin    *ahp.ActionOrigin // nil when the host made it
	Principal string            // who dispatched it; "" for the host
	Rejection string            // why it was refused; "" when accepted
	At        time.Time

	estimate int          // bytes, guarded by Hub.mu once in a window
	encoded  atomic.Int64 // largest encoding made of it; 0 while there is none
	mu       sync.Mutex
	cache    []encoding
	run      *mergedRun // what it and those after it merge to, for connections that are behind

	alone  bool  // for one connection: others have what stands on both sides of it next to each other
	queued entry // how it stands in queues, the same in all of them
}

// enter makes the entry that queues hold, once the envelope has its number.
func (e *Envelope) enter(pos int64) *entry {
	e.queued = entry{env: e, pos: pos, size: e.estimate}
	return &e.queued
}

type encoding struct {
	key   string
	bytes []byte
}

// Bytes returns the encoding named key and makes it with encode the first time
// somebody asks: one encoding for each (version, audience, spelling) in use,
// by the first writer that needs it. A nil result is remembered too and means
// that this audience gets nothing.
func (e *Envelope) Bytes(key string, encode func(*Envelope) []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.cache {
		if e.cache[i].key == key {
			return e.cache[i].bytes
		}
	}
	b := encode(e)
	e.cache = append(e.cache, encoding{key, b})
	if n := int64(len(b)); n > e.encoded.Load() {
		e.encoded.Store(n)
	}
	return b
}

// estimateSize guesses the encoded size under the lock without encoding:
// exact for streamed text, coarse for the rest, corrected by window.settle.
func estimateSize(a ahp.Action) int {
	const frame = 200 // the envelope around an action
	switch a := a.(type) {
	case *ahp.ChatDeltaAction:
		return frame + len(a.Content)
	case *ahp.ChatReasoningAction:
		return frame + len(a.Content)
	case *ahp.ChatToolCallDeltaAction:
		return frame + len(a.Content)
	case *ahp.TerminalDataAction:
		return frame + len(a.Data)
	case *ahp.TerminalInputAction:
		return frame + len(a.Data)
	case *ahp.ChangesetContentChangedAction:
		return frame + 600*len(a.Files)
	case *ahp.ChatTurnsLoadedAction:
		return frame + 8192*len(a.Turns)
	}
	return 5 * frame
}

// journaled reports whether the journal keeps the action. Terminal bytes and
// keys are exempt: keys may be passwords, and a terminal's bytes end with it.
// So are the events of resource watches, which end with their followers.
func journaled(a ahp.Action) bool {
	switch a.(type) {
	case *ahp.TerminalDataAction, *ahp.TerminalInputAction, *ahp.ResourceWatchChangedAction:
		return false
	}
	return true
}
