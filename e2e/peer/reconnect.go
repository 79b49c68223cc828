package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Reconnect opens a new socket and resumes the subscriptions from the last number seen. Actions that are still
// unanswered are sent again, under their old numbers.
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
		return p.resume(&result, params.LastSeenServerSeq)
	})
	if err != nil {
		return nil, err
	}
	return &result, p.resend(ctx)
}

// resume applies the answer to a reconnect. The lock is held.
func (p *Peer) resume(result *ahp.ReconnectResult, lastSeen int64) error {
	switch r := result.Value.(type) {
	case *ahp.ReconnectReplayResult:
		p.connSeq = lastSeen
		for _, uri := range r.Missing {
			delete(p.mirrors, uri)
		}
		for i := range r.Actions {
			p.replay(&r.Actions[i])
		}
	case *ahp.ReconnectSnapshotResult:
		p.mirrors = map[ahp.URI]*mirror{} // what the answer leaves out is gone
		for i := range r.Snapshots {
			if err := p.adopt(&r.Snapshots[i]); err != nil {
				return err
			}
			p.lastSeq = max(p.lastSeq, r.Snapshots[i].FromSeq)
		}
	default:
		return errors.New("peer: the answer to reconnect is neither a replay nor snapshots")
	}
	return nil
}

// replay applies an envelope that may be older than a snapshot taken since the last number seen: a channel subscribed
// to late starts at a higher number than the others. The lock is held.
func (p *Peer) replay(e *ahp.ActionEnvelope) {
	if m := p.mirrors[e.Channel]; m != nil && e.ServerSeq <= m.seq && e.ServerSeq > p.connSeq {
		p.connSeq = e.ServerSeq
		return
	}
	p.apply(e)
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

// Fresh takes a snapshot of a channel on a second connection, as another client of the same principal.
func (p *Peer) Fresh(ctx context.Context, channel ahp.URI) (ahp.State, error) {
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
	defer second.Close()
	if _, err := second.Initialize(ctx); err != nil {
		return nil, err
	}
	if err := second.Subscribe(ctx, channel); err != nil {
		return nil, err
	}
	state, _ := second.Confirmed(channel)
	return state, nil
}

// Converged waits until the mirror of a channel equals a fresh snapshot of it, and otherwise says how they differ.
func (p *Peer) Converged(ctx context.Context, channel ahp.URI) error {
	for {
		p.mu.Lock()
		next := p.changed
		p.mu.Unlock()
		fresh, err := p.Fresh(ctx, channel)
		if err != nil {
			return err
		}
		// Whatever the host had queued for us before the snapshot comes before this answer.
		if err := p.Call(ctx, "ping", ahp.PingParams{Channel: ahp.RootURI}, nil); err != nil {
			return err
		}
		confirmed, _ := p.Confirmed(channel)
		mine, err := ahp.Marshal(confirmed)
		if err != nil {
			return err
		}
		want, err := ahp.Marshal(fresh)
		if err != nil || bytes.Equal(mine, want) {
			return err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return fmt.Errorf("peer: the mirror of %s differs\nmirror %s\nfresh  %s", channel, mine, want)
		}
	}
}
