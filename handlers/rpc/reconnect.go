package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ahp/dialect"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// reconnect resumes a client from its record: the request has no version and no capabilities.
// An unknown client gets an error, and then initializes.
func (s *socket) reconnect(ctx context.Context, m jsonrpc.Message) error {
	var p ahp.ReconnectParams
	if err := s.first(m, &p); err != nil {
		return err
	}
	if err := checkLastSeen(m); err != nil {
		return err
	}
	if err := s.checkClient(p.ClientID, len(p.Subscriptions)); err != nil {
		return err
	}
	if err := s.admit(ctx, p.ClientID, nil); err != nil {
		return err
	}
	cl, found, err := s.clients.find(ctx, clientKey{s.principal.ID, p.ClientID})
	if err != nil {
		return err
	}
	v, err := dialect.Parse(cl.Version)
	if _, ok := dialect.Of(v); !found || err != nil || !ok {
		return ahp.Errorf(ahp.CodeNotFound, "client %q is not known here. Send initialize", p.ClientID)
	}
	if err := s.connect(ctx, p.ClientID, v, true); err != nil {
		return err
	}
	exports, asked := s.telemetryOf(p.Subscriptions)
	uris, missing := s.prepare(ctx, asked)
	// Telemetry that was sent in between is lost (AHP requirements 46 and 205).
	s.followAll(exports, func() { s.conn.Reconnect(reconnected{m, missing}, p.LastSeenServerSeq, uris) })
	s.start(nil)
	s.cfg.Host.Reconnected(s.caller(), uris)
	return nil
}

// checkLastSeen refuses a fraction, which rounded up would leave an action out of the replay.
func checkLastSeen(m jsonrpc.Message) error {
	var p struct {
		LastSeen json.RawMessage `json:"lastSeenServerSeq"`
	}
	if err := params(m, &p); err != nil || len(p.LastSeen) == 0 {
		return err
	}
	_, err := wholeNumber(m.Method, "lastSeenServerSeq", p.LastSeen)
	return err
}

// reconnected is the answer to reconnect: a full replay, or fresh snapshots (AHP requirements
// 41–44).
type reconnected struct {
	m       jsonrpc.Message
	missing []ahp.URI
}

func (r reconnected) frame(s *socket, it *hub.Item) ([]byte, error) {
	if !it.IsReplay {
		return s.resultFrame(r.m, ahp.ReconnectResult{
			Value: &ahp.ReconnectSnapshotResult{Snapshots: s.snapshots(it.Snapshots)}})
	}
	missing, err := ahp.Marshal(slices.Concat(r.missing, it.Missing))
	if err != nil {
		return nil, err
	}
	b := append([]byte(`{"type":"replay","actions":[`), s.replay(it.Replay)...)
	b = append(append(append(b, `],"missing":`...), missing...), '}')
	return jsonrpc.AppendResult(nil, r.m.ID, b), nil
}

// replay returns envelopes, cut out of the frames sent to other clients.
func (s *socket) replay(missed []*hub.Envelope) []byte {
	var b []byte
	for _, e := range missed {
		frame := s.envelope(e)
		if frame == nil {
			continue
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(b, bytes.TrimSuffix(frame[len(actionHead):], []byte(actionTail))...)
	}
	return b
}
