package hub

import (
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Only envelopes adjacent in one connection's queue merge; the result carries the last number
// (DESIGN promise 4). A connection that keeps up gets them unmerged and shares the encoding made
// once for all; one that is behind gets blocks.
//
// Blocks end at fixed numbers, so that connections behind by different amounts still share each
// merged envelope and its encoding. Without that, a thousand slow readers of one stream would merge
// and encode it a thousand times.

const (
	behind     = 64       // entries in a batch from which a connection counts as behind
	blockShift = 6        // a block is 64 consecutive numbers
	mergeLimit = 32 << 10 // bytes past which an envelope is not extended further
)

// span counts the envelopes at the start of envs that may share a merge: of one channel and one
// block, made by the host, accepted. A nil ends it.
func span(envs []*Envelope) int {
	n := 1
	for n < len(envs) && canMerge(envs[0], envs[n]) {
		n++
	}
	return n
}

func canMerge(first, e *Envelope) bool {
	return e != nil && first.mayMerge() && e.mayMerge() &&
		e.Channel.URI == first.Channel.URI && e.Seq>>blockShift == first.Seq>>blockShift
}

// mayMerge reports whether no client waits for this particular envelope.
func (e *Envelope) mayMerge() bool { return e.Origin == nil && e.Rejection == "" && !e.alone }

// mayWait reports whether a delivery hold may delay the envelope, as a later one may merge with it.
func (e *Envelope) mayWait() bool {
	if e == nil || !e.mayMerge() {
		return false
	}
	info, known := ahp.Info(e.Action.ActionType())
	return known && info.Merge != ahp.MergeNever
}

// mergeSpan returns a span's envelopes merged. The result is computed once for all connections with
// the same span; a longer span extends it.
func mergeSpan(run []*Envelope) []*Envelope {
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
	n    int // number of envelopes merged
	envs []*Envelope
}

// fold merges a run onto the merge of the envelopes before it, which it does not change.
func fold(before, run []*Envelope) []*Envelope {
	out := slices.Clone(before)
	for len(run) > 0 {
		n := 0
		if last := len(out) - 1; last >= 0 {
			out[last], n = extendEnvelope(out[last], run)
		}
		if n == 0 {
			out, n = append(out, run[0]), 1
		}
		run = run[n:]
	}
	return out
}

// extendEnvelope merges as much of a run as possible into an envelope, and counts what it merged.
func extendEnvelope(e *Envelope, run []*Envelope) (*Envelope, int) {
	n, merged := 0, ahp.Merging(e.Action)
	for n < len(run) && estimateSize(merged.Action)+estimateSize(run[n].Action) <= mergeLimit &&
		merged.Add(run[n].Action) {
		n++
	}
	if n == 0 {
		return e, 0
	}
	last := run[n-1]
	return &Envelope{Channel: last.Channel, Seq: last.Seq, Action: merged.Action, At: last.At}, n
}

// mergeEnvelopes merges two adjacent envelopes into one that carries the later number. It returns
// nil when the reduced state would differ, a client waits for the echo of one, or the result would
// grow too large.
func mergeEnvelopes(a, b *Envelope) *Envelope {
	if a.Channel.URI != b.Channel.URI || !a.mayMerge() || !b.mayMerge() {
		return nil
	}
	if m, n := extendEnvelope(a, []*Envelope{b}); n > 0 {
		return m
	}
	return nil
}
