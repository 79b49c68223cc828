package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ahp/dialect"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// upgradeParams converts params to the current version. Before a version is negotiated, params are
// the same in all of them.
func (s *socket) upgradeParams(m jsonrpc.Message) (json.RawMessage, error) {
	if s.conn == nil || m.Method == "dispatchAction" || !s.dialect.Filters() {
		return m.Params, nil
	}
	b, err := s.dialect.UpParams(dialect.Context{ClientID: s.clientID, Now: time.Now(), DefaultChat: s.defaultChat},
		m.Method, m.Params)
	if err != nil {
		return nil, ahp.Errorf(ahp.CodeInvalidParams, "%s: %v", m.Method, err)
	}
	return b, nil
}

// decodeAction converts an action to the current version.
func (s *socket) decodeAction(channel ahp.URI, raw json.RawMessage) (ahp.Action, error) {
	if s.dialect.Filters() {
		c := dialect.Context{Resource: channel, ClientID: s.clientID, Now: time.Now(), DefaultChat: s.defaultChat}
		if info, state, ok := s.visible(channel); ok {
			c.Session, c.State = info.Session, state
		}
		var err error
		if raw, err = s.dialect.UpAction(c, raw); err != nil {
			return nil, err
		}
	}
	a, err := ahp.UnmarshalAction(raw)
	if err != nil {
		return nil, fmt.Errorf("the action is not valid: %w", err)
	}
	return a, nil
}

func (s *socket) defaultChat(session ahp.URI) ahp.URI {
	_, state, _ := s.visible(session)
	if st, ok := state.(*ahp.SessionState); ok {
		return st.DefaultChat
	}
	return ""
}

// visible returns a channel as this client sees it.
func (s *socket) visible(uri ahp.URI) (hub.ChannelInfo, ahp.State, bool) {
	audience := s.principal.Audience()
	info, known := s.cfg.Hub.Info(uri)
	state, _, ok := s.cfg.Hub.State(uri)
	if !known || !ok || !audience.Sees(info) {
		return info, nil, false
	}
	return info, audience.State(info, state), true
}

// result encodes a command's result in the client's dialect.
func (s *socket) result(m jsonrpc.Message, v any) ([]byte, error) {
	b, err := ahp.Marshal(v)
	if err != nil {
		return nil, err
	}
	return s.dialect.DownResult(dialect.Context{}, m.Method, b)
}

// snapshot converts a snapshot to the dialect.
func (t clientDialect) snapshot(s hub.Snapshot) (ahp.Snapshot, error) {
	out := ahp.Snapshot{Resource: s.Info.URI, State: s.State, FromSeq: s.Seq}
	if !t.Rewrites() {
		return out, nil
	}
	raw, err := ahp.Marshal(s.State)
	if err == nil {
		raw, err = t.DownState(dialect.Context{Resource: s.Info.URI, Session: s.Info.Session}, s.Info.Kind, raw)
	}
	if err != nil {
		return out, err
	}
	b, err := json.Marshal(map[string]any{"resource": s.Info.URI, "state": json.RawMessage(raw), "fromSeq": s.Seq})
	if err != nil {
		return out, err
	}
	out = ahp.Snapshot{}
	return out, ahp.Unmarshal(b, &out)
}

// maxTurns bounds the turns of one fetchTurns of an old client.
const maxTurns = 200

// turnsBefore answers fetchTurns as before 0.5.1: with the turns before a given one, and whether
// there are more.
func (s *socket) turnsBefore(ctx context.Context, m jsonrpc.Message) error {
	var p struct {
		Channel ahp.URI `json:"channel"`
		Before  string  `json:"before"`
		Limit   *int64  `json:"limit"`
	}
	if err := params(m, &p); err != nil {
		return err
	}
	if err := s.cfg.Host.Prepare(ctx, s.caller(), p.Channel); err != nil {
		return err
	}
	_, state, _ := s.visible(p.Channel)
	chat, ok := state.(*ahp.ChatState)
	if !ok {
		return ahp.Errorf(ahp.CodeInvalidParams, "fetchTurns: %s is not a chat", p.Channel)
	}
	end := len(chat.Turns)
	if p.Before != "" {
		end = slices.IndexFunc(chat.Turns, func(t *ahp.Turn) bool { return t.ID == p.Before })
	}
	if end < 0 {
		return ahp.Errorf(ahp.CodeInvalidParams, "fetchTurns: before: no turn %q in this chat", p.Before)
	}
	limit := int64(maxTurns)
	if p.Limit != nil {
		limit = max(1, min(*p.Limit, maxTurns))
	}
	start := max(0, end-int(limit))
	b, err := s.result(m, struct {
		Turns   []*ahp.Turn `json:"turns"`
		HasMore bool        `json:"hasMore"`
	}{chat.Turns[start:end], start > 0})
	if err == nil {
		s.answer(m, b)
	}
	return err
}
