// Package history checks what clients of a cluster saw while its nodes failed: everything that was
// visible, acknowledged or started must match what the nodes have in the end. It runs nothing and
// reads no files; it knows only what a test recorded.
package history

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Seen is an envelope that a client saw.
type Seen struct {
	Mirror    string // the client, across all its connections
	Channel   ahp.URI
	Seq       int64
	Action    string // JSON, marshaled by the program's own types
	Client    string // the client whose action it answers; "": the host
	ClientSeq int64
	Rejected  bool
	Anew      bool // first envelope of a replay: earlier answers may have arrived too late to count
}

// Row is an envelope in a node's journal.
type Row struct {
	Channel   ahp.URI
	Seq       int64
	Action    string
	Client    string
	ClientSeq int64
}

// Read is a value that a visitor saw. Values only grow.
type Read struct {
	Visitor string
	Node    string
	Value   int
	Began   time.Time
	Ended   time.Time
}

// Write is a value that a writer set, and when it was acknowledged.
type Write struct {
	Value int
	Acked time.Time
}

// History holds everything that was recorded. It is safe for concurrent use.
type History struct {
	mu      sync.Mutex
	seen    []Seen
	texts   map[string]string // interned texts of actions
	acked   map[ack]int64     // number of each accepted client action
	refused map[ack]bool
	made    map[ahp.URI]string // channels whose creation was acknowledged, and their clients
	reads   []Read
	writes  []Write
	changed chan struct{} // closed at the next envelope
	rows    map[int64]Row // found by the last check
}

type ack struct {
	client string
	seq    int64
}

// New returns an empty history.
func New() *History {
	return &History{texts: map[string]string{}, acked: map[ack]int64{}, refused: map[ack]bool{},
		made: map[ahp.URI]string{}, changed: make(chan struct{})}
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

// Frame records the envelopes in a message that a client received.
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
		return nil // results of other requests have other types
	}
	list, replayed := m.Result.Actions, len(m.Result.Actions) > 0
	if m.Method == "action" {
		if err := json.Unmarshal(frame, &one); err != nil {
			return fmt.Errorf("cannot decode an envelope: %w", err)
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
	s := Seen{Mirror: mirror, Channel: e.Channel, Seq: e.ServerSeq, Action: string(text),
		Rejected: e.RejectionReason != "", Anew: anew}
	if e.Origin != nil {
		s.Client, s.ClientSeq = e.Origin.ClientID, e.Origin.ClientSeq
	}
	h.See(s)
	return nil
}

// Made records that a client received the acknowledgment of a new channel.
func (h *History) Made(client string, channel ahp.URI) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made[channel] = client
}

// Read records a value that a visitor saw.
func (h *History) Read(r Read) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads = append(h.reads, r)
}

// Wrote records that a write was acknowledged.
func (h *History) Wrote(value int, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes = append(h.writes, Write{value, at})
}

// Answered reports whether a client's action was accepted or answered. changed is closed when this
// may have changed.
func (h *History) Answered(client string, clientSeq int64) (accepted, answered bool, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := ack{client, clientSeq}
	_, accepted = h.acked[at]
	return accepted, accepted || h.refused[at], h.changed
}

// Counts returns how much was recorded.
func (h *History) Counts() (envelopes, acknowledged, made, reads int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.seen), len(h.acked), len(h.made), len(h.reads)
}
