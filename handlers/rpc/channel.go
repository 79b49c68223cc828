package rpc

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// withChannel checks that params name their channel as the rule requires (AHP requirement 4).
func withChannel(m jsonrpc.Message, rule channelRule) (json.RawMessage, error) {
	if len(m.Params) > 0 && m.Params[0] != '{' {
		return nil, ahp.Errorf(ahp.CodeInvalidParams, "%s: params must be an object", m.Method)
	}
	var p struct {
		Channel ahp.URI `json:"channel"`
	}
	if m.Params == nil {
		m.Params = json.RawMessage("{}")
	}
	if err := ahp.Unmarshal(m.Params, &p); err != nil {
		return nil, ahp.Errorf(ahp.CodeInvalidParams, "%s: %v", m.Method, err)
	}
	switch {
	case rule == anyOrNone || rule == rootOrNone && p.Channel == "":
	case p.Channel == "":
		return nil, ahp.Errorf(ahp.CodeInvalidParams, "%s: params.channel is missing", m.Method)
	case rule != someChannel && p.Channel != ahp.RootURI:
		return nil, ahp.Errorf(ahp.CodeInvalidParams,
			"%s: params.channel is %.80q: this method is of the connection, whose channel is %s", m.Method, p.Channel,
			ahp.RootURI)
	}
	return m.Params, nil
}

func (s *socket) ping(_ context.Context, m jsonrpc.Message) error {
	s.sendFree(m, jsonrpc.AppendResult(nil, m.ID, nil)) // AHP requirement 10
	return nil
}

func (s *socket) subscribe(ctx context.Context, m jsonrpc.Message) error {
	var p ahp.SubscribeParams
	if err := params(m, &p); err != nil {
		return err
	}
	if err := s.checkRoom(1); err != nil {
		return err
	}
	if isTelemetry(p.Channel) {
		return s.subscribeTelemetry(m, p.Channel)
	}
	if err := s.ready(ctx, p.Channel); err != nil {
		return err
	}
	sub := hub.Subscription{URI: p.Channel}
	if p.Delivery != nil {
		sub.MaxLatency = p.Delivery.MaxLatencyMs
	}
	if p.View != nil {
		sub.Turns = p.View.Turns
	}
	s.conn.Subscribe(subscribed{m}, sub)
	return nil
}

// checkRoom bounds the subscriptions of a connection.
func (s *socket) checkRoom(more int) error {
	if have := len(s.conn.Subscribed()) + len(s.exports); have+more > s.cfg.Limits.Subscriptions {
		return ahp.Errorf(ahp.CodeInvalidRequest,
			"a connection can follow %d channels. Unsubscribe from some of the %d first",
			s.cfg.Limits.Subscriptions, have)
	}
	return nil
}

func (s *socket) unsubscribe(_ context.Context, m jsonrpc.Message) error {
	var p ahp.UnsubscribeParams
	if err := params(m, &p); err != nil {
		return err
	}
	s.names.forgetBelow(p.Channel)
	if isTelemetry(p.Channel) {
		s.unfollow(p.Channel)
	} else {
		s.conn.Unsubscribe(p.Channel) // AHP requirement 30
		s.cfg.Host.Unsubscribed(s.caller(), p.Channel)
	}
	s.answer(m, nil)
	return nil
}

// subscribed is the answer to subscribe (AHP requirements 25 and 26).
type subscribed struct{ m jsonrpc.Message }

func (r subscribed) frame(s *socket, it *hub.Item) ([]byte, error) {
	snap, ok, err := s.snapshot(it.Snapshots[0])
	switch {
	case err != nil:
		return nil, err
	case !r.m.IsRequest():
		return nil, nil
	case !ok: // closed since Prepare
		gone := ahp.Errorf(ahp.CodeNotFound, "there is no channel %s", it.Snapshots[0].Info.URI)
		return jsonrpc.AppendError(nil, r.m.ID, s.wireError(r.m.Method, gone)), nil
	}
	return s.resultFrame(r.m, ahp.SubscribeResult{Snapshot: &snap})
}

func (s *socket) resultFrame(m jsonrpc.Message, result any) ([]byte, error) {
	b, err := s.result(m, result)
	if err != nil {
		return nil, fmt.Errorf("the result of %s: %w", m.Method, err)
	}
	return jsonrpc.AppendResult(nil, m.ID, b), nil
}

// snapshot converts a snapshot for the wire, cut to the requested turns; false for a channel that
// does not exist.
func (s *socket) snapshot(snap hub.Snapshot) (ahp.Snapshot, bool, error) {
	if snap.State == nil {
		return ahp.Snapshot{}, false, nil
	}
	if chat, ok := snap.State.(*ahp.ChatState); ok && snap.Turns != nil {
		snap.State = host.TurnsView(chat, *snap.Turns) // AHP requirement 33
	}
	out, err := s.dialect.snapshot(snap)
	return out, err == nil, err
}

func (s *socket) snapshots(list []hub.Snapshot) []ahp.Snapshot {
	out := []ahp.Snapshot{}
	for _, l := range list {
		if snap, ok, _ := s.snapshot(l); ok {
			out = append(out, snap)
		}
	}
	return out
}
