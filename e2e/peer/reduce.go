package peer

import (
	"encoding/json"

	"github.com/ahphub/ahphub/e2e/oracle"
	"github.com/ahphub/ahphub/hub/ahp"
)

// mirror is a channel's state: kept as plain JSON and reduced by the oracle, so that a bug in the
// program's reducers shows as a difference. With Trust, the program's reducers are used, which are
// cheaper for benchmarks.
type mirror struct {
	kind    ahp.ChannelKind
	version string
	seq     int64
	state   map[string]any // nil with Trust, or if the channel has no state
	typed   ahp.State      // state, decoded on demand; may be nil
}

// reduce applies the action of an envelope.
func (m *mirror) reduce(action ahp.Action, envelope json.RawMessage) error {
	if m.state == nil {
		if m.typed != nil {
			m.typed = ahp.Reduce(m.typed, action)
		}
		return nil
	}
	e, err := oracle.Decode(envelope)
	if err != nil {
		return err
	}
	raw, _ := e["action"].(map[string]any)
	m.state, m.typed = oracle.Apply(m.version, string(m.kind), m.state, raw), nil
	return nil
}

// with returns the mirror after an action of this client.
func (m *mirror) with(own ahp.Action) (*mirror, error) {
	next := *m
	if m.state == nil {
		return &next, next.reduce(own, nil)
	}
	b, err := ahp.Marshal(own)
	if err != nil {
		return nil, err
	}
	raw, err := oracle.Decode(b)
	if err != nil {
		return nil, err
	}
	next.state, next.typed = oracle.Reduce(m.version, string(m.kind), m.state, raw), nil
	return &next, nil
}

// read decodes the state into the program's types.
func (m *mirror) read() (ahp.State, error) {
	if m.typed != nil || m.state == nil {
		return m.typed, nil
	}
	b, err := json.Marshal(m.state)
	if err == nil {
		m.typed, err = ahp.UnmarshalState(m.kind, b)
	}
	return m.typed, err
}

// canonical encodes the mirrored part of the state so that equal states have equal texts. Null
// equals an absent key.
func (m *mirror) canonical() (string, error) {
	if m.state != nil {
		return oracle.Canonical(oracle.WithoutNulls(oracle.Mirrored(string(m.kind), m.state))), nil
	}
	b, err := ahp.Marshal(m.typed)
	return string(b), err
}
