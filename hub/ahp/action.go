package ahp

import "encoding/json"

// Action is one change of one channel. Its values are pointers to the …Action structs, and *UnknownAction.
type Action interface{ ActionType() string }

// UnknownAction is an action of a type that this version does not know. Reducers ignore it, and it
// is written back as it was read.
type UnknownAction struct {
	Type string
	Raw  json.RawMessage
}

// ActionType returns the type as it was sent.
func (a *UnknownAction) ActionType() string { return a.Type }

// MarshalJSON writes the action as it was read.
func (a UnknownAction) MarshalJSON() ([]byte, error) { return rawOrNull(a.Raw), nil }

// ActionOrigin names the client that dispatched an action, and the number that client gave it.
type ActionOrigin struct {
	ClientID  string `json:"clientId"`
	ClientSeq int64  `json:"clientSeq"`
}

// ActionEnvelope is an action with its number on the host's timeline. Origin is nil for the host's
// own actions. With a RejectionReason the action was refused and changed nothing.
type ActionEnvelope struct {
	Channel         URI           `json:"channel"`
	Action          Action        `json:"action"`
	ServerSeq       int64         `json:"serverSeq"`
	Origin          *ActionOrigin `json:"origin,omitempty"`
	RejectionReason string        `json:"rejectionReason,omitempty"`
}

// MarshalJSON writes the wire form.
func (e ActionEnvelope) MarshalJSON() ([]byte, error) { return Marshal(e) }

// UnmarshalJSON reads the wire form; an unknown action becomes an *UnknownAction.
func (e *ActionEnvelope) UnmarshalJSON(b []byte) error { return Unmarshal(b, e) }

// DispatchActionParams are the params of dispatchAction, with which a client requests a change.
type DispatchActionParams struct {
	Channel   URI    `json:"channel"`
	ClientSeq int64  `json:"clientSeq"`
	Action    Action `json:"action"`
}

// MarshalJSON writes the wire form.
func (p DispatchActionParams) MarshalJSON() ([]byte, error) { return Marshal(p) }

// UnmarshalJSON reads the wire form; an unknown action becomes an *UnknownAction.
func (p *DispatchActionParams) UnmarshalJSON(b []byte) error { return Unmarshal(b, p) }

// MarshalAction writes an action with its type first.
func MarshalAction(a Action) ([]byte, error) { return Marshal(&a) }

// UnmarshalAction reads an action. A type this version does not know becomes an *UnknownAction; a
// value without a type is an error.
func UnmarshalAction(b []byte) (Action, error) {
	var a Action
	if err := Unmarshal(b, &a); err != nil {
		return nil, err
	}
	if a == nil {
		return nil, errNoType
	}
	return a, nil
}
