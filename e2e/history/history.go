// Package history judges what clients of a cluster saw while its nodes failed: whether what was visible, acknowledged or
// started is what the nodes have in the end. It runs nothing and reads no file: what a test recorded is all it knows.
package history

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Seen is an envelope as a client saw it.
type Seen struct {
	Mirror    string // the client, over all its connections
	Channel   ahp.URI
	Seq       int64
	Action    string // as JSON that the program's own types have written
	Client    string // whose action it answers; "": the host's
	ClientSeq int64
	Rejected  bool
	Anew      bool // the first of what a client missed: an answer before this one may have come too late to be taken
}

// Row is an envelope as a node's journal has it.
type Row struct {
	Channel   ahp.URI
	Seq       int64
	Action    string
	Client    string
	ClientSeq int64
}

// Read is what a visitor was shown of a value that only grows.
type Read struct {
	Visitor string
	Node    string
	Value   int
	Began   time.Time
	Ended   time.Time
}

// Write is a value of the same kind, and when its writer was told that it is in.
type Write struct {
	Value int
	Acked time.Time
}

// History is all that was recorded. Its methods may be called from several goroutines.
type History struct {
	mu      sync.Mutex
	seen    []Seen
	texts   map[string]string // of actions, each kept once
	acked   map[ack]int64     // number of each client action that was accepted
	refused map[ack]bool
	made    map[ahp.URI]string // channels whose making was acknowledged, and by whom
	reads   []Read
	writes  []Write
	changed chan struct{} // closed at the next envelope
	rows    map[int64]Row // that the last check found
}

type ack struct {
	client string
	seq    int64
}

// New returns an empty history.
func New() *History {
	return &History{texts: map[string]string{}, acked: map[ack]int64{}, refused: map[ack]bool{}, made: map[ahp.URI]string{},
		changed: make(chan struct{})}
}

// See records an envelope.
func (h *History) See(s Seen) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.texts[s.Action]; ok {
		s.Action = known
	} else {
		h.texts[s.Action] = s.Action
	}
	h.seen = append(h.seen, s)
	if s.Client == s.Mirror && s.Client != "" {
		at := ack{s.Client, s.ClientSeq}
		if s.Rejected {
			h.refused[at] = true
		} else if _, known := h.acked[at]; !known {
			h.acked[at] = s.Seq
		}
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// Frame records what is visible in a message that a client got.
func (h *History) Frame(mirror string, frame []byte) error {
	var m struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result struct {
			Actions []ahp.ActionEnvelope `json:"actions"`
		} `json:"result"`
	}
	var one struct {
		Method string             `json:"method"`
		Params ahp.ActionEnvelope `json:"params"`
	}
	if err := json.Unmarshal(frame, &m); err != nil {
		return nil // the result of another request has another form
	}
	list, replayed := m.Result.Actions, len(m.Result.Actions) > 0
	if m.Method == "action" {
		if err := json.Unmarshal(frame, &one); err != nil {
			return fmt.Errorf("an envelope that cannot be read: %w", err)
		}
		list = append(list, one.Params)
	}
	for i := range list {
		if err := h.envelope(mirror, &list[i], replayed && i == 0); err != nil {
			return err
		}
	}
	return nil
}

func (h *History) envelope(mirror string, e *ahp.ActionEnvelope, anew bool) error {
	text, err := ahp.MarshalAction(e.Action)
	if err != nil {
		return err
	}
	s := Seen{Mirror: mirror, Channel: e.Channel, Seq: e.ServerSeq, Action: string(text), Rejected: e.RejectionReason != "", Anew: anew}
	if e.Origin != nil {
		s.Client, s.ClientSeq = e.Origin.ClientID, e.Origin.ClientSeq
	}
	h.See(s)
	return nil
}

// Made records that a client was told that a channel was made.
func (h *History) Made(client string, channel ahp.URI) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made[channel] = client
}

// Read records what a visitor was shown.
func (h *History) Read(r Read) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads = append(h.reads, r)
}

// Wrote records that a writer was told that a value is in.
func (h *History) Wrote(value int, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes = append(h.writes, Write{value, at})
}

// Answered reports whether a client's action was answered, and closes changed when that may have changed.
func (h *History) Answered(client string, clientSeq int64) (accepted, answered bool, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := ack{client, clientSeq}
	_, accepted = h.acked[at]
	return accepted, accepted || h.refused[at], h.changed
}

// Counts says how much was recorded.
func (h *History) Counts() (envelopes, acknowledged, made, reads int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.seen), len(h.acked), len(h.made), len(h.reads)
}
