package host

import (
	"encoding/json"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// setSessionMeta publishes a value under the host's own key of a session's `_meta`; nil removes it. The hub's lock is
// held.
func setSessionMeta(tx *hub.Tx, session ahp.URI, key string, value any) {
	if s, ok := hub.StateOf[*ahp.SessionState](tx, session); ok {
		tx.Apply(session, &ahp.SessionMetaChangedAction{Meta: withOwn(s.Meta, key, value)})
	}
}

// withOwn returns a copy of m with another value of a key under the host's own key; nil removes it. Other keys stay
// (AHP requirement 85).
func withOwn(m ahp.Meta, key string, value any) ahp.Meta {
	own := map[string]json.RawMessage{}
	_ = json.Unmarshal(m[core.MetaKey], &own) // absent at first
	delete(own, key)
	if raw, err := json.Marshal(value); err == nil && value != nil {
		own[key] = raw
	}
	out := core.CloneMeta(m)
	delete(out, core.MetaKey)
	if raw, err := json.Marshal(own); err == nil && len(own) > 0 {
		out[core.MetaKey] = raw
	}
	return out
}
