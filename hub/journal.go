package hub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// ErrReadOnly is returned while the journal fails or is too far behind: accepted changes are kept,
// but no new ones accepted.
var ErrReadOnly = errors.New(
	"this server is read-only for now, because its journal cannot be written: try again in a moment")

// Write is one entry of the journal, in order; exactly one of its fields is set.
type Write struct {
	Env    *Envelope
	Open   *OpenWrite
	Close  ahp.URI
	Record *Record
	Prune  time.Time // expire old entries as of this time
}

// OpenWrite is a new channel with its first state.
type OpenWrite struct {
	Info  ChannelInfo
	State ahp.State
	Seq   int64 // the timeline's number when it was opened
}

// Record is host state written in order with the envelopes; a nil Value deletes.
type Record struct {
	Bucket, Key string
	At          time.Time
	Value       []byte
	Encode      func() ([]byte, error) // makes the Value when it is written, outside the hub's lock; nil: Value is set
}

// Batch is the next part of the journal to write. Several may be in progress; they become durable
// in order.
type Batch struct {
	Writes  []Write
	Upto    int64 // pass it to Durable once the writes are durable
	Seq     int64 // the timeline's newest number
	Reserve bool  // numbers run low: reserve another block, and pass it to Durable
}

// flight is a batch that the store has taken and that is not durable yet.
type flight struct {
	upto    int64
	bytes   int
	reserve bool
}

// reserveMargin is the number of reserved numbers below which the store is asked for more; a block
// should be several times larger.
const reserveMargin = 1 << 18

// journal is the queue for the store; guarded by Hub.mu.
type journal struct {
	on        bool
	pos       int64 // position of the newest write
	writes    []Write
	bytes     int      // of writes
	flights   []flight // oldest first
	inFlight  int      // bytes of flights
	reserved  int64
	asked     bool
	reserving bool  // a flight reserves
	failed    error // nothing more is accepted
	saving    bool  // while failed: accepted changes are still written
	settlers  []settler
	wake      chan struct{}
}

func newJournal(on bool, reserved int64) journal {
	return journal{on: on, reserved: reserved, wake: make(chan struct{}, 1)}
}

// add queues a write and returns its position.
func (h *Hub) add(w Write, size int) int64 {
	j := &h.journal
	j.pos++
	if !j.on {
		h.durable.Store(j.pos)
		return j.pos
	}
	j.writes = append(j.writes, w)
	j.bytes += size
	if len(j.writes) == 1 {
		signal(j.wake)
	}
	return j.pos
}

// next returns the next number, and requests more in time.
func (h *Hub) next() int64 {
	h.seq++
	if j := &h.journal; j.on && !j.asked && j.reserved-h.seq < reserveMargin {
		j.asked = true
		signal(j.wake)
	}
	return h.seq
}

// readOnly returns why no change is accepted now.
func (h *Hub) readOnly() error {
	j := &h.journal
	switch {
	case !j.on:
		return nil
	case j.failed != nil:
		return fmt.Errorf("%w (%w)", ErrReadOnly, j.failed)
	case j.bytes+j.inFlight > h.limits.UnjournaledBytes:
		return fmt.Errorf("%w (%d bytes wait for the disk)", ErrReadOnly, j.bytes+j.inFlight)
	case !h.reservedFor(64): // one step may use several numbers
		return fmt.Errorf("%w (no number is reserved)", ErrReadOnly)
	}
	return nil
}

// reservedFor reports whether n more numbers may be used.
func (h *Hub) reservedFor(n int) bool {
	return !h.journal.on || h.seq+int64(n) <= h.journal.reserved
}

// ReadOnly returns nil, or an error that wraps ErrReadOnly.
func (h *Hub) ReadOnly() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.readOnly()
}

// Unjournaled blocks until there is something to write or to reserve. Only the store's writer calls
// it, also while earlier batches are not durable yet.
func (h *Hub) Unjournaled(ctx context.Context) (Batch, error) {
	for {
		if b, ok := h.takeBatch(); ok {
			return b, nil
		}
		select {
		case <-h.journal.wake:
		case <-ctx.Done():
			return Batch{}, ctx.Err()
		}
	}
}

func (h *Hub) takeBatch() (Batch, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	j := &h.journal
	reserve := j.on && !j.reserving && j.reserved-h.seq < reserveMargin
	if len(j.writes) == 0 && !reserve {
		return Batch{}, false
	}
	b := Batch{Writes: j.writes, Upto: j.pos, Seq: h.seq, Reserve: reserve}
	j.flights = append(j.flights, flight{upto: b.Upto, bytes: j.bytes, reserve: reserve})
	j.inFlight += j.bytes
	j.reserving = j.reserving || reserve
	j.writes, j.bytes = nil, 0
	return b, true
}

// MoreUnjournaled returns what Unjournaled would return without blocking, if anything.
func (h *Hub) MoreUnjournaled() (Batch, bool) { return h.takeBatch() }

// Taken reports whether the store has taken all accepted changes.
func (h *Hub) Taken() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.journal.writes) == 0
}

// Durable reports that everything up to a batch's Upto is durable, including earlier batches, and
// that numbers up to reserved may be used (0: unchanged).
func (h *Hub) Durable(upto, reserved int64) {
	h.mu.Lock()
	j := &h.journal
	j.land(upto)
	if reserved > j.reserved {
		j.reserved, j.asked = reserved, false
	}
	h.durable.Store(upto)
	j.settle(upto, nil)
	wake := h.takeWaiting(upto)
	h.effects.release()
	h.mu.Unlock()
	for _, c := range wake {
		signal(c.wake)
	}
}

// land removes the batches that are now durable; Hub.mu is held.
func (j *journal) land(upto int64) {
	n := 0
	for n < len(j.flights) && j.flights[n].upto <= upto {
		j.inFlight -= j.flights[n].bytes
		j.reserving = j.reserving && !j.flights[n].reserve
		n++
	}
	j.flights = append(j.flights[:0], j.flights[n:]...)
}

// takeWaiting returns the connections to wake and keeps the others.
func (h *Hub) takeWaiting(upto int64) []*Conn {
	wake := make([]*Conn, len(h.waiting))
	copy(wake, h.waiting)
	kept := h.waiting[:0]
	for _, c := range h.waiting {
		if c.tail > upto {
			kept = append(kept, c)
		} else {
			c.listed = false
		}
	}
	clear(h.waiting[len(kept):])
	h.waiting = kept
	return wake
}

// JournalFailed makes the host read-only; the store keeps its batch and retries.
func (h *Hub) JournalFailed(err error) { h.turnReadOnly(err, false) }

// JournalFull also makes the host read-only, but accepted changes are still written.
func (h *Hub) JournalFull(err error) { h.turnReadOnly(err, true) }

func (h *Hub) turnReadOnly(err error, saving bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.journal.failed, h.journal.saving = err, saving
	h.failing.Store(err != nil && h.quorum == nil)
	if err == nil {
		return
	}
	if !saving {
		h.journal.settle(0, err)
	}
	for _, c := range h.waiting { // reads are still answered
		signal(c.wake)
	}
}

// JournalBack ends the state set by JournalFailed or JournalFull.
func (h *Hub) JournalBack() { h.JournalFailed(nil) }

// signal wakes the reader of a channel with a buffer of one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
