package peer

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ahphub/ahphub/e2e/oracle"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Initialize sends initialize with initial subscriptions.
func (p *Peer) Initialize(ctx context.Context, subscriptions ...ahp.URI) (*ahp.InitializeResult, error) {
	var result ahp.InitializeResult
	params := ahp.InitializeParams{
		Channel: ahp.RootURI, ProtocolVersions: p.opts.Versions, ClientID: p.opts.ClientID,
		InitialSubscriptions: subscriptions,
	}
	err := p.call(ctx, "initialize", params, func(raw json.RawMessage) error {
		if err := json.Unmarshal(raw, &result); err != nil {
			return err
		}
		p.version, p.lastSeq = result.ProtocolVersion, max(p.lastSeq, result.ServerSeq)
		if err := p.adoptAll(result.Snapshots, raw); err != nil {
			return err
		}
		for _, uri := range subscriptions { // channels without state have no snapshot
			if p.opts.Kind(uri) == ahp.ChannelOtlp {
				p.mirrors[uri] = &mirror{kind: ahp.ChannelOtlp, version: p.version}
			}
		}
		return nil
	})
	return &result, err
}

// wireSnapshot is a snapshot not yet decoded by the program's types.
type wireSnapshot struct {
	State json.RawMessage `json:"state"`
}

// adoptAll starts or replaces mirrors from the snapshots of a result. The lock is held.
func (p *Peer) adoptAll(snapshots []ahp.Snapshot, result json.RawMessage) error {
	var raw struct {
		Snapshots []wireSnapshot `json:"snapshots"`
	}
	if err := json.Unmarshal(result, &raw); err != nil {
		return err
	}
	for i := range snapshots {
		if err := p.adopt(&snapshots[i], raw.Snapshots[i]); err != nil {
			return err
		}
	}
	return nil
}

// adopt starts or replaces a mirror from a snapshot. The lock is held.
func (p *Peer) adopt(s *ahp.Snapshot, raw wireSnapshot) error {
	kind := p.opts.Kind(s.Resource)
	if err := s.Decode(kind); err != nil {
		return fmt.Errorf("peer: snapshot of %s: %w", s.Resource, err)
	}
	m := &mirror{kind: kind, version: p.version, seq: s.FromSeq, typed: s.State}
	if !p.opts.Trust {
		var err error
		if m.state, err = oracle.Decode(raw.State); err != nil {
			return fmt.Errorf("peer: snapshot of %s: %w", s.Resource, err)
		}
	}
	p.mirrors[s.Resource] = m
	return nil
}

// Subscribe subscribes to a channel and mirrors it.
func (p *Peer) Subscribe(ctx context.Context, channel ahp.URI) error {
	_, err := p.SubscribeWith(ctx, ahp.SubscribeParams{Channel: channel})
	return err
}

// SubscribeWith subscribes with a view or delivery options.
func (p *Peer) SubscribeWith(ctx context.Context, params ahp.SubscribeParams) (*ahp.SubscribeResult, error) {
	var result ahp.SubscribeResult
	err := p.call(ctx, "subscribe", params, func(raw json.RawMessage) error {
		if err := json.Unmarshal(raw, &result); err != nil {
			return err
		}
		if result.Snapshot == nil { // a channel without state
			p.mirrors[params.Channel] = &mirror{kind: p.opts.Kind(params.Channel), version: p.version}
			return nil
		}
		if result.Snapshot.Resource != params.Channel {
			p.violateLocked("asked for %s, got a snapshot of %s", params.Channel, result.Snapshot.Resource)
		}
		var found struct {
			Snapshot wireSnapshot `json:"snapshot"`
		}
		if err := json.Unmarshal(raw, &found); err != nil {
			return err
		}
		return p.adopt(result.Snapshot, found.Snapshot)
	})
	return &result, err
}

// Unsubscribe ends a subscription. It returns once the host has processed it: later actions on the
// channel are violations.
func (p *Peer) Unsubscribe(ctx context.Context, channel ahp.URI) error {
	if err := p.Notify(ctx, "unsubscribe", ahp.UnsubscribeParams{Channel: channel}); err != nil {
		return err
	}
	return p.call(ctx, "ping", ahp.PingParams{Channel: ahp.RootURI}, func(json.RawMessage) error {
		delete(p.mirrors, channel)
		return nil
	})
}

// Dispatch sends an action and applies it optimistically. The host's answer adds it to the mirror
// or drops it.
func (p *Peer) Dispatch(ctx context.Context, channel ahp.URI, action ahp.Action) (clientSeq int64, err error) {
	p.mu.Lock()
	p.clientSeq++
	sent := pending{channel, p.clientSeq, action}
	p.pending = append(p.pending, sent)
	p.mu.Unlock()
	return sent.seq, p.send(ctx, sent)
}

func (p *Peer) send(ctx context.Context, sent pending) error {
	return p.Notify(ctx, "dispatchAction", ahp.DispatchActionParams{Channel: sent.channel, ClientSeq: sent.seq,
		Action: sent.action})
}

// applyFrame applies an action frame. The lock is held.
func (p *Peer) applyFrame(params json.RawMessage) {
	var e ahp.ActionEnvelope
	if err := json.Unmarshal(params, &e); err != nil {
		p.violateLocked("an envelope that cannot be read: %v", err)
		return
	}
	p.apply(&e, params)
}

// apply checks an envelope against the delivery rules and reduces it. The lock is held.
func (p *Peer) apply(e *ahp.ActionEnvelope, raw json.RawMessage) {
	if e.ServerSeq <= p.connSeq {
		p.violateLocked("serverSeq %d after %d (AHP requirement 27)", e.ServerSeq, p.connSeq)
	}
	p.connSeq = max(p.connSeq, e.ServerSeq)
	p.lastSeq = max(p.lastSeq, e.ServerSeq)
	mine := e.Origin != nil && e.Origin.ClientID == p.opts.ClientID
	if mine {
		p.settle(e.Origin.ClientSeq)
	}
	m := p.mirrors[e.Channel]
	switch {
	case m == nil && !mine:
		p.violateLocked("%s of %s, which is not subscribed (AHP requirement 30)", e.Action.ActionType(), e.Channel)
	case m == nil || e.RejectionReason != "":
	case e.ServerSeq <= m.seq:
		p.violateLocked("serverSeq %d of %s is not newer than its snapshot at %d (AHP requirement 26)", e.ServerSeq,
			e.Channel, m.seq)
	default:
		m.seq = e.ServerSeq
		if err := m.reduce(e.Action, raw); err != nil {
			p.violateLocked("%s of %s: %v", e.Action.ActionType(), e.Channel, err)
		}
	}
}

// settle removes an answered action.
func (p *Peer) settle(clientSeq int64) {
	for i := range p.pending {
		if p.pending[i].seq == clientSeq {
			p.pending = append(p.pending[:i:i], p.pending[i+1:]...)
			return
		}
	}
}

// State returns the channel as this client's user sees it: the host's confirmed state plus
// unanswered actions of this client. It is nil without a subscription, and for channels without
// state.
func (p *Peer) State(channel ahp.URI) ahp.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.mirrors[channel]
	if m == nil {
		return nil
	}
	for _, own := range p.pending {
		if own.channel != channel {
			continue
		}
		next, err := m.with(own.action)
		if err != nil {
			p.violateLocked("own %s: %v", own.action.ActionType(), err)
			continue
		}
		m = next
	}
	return p.stateOf(channel, m)
}

// Confirmed returns the channel's confirmed state, and the number of its last action.
func (p *Peer) Confirmed(channel ahp.URI) (ahp.State, int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.mirrors[channel]; m != nil {
		return p.stateOf(channel, m), m.seq
	}
	return nil, 0
}

// stateOf decodes a mirror into the program's types. The lock is held.
func (p *Peer) stateOf(channel ahp.URI, m *mirror) ahp.State {
	state, err := m.read()
	if err != nil {
		p.violateLocked("the mirror of %s cannot be read: %v", channel, err)
	}
	return state
}
