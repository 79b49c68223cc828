package ahp

import (
	"encoding/json"
	"fmt"
)

// ChannelKind is the kind of state a channel carries.
type ChannelKind string

// The kinds of channel. Telemetry channels carry no state.
const (
	ChannelRoot          ChannelKind = "root"
	ChannelSession       ChannelKind = "session"
	ChannelChat          ChannelKind = "chat"
	ChannelTerminal      ChannelKind = "terminal"
	ChannelChangeset     ChannelKind = "changeset"
	ChannelAnnotations   ChannelKind = "annotations"
	ChannelResourceWatch ChannelKind = "resourceWatch"
	ChannelOtlp          ChannelKind = "otlp"
	ChannelAutomations   ChannelKind = "automation"
	ChannelAutomationRun ChannelKind = "automationRun"
	ChannelCanvas        ChannelKind = "canvas"
)

// State is the state of one channel.
type State interface{ Channel() ChannelKind }

// Channel returns ChannelRoot.
func (*RootState) Channel() ChannelKind { return ChannelRoot }

// Channel returns ChannelSession.
func (*SessionState) Channel() ChannelKind { return ChannelSession }

// Channel returns ChannelChat.
func (*ChatState) Channel() ChannelKind { return ChannelChat }

// Channel returns ChannelTerminal.
func (*TerminalState) Channel() ChannelKind { return ChannelTerminal }

// Channel returns ChannelChangeset.
func (*ChangesetState) Channel() ChannelKind { return ChannelChangeset }

// Channel returns ChannelAnnotations.
func (*AnnotationsState) Channel() ChannelKind { return ChannelAnnotations }

// Channel returns ChannelResourceWatch.
func (*ResourceWatchState) Channel() ChannelKind { return ChannelResourceWatch }

// Channel returns ChannelAutomations.
func (*AutomationState) Channel() ChannelKind { return ChannelAutomations }

// Channel returns ChannelAutomationRun.
func (*AutomationRunState) Channel() ChannelKind { return ChannelAutomationRun }

// Channel returns ChannelCanvas.
func (*CanvasState) Channel() ChannelKind { return ChannelCanvas }

// NewState returns an empty state of the kind, nil for a kind without state.
func NewState(kind ChannelKind) State {
	switch kind {
	case ChannelRoot:
		return &RootState{}
	case ChannelSession:
		return &SessionState{}
	case ChannelChat:
		return &ChatState{}
	case ChannelTerminal:
		return &TerminalState{}
	case ChannelChangeset:
		return &ChangesetState{}
	case ChannelAnnotations:
		return &AnnotationsState{}
	case ChannelResourceWatch:
		return &ResourceWatchState{}
	case ChannelAutomations:
		return &AutomationState{}
	case ChannelAutomationRun:
		return &AutomationRunState{}
	case ChannelCanvas:
		return &CanvasState{}
	}
	return nil
}

// UnmarshalState reads the state of a channel of the kind.
func UnmarshalState(kind ChannelKind, b []byte) (State, error) {
	s := NewState(kind)
	if s == nil {
		return nil, fmt.Errorf("ahp: a channel of kind %q carries no state", kind)
	}
	if err := Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("ahp: %s state: %w", kind, err)
	}
	return s, nil
}

// Snapshot is a channel's state after every action up to FromSeq. The wire does not name the kind, so a decoded
// snapshot has no State before Decode.
type Snapshot struct {
	Resource URI
	State    State
	FromSeq  int64
	raw      json.RawMessage
}

type snapshotForm struct {
	Resource URI             `json:"resource"`
	State    json.RawMessage `json:"state"`
	FromSeq  int64           `json:"fromSeq"`
}

// MarshalJSON writes the wire form.
func (s Snapshot) MarshalJSON() ([]byte, error) { return Marshal(s) }

// UnmarshalJSON keeps the state undecoded until Decode.
func (s *Snapshot) UnmarshalJSON(b []byte) error { return Unmarshal(b, s) }

// Decode reads the state as one of the given kind.
func (s *Snapshot) Decode(kind ChannelKind) error {
	state, err := UnmarshalState(kind, s.raw)
	if err != nil {
		return err
	}
	s.State, s.raw = state, nil
	return nil
}
