package dialect

import (
	"fmt"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Dialect is a range of versions with one wire format.
type Dialect struct {
	name    string
	version Version
	steps   []*step         // from this version up to 1.0, the oldest first
	same    map[string]bool // action types that need no rewriting
	later   *pruner         // removes later fields from what clients of the version send
}

// Context has what an adapter may need beyond the value. Zero fields are unknown.
type Context struct {
	Resource ahp.URI   // the channel
	Session  ahp.URI   // the session it belongs to
	ClientID string    // of the sender
	Now      time.Time // used for times that old clients do not send
	State    ahp.State // of the channel, before the action

	DefaultChat func(session ahp.URI) ahp.URI // returns a session's default chat
}

// Name returns the first version of the range.
func (d *Dialect) Name() string { return d.name }

// Rewrites reports whether the dialect does more than filter. If not, messages are sent as package
// ahp writes them.
func (d *Dialect) Rewrites() bool { return len(d.steps) > 0 }

// Filters reports whether the version lacks anything of the current one. If not, its clients'
// messages are read unchanged.
func (d *Dialect) Filters() bool { return d != dialects[0] }

// Before reports whether the dialect is older than a version.
func (d *Dialect) Before(v string) bool { return d.version.Compare(mustParse(v)) < 0 }

// Knows reports whether a current action type exists in the dialect: others are not sent
// (AHP requirement 22).
func (d *Dialect) Knows(actionType string) bool { return !newer(actionType, d.version) }

// KnowsCommand reports whether a current command exists in the dialect.
func (d *Dialect) KnowsCommand(method string) bool { return !newer(method, d.version) }

// Same reports whether actions of a type are sent unchanged.
func (d *Dialect) Same(actionType string) bool { return d.same[actionType] }

// learn finds the actions that are sent unchanged, such as the deltas of a stream.
func (d *Dialect) learn() {
	d.same = map[string]bool{}
	for _, info := range ahp.Actions() {
		kind := info.Type
		touched := !d.Knows(kind)
		for _, s := range d.steps {
			touched = touched || s.touches(kind, map[string]bool{})
		}
		d.same[kind] = !touched
	}
}

// UpAction converts an action that a client dispatched. Fields that the version does not have are
// ignored (AHP requirement 23). The error is for that client.
func (d *Dialect) UpAction(c Context, raw []byte) ([]byte, error) {
	if !d.Filters() {
		return raw, nil
	}
	v, err := decode(raw)
	o, ok := v.(object)
	if err != nil || !ok {
		return raw, nil // the decoder reports the error
	}
	kind := text(o, "type")
	if !d.Knows(kind) {
		return nil, fmt.Errorf("AHP %s has no action %s: offer a newer version", d.name, kind)
	}
	if !d.reads(kind) {
		return raw, nil
	}
	d.later.prune(shapeAt(kind), o)
	for _, s := range d.steps {
		if !s.raise(&c, text(o, "type"), o) {
			return nil, fmt.Errorf("%s cannot be said in AHP %s, which this host works in: %s", kind, ahp.Version,
				alternatives[kind])
		}
	}
	return encode(o)
}

// reads reports whether what a client sends at a place may need changes.
func (d *Dialect) reads(place string) bool { return d.Rewrites() || d.later.touches[shapeAt(place)] }

// DownAction converts an action for a client of the dialect; false if the dialect has no such
// action.
func (d *Dialect) DownAction(c Context, raw []byte) ([]byte, bool) {
	v, err := decode(raw)
	o, ok := v.(object)
	if err != nil || !ok {
		return nil, false
	}
	if !d.Rewrites() {
		return raw, d.Knows(text(o, "type"))
	}
	for i := len(d.steps) - 1; i >= 0; i-- {
		s := d.steps[i]
		if !s.lower(&c, text(o, "type"), o) || newer(text(o, "type"), s.old) {
			return nil, false
		}
	}
	b, err := encode(o)
	return b, err == nil
}

// UpState converts a state that a host sent to a client of the dialect.
func (d *Dialect) UpState(c Context, kind ahp.ChannelKind, raw []byte) ([]byte, error) {
	if !d.Rewrites() {
		return raw, nil
	}
	return d.up(c, string(kind), raw)
}

// DownState converts a channel's state for a client of the dialect.
func (d *Dialect) DownState(c Context, kind ahp.ChannelKind, raw []byte) ([]byte, error) {
	return d.down(c, string(kind), raw)
}

// UpParams converts the params of a client's command. Fields that the version does not have are
// ignored. The error is for that client.
func (d *Dialect) UpParams(c Context, method string, raw []byte) ([]byte, error) {
	return d.up(c, paramsOf+method, raw)
}

// DownResult converts the result of a command.
func (d *Dialect) DownResult(c Context, method string, raw []byte) ([]byte, error) {
	return d.down(c, resultOf+method, raw)
}

// DownNotification converts the params of a notification; nil if the dialect does not have it.
func (d *Dialect) DownNotification(c Context, method string, raw []byte) ([]byte, error) {
	if newer(method, d.version) {
		return nil, nil
	}
	return d.down(c, notificationOf+method, raw)
}

func (d *Dialect) up(c Context, place string, raw []byte) ([]byte, error) {
	if !d.reads(place) {
		return raw, nil
	}
	v, err := decode(raw)
	o, ok := v.(object)
	if err != nil || !ok {
		return raw, nil // the decoder reports the error
	}
	d.later.prune(shapeAt(place), o)
	for _, s := range d.steps {
		if !s.raise(&c, place, o) {
			return nil, fmt.Errorf("this cannot be said in AHP %s, which this host works in: %s", ahp.Version,
				alternatives[place])
		}
	}
	return encode(o)
}

func (d *Dialect) down(c Context, place string, raw []byte) ([]byte, error) {
	if !d.Rewrites() {
		return raw, nil
	}
	v, err := decode(raw)
	o, ok := v.(object)
	if err != nil || !ok {
		return raw, err
	}
	for i := len(d.steps) - 1; i >= 0; i-- {
		if !d.steps[i].lower(&c, place, o) {
			return nil, nil
		}
	}
	return encode(o)
}

// alternatives maps actions and places without a counterpart in 1.0 to what a client can do
// instead.
var alternatives = map[string]string{
	"session/activeClientToolsChanged": "send session/activeClientChanged first",
	"session/modelChanged":             "name the model in the message",
	"session/agentChanged":             "name the agent in the message",
	paramsOf + "createSession":         "fork a chat with createChat",
}
