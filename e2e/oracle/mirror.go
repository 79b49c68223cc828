package oracle

import (
	"fmt"
	"maps"
	"slices"
)

// Mirror is what a client of a version holds of the channels it follows: snapshots, and what the actions after them
// made of them.
type Mirror struct {
	version string
	kinds   map[string]string
	states  map[string]object
}

// NewMirror returns a mirror that follows nothing yet.
func NewMirror(version string) *Mirror {
	return &Mirror{version, map[string]string{}, map[string]object{}}
}

// Adopt starts a channel from a snapshot, in place of what it held.
func (m *Mirror) Adopt(channel, kind string, state []byte) error {
	s, err := Decode(state)
	if err != nil {
		return fmt.Errorf("snapshot of %s: %w", channel, err)
	}
	m.kinds[channel], m.states[channel] = kind, s
	return nil
}

// Follows reports whether a channel was adopted: actions on others change nothing.
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

// Kind returns the kind of a channel, "" when it is not followed.
func (m *Mirror) Kind(channel string) string { return m.kinds[channel] }

// Channels lists what is followed, in order.
func (m *Mirror) Channels() []string { return slices.Sorted(maps.Keys(m.states)) }

// State returns a channel as it is mirrored, nil when it is not followed. The caller does not write to it.
func (m *Mirror) State(channel string) map[string]any { return m.states[channel] }

// Compare lists where the mirror of a channel differs from a state, or is empty. Null stands for an absent key.
func (m *Mirror) Compare(channel string, state []byte) string {
	want, err := Decode(state)
	if err != nil {
		return err.Error()
	}
	return Diff(WithoutNulls(m.states[channel]), WithoutNulls(want))
}
