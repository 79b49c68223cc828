package hub

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// ChannelInfo describes a channel. Kinds come from here and never from the scheme of a URI, because
// clients choose the URIs of sessions.
type ChannelInfo struct {
	URI     ahp.URI
	Kind    ahp.ChannelKind
	Session ahp.URI // owner; "" for channels of the whole host
	// the chat it was opened for, such as a terminal of the chat's tool calls; "" for channels of
	// the session
	Chat ahp.URI
}

// channel is one entry of the registry; every field is guarded by Hub.mu.
type channel struct {
	info    ChannelInfo
	state   ahp.State // nil while asleep
	last    int64     // number of the newest envelope
	pos     int64     // journal position of the newest write
	window  window
	subs    []*Conn
	touched time.Time // time of the newest request, so that Sleep does not undo Ensure
}

var (
	// ErrUnknownChannel is returned for a channel that was never opened or was closed.
	ErrUnknownChannel = errors.New("this channel does not exist")
	// ErrChannelExists is returned by Tx.Open for a URI in use.
	ErrChannelExists = errors.New("a channel with this URI already exists")
)

func (ch *channel) isAsleep() bool { return ch.state == nil }

func (ch *channel) dropSub(c *Conn) {
	for i, s := range ch.subs {
		if s == c {
			ch.subs = append(ch.subs[:i], ch.subs[i+1:]...)
			return
		}
	}
}

// window keeps a channel's newest envelopes for replay, limited by size, so that a busy channel
// only affects the replay of its own subscribers.
type window struct {
	envs    []*Envelope
	floor   int64 // everything up to here is no longer in envs
	bytes   int
	settled int // envs[:settled] count with their encoded size
}

func (w *window) add(e *Envelope, limit int) {
	w.envs = append(w.envs, e)
	w.bytes += e.estimate
	w.settle()
	w.trim(limit)
}

// settle replaces estimates by real sizes for envelopes that have been encoded.
func (w *window) settle() {
	for w.settled < len(w.envs) {
		e := w.envs[w.settled]
		n := int(e.encoded.Load())
		if n == 0 {
			return
		}
		w.bytes += n - e.estimate
		e.estimate = n
		w.settled++
	}
}

func (w *window) trim(limit int) {
	drop := 0
	for w.bytes > limit && drop < len(w.envs)-1 {
		w.bytes -= w.envs[drop].estimate
		w.floor = w.envs[drop].Seq
		w.envs[drop] = nil
		drop++
	}
	w.envs = w.envs[drop:]
	w.settled = max(0, w.settled-drop)
}

// since returns the envelopes after seq, or false if some of them were trimmed.
func (w *window) since(seq int64) ([]*Envelope, bool) {
	if seq < w.floor {
		return nil, false
	}
	i := len(w.envs)
	for i > 0 && w.envs[i-1].Seq > seq {
		i--
	}
	return w.envs[i:], true
}

// find returns the envelope with this number, or nil if it was trimmed.
func (w *window) find(seq int64) *Envelope {
	i, ok := slices.BinarySearchFunc(w.envs, seq, func(e *Envelope, n int64) int { return cmp.Compare(e.Seq, n) })
	if !ok {
		return nil
	}
	return w.envs[i]
}

func (i ChannelInfo) String() string { return fmt.Sprintf("%s (%s)", i.URI, i.Kind) }
