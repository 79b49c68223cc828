package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Reconnect opens a new socket and resumes the subscriptions from the last number seen. It resends
// unanswered actions with their old numbers.
func (p *Peer) Reconnect(ctx context.Context) (*ahp.ReconnectResult, error) {
	p.Drop()
	if err := p.connect(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	params := ahp.ReconnectParams{Channel: ahp.RootURI, ClientID: p.opts.ClientID, LastSeenServerSeq: p.lastSeq}
	for uri := range p.mirrors {
		params.Subscriptions = append(params.Subscriptions, uri)
	}
	slices.Sort(params.Subscriptions)
	p.mu.Unlock()

	var result ahp.ReconnectResult
	err := p.call(ctx, "reconnect", params, func(raw json.RawMessage) error {
		if err := json.Unmarshal(raw, &result); err != nil {
			return err
		}
		return p.resume(&result, raw, params.LastSeenServerSeq)
	})
	if err != nil {
		return nil, err
	}
	return &result, p.resend(ctx)
}

// resume applies the answer to a reconnect. The lock is held.
func (p *Peer) resume(result *ahp.ReconnectResult, raw json.RawMessage, lastSeen int64) error {
	switch r := result.Value.(type) {
	case *ahp.ReconnectReplayResult:
		p.connSeq = lastSeen
		for _, uri := range r.Missing {
			delete(p.mirrors, uri)
		}
		var replay struct {
			Actions []json.RawMessage `json:"actions"`
		}
		if err := json.Unmarshal(raw, &replay); err != nil {
			return err
		}
		for i := range r.Actions {
			p.replay(&r.Actions[i], replay.Actions[i])
		}
	case *ahp.ReconnectSnapshotResult:
		p.mirrors = map[ahp.URI]*mirror{} // channels missing in the answer are gone
		if err := p.adoptAll(r.Snapshots, raw); err != nil {
			return err
		}
		for i := range r.Snapshots {
			p.lastSeq = max(p.lastSeq, r.Snapshots[i].FromSeq)
		}
	default:
		return errors.New("peer: the answer to reconnect is neither a replay nor snapshots")
	}
	return nil
}

// replay applies an envelope that may be older than a snapshot taken since the last number seen: a
// channel subscribed later starts at a higher number. The lock is held.
func (p *Peer) replay(e *ahp.ActionEnvelope, raw json.RawMessage) {
	if m := p.mirrors[e.Channel]; m != nil && e.ServerSeq <= m.seq && e.ServerSeq > p.connSeq {
		p.connSeq = e.ServerSeq
		return
	}
	p.apply(e, raw)
}

func (p *Peer) resend(ctx context.Context) error {
	p.mu.Lock()
	open := slices.Clone(p.pending)
	p.mu.Unlock()
	for _, sent := range open {
		if err := p.send(ctx, sent); err != nil {
			return err
		}
	}
	return nil
}

// Fresh gets a snapshot of a channel on a second connection, as another client of the same
// principal.
func (p *Peer) Fresh(ctx context.Context, channel ahp.URI) (ahp.State, error) {
	m, err := p.fresh(ctx, channel)
	if err != nil {
		return nil, err
	}
	return m.read()
}

func (p *Peer) fresh(ctx context.Context, channel ahp.URI) (*mirror, error) {
	opts := p.opts
	p.mu.Lock()
	p.freshCount++
	opts.ClientID = fmt.Sprintf("%s-fresh-%d", opts.ClientID, p.freshCount)
	p.mu.Unlock()
	opts.OnFrame = nil
	second, err := Dial(ctx, p.url, opts)
	if err != nil {
		return nil, err
	}
	if _, err = second.Initialize(ctx); err == nil {
		err = second.Subscribe(ctx, channel)
	}
	_ = second.Close() // its reader has ended, so the mirror is not shared
	if err != nil {
		return nil, err
	}
	return second.mirrors[channel], nil
}

// Converged waits until the mirror of a channel equals a fresh snapshot, and otherwise returns the
// differences. It compares JSON as sent by the host and reduced by the oracle, not as decoded by
// the program.
func (p *Peer) Converged(ctx context.Context, channel ahp.URI) error {
	for {
		p.mu.Lock()
		next := p.changed
		p.mu.Unlock()
		fresh, err := p.fresh(ctx, channel)
		if err != nil {
			return err
		}
		// This answer follows everything that the host queued before the snapshot.
		if err := p.Call(ctx, "ping", ahp.PingParams{Channel: ahp.RootURI}, nil); err != nil {
			return err
		}
		mine, err := p.canonical(channel)
		if err != nil {
			return err
		}
		want, err := fresh.canonical()
		if err != nil || mine == want {
			return err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return fmt.Errorf("peer: the mirror of %s differs\nmirror %s\nfresh  %s", channel, mine, want)
		}
	}
}

// canonical encodes the confirmed mirror of a channel.
func (p *Peer) canonical(channel ahp.URI) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.mirrors[channel]
	if m == nil {
		return "", fmt.Errorf("peer: %s is not mirrored", channel)
	}
	return m.canonical()
}
