package hub

import "github.com/ahphub/ahphub/hub/ahp"

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
	return e != nil && first.Origin == nil && e.Origin == nil && first.Rejection == "" && e.Rejection == "" &&
		e.Channel.URI == first.Channel.URI && e.Seq>>blockShift == first.Seq>>blockShift
}

// merged returns a span's envelopes merged, computed once for all connections
// that come past with the same span.
func merged(run []*Envelope) []*Envelope {
	first, last := run[0], run[len(run)-1]
	if first == last {
		return run
	}
	first.mu.Lock()
	defer first.mu.Unlock()
	if first.run == nil || first.run.last != last {
		first.run = &mergedRun{last: last, envs: fold(run)}
	}
	return first.run.envs
}

// mergedRun is the newest merge that starts at an envelope.
type mergedRun struct {
	last *Envelope
	envs []*Envelope
}

func fold(run []*Envelope) []*Envelope {
	out := []*Envelope{run[0]}
	for _, e := range run[1:] {
		n := len(out) - 1
		if m := mergeEnvelopes(out[n], e); m != nil {
			out[n] = m
		} else {
			out = append(out, e)
		}
	}
	return out
}

// mergeEnvelopes makes one envelope of two adjacent ones, carrying the later
// number, or returns nil when their reduced state would differ, somebody waits
// for the echo of one, or it would grow too large.
func mergeEnvelopes(a, b *Envelope) *Envelope {
	if a.Channel.URI != b.Channel.URI || a.Origin != nil || b.Origin != nil || a.Rejection != "" || b.Rejection != "" {
		return nil
	}
	if estimateSize(a.Action)+estimateSize(b.Action) > mergeLimit {
		return nil
	}
	m, ok := ahp.Merge(a.Action, b.Action)
	if !ok {
		return nil
	}
	return &Envelope{Channel: b.Channel, Seq: b.Seq, Action: m, At: b.At}
}
