package terminals

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	bucketTerminals = "terminal"      // key: terminal URI, value: savedTerminal
	bucketPrinted   = "terminal-tail" // key: terminal URI, value: actions since
	saveEvery       = time.Second     // a terminal that prints is saved this often
	savePace        = 64 << 10        // bytes a second: all of one with a long scrollback is saved less often
	mostPrinted     = 64 << 10        // bytes printed since then that are saved; of more, the end
)

// savedTerminal is what is left of a terminal after a restart: its output is not in the journal, so its state is saved
// now and then, and when the program ends.
type savedTerminal struct {
	Session ahp.URI            `json:"session,omitempty"`
	State   *ahp.TerminalState `json:"state"`
}

// remember keeps an action that changes the content until it is saved; under the hub's lock.
func (t *term) remember(a ahp.Action) {
	switch a := a.(type) {
	case *ahp.TerminalClearedAction:
		t.since, t.printed = append(t.since[:0:0], a), 0
	case *ahp.TerminalDataAction, *ahp.TerminalCommandExecutedAction, *ahp.TerminalCommandFinishedAction:
		t.since = append(t.since, a)
		t.printed += estimateSize(a)
	}
	for t.printed > mostPrinted && len(t.since) > 1 {
		t.printed -= estimateSize(t.since[0])
		t.since = t.since[1:]
	}
}

// estimateSize returns about how many bytes an action takes in a record.
func estimateSize(a ahp.Action) int {
	switch a := a.(type) {
	case *ahp.TerminalDataAction:
		return len(a.Data)
	case *ahp.TerminalCommandExecutedAction:
		return len(a.CommandLine) + 256
	case *ahp.TerminalClearedAction:
		return 0
	}
	return 256
}

// isUnsaved reports whether the terminal has news that may be saved now.
func (t *term) isUnsaved() bool {
	return t.dirty.Load() && t.part.core.Now().UnixNano() >= t.due.Load()
}

// save saves all of the terminal or, when that was a short time ago and is large, what it printed since.
func (t *term) save() {
	now := t.part.core.Now()
	t.due.Store(now.Add(saveEvery).UnixNano())
	if now.UnixNano() >= t.whole.Load() {
		t.saveWhole()
		return
	}
	t.dirty.Store(false)
	var since []ahp.Action
	_ = t.part.core.Do(t.ctx, func(*hub.Tx) { since = slices.Clone(t.since) }) // fails only when the terminal is gone
	var raw []json.RawMessage
	for _, a := range since {
		b, err := ahp.MarshalAction(a)
		if err != nil {
			t.part.core.Log.Error("what a terminal printed cannot be written", "terminal", t.info, "err", err)
			return
		}
		raw = append(raw, b)
	}
	if b, err := json.Marshal(raw); err == nil { // of valid JSON
		t.record(func(tx *hub.Tx) { tx.Record(bucketPrinted, t.info.URI, b) })
	}
}

// saveWhole encodes the terminal's state off the hub's lock, then records it.
func (t *term) saveWhole() {
	if !t.dirty.Swap(false) {
		return
	}
	var s *ahp.TerminalState
	_ = t.part.core.Do(t.ctx, func(tx *hub.Tx) { // fails only when the terminal is gone
		s, _ = hub.StateOf[*ahp.TerminalState](tx, t.info.URI)
		t.since, t.printed = nil, 0
	})
	if s == nil {
		return
	}
	raw, err := json.Marshal(savedTerminal{t.info.Session, s})
	if err != nil {
		t.part.core.Log.Error("a terminal's screen cannot be written", "terminal", t.info, "err", err)
		return
	}
	t.record(func(tx *hub.Tx) {
		tx.Record(bucketTerminals, t.info.URI, raw)
		tx.Record(bucketPrinted, t.info.URI, nil)
	})
	t.whole.Store(t.part.core.Now().Add(time.Duration(len(raw)) * time.Second / savePace).UnixNano())
}

// record runs write in a step if the terminal is still open.
func (t *term) record(write func(*hub.Tx)) {
	_ = t.part.core.Do(t.ctx, func(tx *hub.Tx) {
		if _, open := tx.Info(t.info.URI); open {
			write(tx)
		}
	})
}

// keepSaving saves terminals that print until the host stops.
func (p *Part) keepSaving() {
	tick := time.NewTicker(saveEvery / 4)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, t := range p.list((*term).isUnsaved) {
				t.save()
			}
		case <-p.core.Ctx.Done():
			return
		}
	}
}

// replayPrinted applies to saved terminals what they printed after all of them was saved.
func (p *Part) replayPrinted(ctx context.Context, saved map[ahp.URI]*ahp.TerminalState) error {
	records, err := p.core.Store.Records(ctx, bucketPrinted)
	if err != nil {
		return err
	}
	for _, r := range records {
		s := saved[r.Key]
		var all []json.RawMessage
		if err := json.Unmarshal(r.Value, &all); err != nil || s == nil {
			p.core.Log.Warn("what a terminal printed last cannot be read", "terminal", r.Key, "err", err)
			continue
		}
		for _, raw := range all {
			if a, err := ahp.UnmarshalAction(raw); err == nil {
				s = ahp.Reduce(s, a).(*ahp.TerminalState)
			}
		}
		saved[r.Key] = s
	}
	return nil
}
