package oracle

import (
	"fmt"
	"maps"
	"slices"
)

// Mirror is the state of a client of one version: the snapshots of followed channels, reduced by
// later actions.
type Mirror struct {
	version string
	kinds   map[string]string
	states  map[string]object
}

// NewMirror returns a mirror that follows no channel.
func NewMirror(version string) *Mirror {
	return &Mirror{version, map[string]string{}, map[string]object{}}
}

// Adopt starts a channel from a snapshot, replacing its state.
func (m *Mirror) Adopt(channel, kind string, state []byte) error {
	s, err := Decode(state)
	if err != nil {
		return fmt.Errorf("snapshot of %s: %w", channel, err)
	}
	m.kinds[channel], m.states[channel] = kind, s
	return nil
}

// Follows reports whether a channel was adopted; actions on others are ignored.
func (m *Mirror) Follows(channel string) bool { return m.states[channel] != nil }

// Apply reduces an action.
func (m *Mirror) Apply(channel string, action []byte) error {
	if !m.Follows(channel) {
		return nil
	}
	a, err := Decode(action)
	if err != nil {
		return fmt.Errorf("action on %s: %w", channel, err)
	}
	m.states[channel] = Apply(m.version, m.kinds[channel], m.states[channel], a)
	return nil
}

// Kind returns the kind of a channel, "" if it is not followed.
func (m *Mirror) Kind(channel string) string { return m.kinds[channel] }

// Channels lists the followed channels, sorted.
func (m *Mirror) Channels() []string { return slices.Sorted(maps.Keys(m.states)) }

// State returns the state of a channel, nil if it is not followed. Callers must not modify it.
func (m *Mirror) State(channel string) map[string]any { return m.states[channel] }

// Compare lists the differences between the mirror of a channel and a state; "" for none. Null
// equals an absent key.
func (m *Mirror) Compare(channel string, state []byte) string {
	want, err := Decode(state)
	if err != nil {
		return err.Error()
	}
	return Diff(WithoutNulls(m.states[channel]), WithoutNulls(want))
}
