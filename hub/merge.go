package hub

import (
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Only envelopes adjacent in one connection's queue merge, carrying the last
// number (DESIGN promise 4). A connection that keeps up gets them as they are
// and shares the encoding made once for all; one that is behind gets blocks.
//
// Blocks end at fixed numbers, so that connections which are behind by different
// amounts still share each merged envelope and its encoding: without that, a
// thousand slow readers of one stream merge and encode it a thousand times.

const (
	behind     = 64       // entries in a batch from which a connection counts as behind
	blockShift = 6        // a block is 64 consecutive numbers
	mergeLimit = 32 << 10 // bytes past which an envelope takes no more
)

// span counts the envelopes at the start of envs that may share a merge: one
// channel, one block, made by the host, accepted. A nil ends it.
func span(envs []*Envelope) int {
	n := 1
	for n < len(envs) && mergeable(envs[0], envs[n]) {
		n++
	}
	return n
}

func mergeable(first, e *Envelope) bool {
	return e != nil && first.mayMerge() && e.mayMerge() &&
		e.Channel.URI == first.Channel.URI && e.Seq>>blockShift == first.Seq>>blockShift
}

// mayMerge reports whether nobody waits for the envelope itself.
func (e *Envelope) mayMerge() bool { return e.Origin == nil && e.Rejection == "" && !e.alone }

// merged returns a span's envelopes merged, computed once for all connections
// that come past with the same span; one with a longer span goes on from there.
func merged(run []*Envelope) []*Envelope {
	first, last := run[0], run[len(run)-1]
	if first == last {
		return run
	}
	first.mu.Lock()
	defer first.mu.Unlock()
	known := first.run
	switch {
	case known == nil:
		first.run = &mergedRun{len(run), fold(nil, run)}
	case known.n < len(run):
		first.run = &mergedRun{len(run), fold(known.envs, run[known.n:])}
	case known.n > len(run):
		return fold(nil, run)
	}
	return first.run.envs
}

// mergedRun is the longest merge that starts at an envelope.
type mergedRun struct {
	n    int // of so many
	envs []*Envelope
}

// fold merges a run with what those before it came to, which stays as it is.
func fold(before, run []*Envelope) []*Envelope {
	out := slices.Clone(before)
	for len(run) > 0 {
		n := 0
		if last := len(out) - 1; last >= 0 {
			out[last], n = extended(out[last], run)
		}
		if n == 0 {
			out, n = append(out, run[0]), 1
		}
		run = run[n:]
	}
	return out
}

// extended merges as many of a run into an envelope as go, and counts them.
func extended(e *Envelope, run []*Envelope) (*Envelope, int) {
	n, merged := 0, ahp.Merging(e.Action)
	for n < len(run) && estimateSize(merged.Action)+estimateSize(run[n].Action) <= mergeLimit && merged.Add(run[n].Action) {
		n++
	}
	if n == 0 {
		return e, 0
	}
	last := run[n-1]
	return &Envelope{Channel: last.Channel, Seq: last.Seq, Action: merged.Action, At: last.At}, n
}

// mergeEnvelopes makes one envelope of two adjacent ones, carrying the later
// number, or returns nil when their reduced state would differ, somebody waits
// for the echo of one, or it would grow too large.
func mergeEnvelopes(a, b *Envelope) *Envelope {
	if a.Channel.URI != b.Channel.URI || !a.mayMerge() || !b.mayMerge() {
		return nil
	}
	if m, n := extended(a, []*Envelope{b}); n > 0 {
		return m
	}
	return nil
}
