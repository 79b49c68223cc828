package hub

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Envelope is one numbered step of the timeline. Every queue and window that holds it shares it; it
// does not change once made.
type Envelope struct {
	Channel   ChannelInfo
	Seq       int64 // serverSeq
	Action    ahp.Action
	Origin    *ahp.ActionOrigin // nil for actions of the host
	Principal string            // the principal who dispatched it; "" for the host
	Rejection string            // the reason of a refusal; "" when accepted
	At        time.Time

	estimate int          // bytes, guarded by Hub.mu once in a window
	encoded  atomic.Int64 // largest encoding made of it; 0 while there is none
	mu       sync.Mutex
	cache    []encoding
	run      *mergedRun // merged form of it and its successors, for connections that are behind

	alone  bool  // sent to one connection only; for others its neighbours are adjacent
	queued entry // its entry in queues, shared by all of them
}

// enter returns the entry that queues hold, once the envelope has its number.
func (e *Envelope) enter(pos int64) *entry {
	e.queued = entry{env: e, pos: pos, size: e.estimate}
	return &e.queued
}

type encoding struct {
	key   string
	bytes []byte
}

// Bytes returns the encoding named key, made by encode on first use: one encoding for each
// (version, audience, spelling) in use, made by the first writer that needs it. A nil result is
// remembered too; it means that this audience gets nothing.
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

// estimateSize estimates the encoded size without encoding, because the lock is held: exact for
// streamed text, coarse for the rest, corrected by window.settle.
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

// isJournaled reports whether the journal keeps the action. Terminal input is exempt because it may
// be a password, and terminal output because it ends with the terminal. So are the events of
// resource watches, which end with their followers.
func isJournaled(a ahp.Action) bool {
	switch a.(type) {
	case *ahp.TerminalDataAction, *ahp.TerminalInputAction, *ahp.ResourceWatchChangedAction:
		return false
	}
	return true
}
