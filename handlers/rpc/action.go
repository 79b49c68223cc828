package rpc

import (
	"context"
	"encoding/json"
	"runtime/debug"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// dispatchAction handles a notification: an envelope reports its result, including a refusal (AHP
// requirements 34 and 35), without which optimistic clients would stay wrong. Actions on unknown
// channels are ignored (36).
func (s *socket) dispatchAction(ctx context.Context, m jsonrpc.Message) error {
	var head struct {
		Channel   ahp.URI         `json:"channel"`
		ClientSeq *int64          `json:"clientSeq"`
		Action    json.RawMessage `json:"action"`
	}
	if err := params(m, &head); err != nil {
		return err
	}
	if head.ClientSeq == nil {
		return ahp.Errorf(ahp.CodeInvalidParams, "dispatchAction: clientSeq is missing")
	}
	head.Channel = s.titleTarget(head.Channel, head.Action)
	action, err := s.decodeAction(head.Channel, head.Action)
	if err != nil {
		s.reject(head.Channel, *head.ClientSeq, head.Action, err.Error())
	} else if err := s.dispatch(ctx, head.Channel, *head.ClientSeq, action); err != nil {
		s.reject(head.Channel, *head.ClientSeq, head.Action, err.Message)
	}
	s.answer(m, nil)
	return nil
}

func (s *socket) dispatch(ctx context.Context, channel ahp.URI, clientSeq int64,
	a ahp.Action) (failure *jsonrpc.Error) {
	defer func() {
		if p := recover(); p != nil {
			failure = s.internal("dispatchAction", "type", a.ActionType(), "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if _, err := s.cfg.Host.Dispatch(ctx, s.caller(), channel, clientSeq, a); err != nil {
		return s.wireError("dispatchAction", err)
	}
	return nil
}

// reject refuses an action that the host never saw or failed to run.
func (s *socket) reject(channel ahp.URI, clientSeq int64, raw json.RawMessage, reason string) {
	a := &ahp.UnknownAction{Type: actionType(raw), Raw: raw}
	s.cfg.Hub.Dispatch(s.conn, channel, clientSeq, a, func(*hub.Tx, ahp.State, ahp.Action) (ahp.Action, string) {
		return nil, reason
	})
}

func actionType(raw json.RawMessage) string {
	var a struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(raw, &a) // whatever it is, it is echoed unchanged
	return a.Type
}
