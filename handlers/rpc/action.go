package rpc

import (
	"context"
	"encoding/json"
	"math"
	"runtime/debug"
	"strconv"

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
		ClientSeq json.RawMessage `json:"clientSeq"`
		Action    json.RawMessage `json:"action"`
	}
	if err := params(m, &head); err != nil {
		return err
	}
	clientSeq, err := wholeNumber(m.Method, "clientSeq", head.ClientSeq)
	if err != nil {
		return err
	}
	head.Channel = s.titleTarget(head.Channel, head.Action)
	action, err := s.decodeAction(head.Channel, head.Action)
	if err != nil {
		s.reject(head.Channel, clientSeq, head.Action, err.Error())
	} else if err := s.dispatch(ctx, head.Channel, clientSeq, action); err != nil {
		s.reject(head.Channel, clientSeq, head.Action, err.Message)
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

// reject refuses an action that the host never received or failed to run.
func (s *socket) reject(channel ahp.URI, clientSeq int64, raw json.RawMessage, reason string) {
	a := &ahp.UnknownAction{Type: actionType(raw), Raw: raw}
	s.cfg.Hub.Dispatch(s.conn, channel, clientSeq, a, func(*hub.Tx, ahp.State, ahp.Action) (ahp.Action, string) {
		return nil, reason
	})
}

// wholeNumber reads a number that identifies or counts. Other numbers may have fractions, as clients send measured
// times; rounding here would yield the number of another action.
func wholeNumber(method, field string, raw json.RawMessage) (int64, error) {
	if len(raw) == 0 {
		return 0, ahp.Errorf(ahp.CodeInvalidParams, "%s: %s is missing", method, field)
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, nil
	}
	const exact = 1 << 53 // below it a float such as 1.0 or 1e3 is exact
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil && f == math.Trunc(f) && math.Abs(f) < exact {
		return int64(f), nil
	}
	return 0, ahp.Errorf(ahp.CodeInvalidParams, "%s: %s is %.40s: send a whole number", method, field, raw)
}

func actionType(raw json.RawMessage) string {
	var a struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(raw, &a) // even an invalid action is echoed unchanged
	return a.Type
}
