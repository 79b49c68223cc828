package terminals

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// recoverTerminals reopens the terminals of the last run. As there are no subscribers yet, it
// closes and opens each channel.
func (p *Part) recoverTerminals(ctx context.Context) error {
	saved, err := p.readSaved(ctx)
	if err != nil {
		return err
	}
	root, _ := hub.StateOf[*ahp.RootState](p.core.Hub, ahp.RootURI)
	if root == nil {
		return nil
	}
	for _, t := range root.Terminals {
		if err := p.reopen(ctx, t, saved[t.Resource]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Part) readSaved(ctx context.Context) (map[ahp.URI]*ahp.TerminalState, error) {
	records, err := p.core.Store.Records(ctx, bucketTerminals)
	if err != nil {
		return nil, fmt.Errorf("host: read the terminals of the last run: %w", err)
	}
	out := make(map[ahp.URI]*ahp.TerminalState, len(records))
	for _, r := range records {
		var s savedTerminal
		if err := json.Unmarshal(r.Value, &s); err != nil || s.State == nil {
			p.core.Log.Warn("a terminal's saved screen cannot be read", "terminal", r.Key, "err", err)
			continue
		}
		out[r.Key] = s.State
	}
	return out, p.replayPrinted(ctx, out)
}

// reopen opens a terminal as exited, or removes it from the list if nothing of it was saved.
func (p *Part) reopen(ctx context.Context, t ahp.TerminalInfo, saved *ahp.TerminalState) error {
	info, known := p.core.Hub.Info(t.Resource)
	if !known {
		info = hub.ChannelInfo{URI: t.Resource, Kind: ahp.ChannelTerminal}
		saved = nil // closed, but the list was not updated
	} else if saved == nil {
		saved = p.readJournaled(ctx, t.Resource)
	}
	if claim, ok := t.Claim.Value.(*ahp.TerminalSessionClaim); ok && claim.ToolCallID != "" && saved != nil {
		p.adopt(info)
	}
	return p.core.Do(ctx, func(tx *hub.Tx) {
		tx.Close(t.Resource)
		if saved != nil {
			s := *saved
			if !hasExited(&s) {
				s.Lifecycle = ahp.TerminalLifecycleState{Status: ahp.TerminalLifecycleStatusExited}
			}
			if err := tx.Open(info, &s); err != nil {
				p.core.Log.Error("a terminal of the last run cannot be opened", "terminal", t.Resource, "err", err)
			}
		}
		p.listInRoot(tx, t.Resource)
	})
}

// adopt adds a terminal of an earlier run to the exited ones of tool calls.
func (p *Part) adopt(info hub.ChannelInfo) {
	t := &term{part: p, info: info, kind: kind{agents: true}}
	t.ctx, t.cancel = context.WithCancel(p.core.Ctx)
	if err := p.add(t); err == nil {
		p.retain(t)
	}
}

// readJournaled returns a terminal's state in the journal, which has everything but its output.
func (p *Part) readJournaled(ctx context.Context, uri ahp.URI) *ahp.TerminalState {
	if err := p.core.Wake(ctx, hub.ChannelInfo{URI: uri}); err != nil {
		p.core.Log.Warn("a terminal of the last run is lost", "terminal", uri, "err", err)
		return nil
	}
	s, _ := hub.StateOf[*ahp.TerminalState](p.core.Hub, uri)
	return s
}
