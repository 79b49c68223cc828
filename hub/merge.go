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

// span counts the envelopes at the start of a batch that may share a merge: one
// channel, one block, made by the host, accepted.
func span(batch []entry) int {
	first := batch[0].env
	n := 1
	for n < len(batch) && mergeable(first, batch[n].env) {
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
func merged(run []entry) []*Envelope {
	first, last := run[0].env, run[len(run)-1].env
	if first == last {
		return []*Envelope{first}
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

func fold(run []entry) []*Envelope {
	out := []*Envelope{run[0].env}
	for _, e := range run[1:] {
		n := len(out) - 1
		if m := mergeEnvelopes(out[n], e.env); m != nil {
			out[n] = m
		} else {
			out = append(out, e.env)
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
