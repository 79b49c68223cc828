package peer

import (
	"encoding/json"

	"github.com/ahphub/ahphub/e2e/oracle"
	"github.com/ahphub/ahphub/hub/ahp"
)

// mirror is a channel's state as the host described it: kept as plain JSON and reduced by the oracle, so that a fault
// of the program's reducers shows as a difference. The mirrors of a trusting peer are reduced by the program's own,
// which costs a benchmark less.
type mirror struct {
	kind    ahp.ChannelKind
	version string
	seq     int64
	state   map[string]any // nil when the host is trusted, or the channel has no state
	typed   ahp.State      // what state reads as; nil until it is asked for
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

// with returns the mirror as it is after an action of this client.
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

// read returns the state as the program's types read it.
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

// canonical writes what is mirrored of the state so that equal ones are equal. Null stands for an absent key.
func (m *mirror) canonical() (string, error) {
	if m.state != nil {
		return oracle.Canonical(oracle.WithoutNulls(oracle.Mirrored(string(m.kind), m.state))), nil
	}
	b, err := ahp.Marshal(m.typed)
	return string(b), err
}
