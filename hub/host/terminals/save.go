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
	saveEvery       = time.Second     // interval of saves while a terminal has output
	savePace        = 64 << 10        // bytes a second: terminals with a long scrollback are fully saved less often
	mostPrinted     = 64 << 10        // bytes of output saved between full saves; only the last ones
)

// savedTerminal is a terminal's state for restarts. Output is not in the journal, so the state is
// saved regularly and when the program exits.
type savedTerminal struct {
	Session ahp.URI            `json:"session,omitempty"`
	State   *ahp.TerminalState `json:"state"`
}

// remember keeps a content action until the next full save. The hub's lock is held.
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

// estimateSize estimates an action's size in a record, in bytes.
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

// isUnsaved reports whether the terminal has output that is due to be saved.
func (t *term) isUnsaved() bool {
	return t.dirty.Load() && t.part.core.Now().UnixNano() >= t.due.Load()
}

// save saves the whole terminal or, if a large one was saved recently, its output since.
func (t *term) save() {
	now := t.part.core.Now()
	t.due.Store(now.Add(saveEvery).UnixNano())
	if now.UnixNano() >= t.whole.Load() {
		t.saveWhole()
		return
	}
	t.dirty.Store(false)
	var since []ahp.Action
	_ = t.part.core.Do(t.ctx, func(*hub.Tx) { since = slices.Clone(t.since) }) // fails only if the terminal is gone
	var raw []json.RawMessage
	for _, a := range since {
		b, err := ahp.MarshalAction(a)
		if err != nil {
			t.part.core.Log.Error("what a terminal printed cannot be written", "terminal", t.info, "err", err)
			return
		}
		raw = append(raw, b)
	}
	if b, err := json.Marshal(raw); err == nil { // valid JSON always encodes
		t.record(func(tx *hub.Tx) { tx.Record(bucketPrinted, t.info.URI, b) })
	}
}

// saveWhole encodes the terminal's state without the hub's lock, then records it.
func (t *term) saveWhole() {
	if !t.dirty.Swap(false) {
		return
	}
	var s *ahp.TerminalState
	_ = t.part.core.Do(t.ctx, func(tx *hub.Tx) { // fails only if the terminal is gone
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

// keepSaving saves terminals with new output until the host stops.
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

// replayPrinted applies the output after the last full save to saved terminals.
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
