package core

import (
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Check validates one action under the hub's lock. It returns the action to apply, or the reason
// for a rejection.
type Check func(*Request, ahp.Action) (ahp.Action, string)

// Request is a client's action during validation.
type Request struct {
	Tx     *hub.Tx
	Caller Caller
	Info   hub.ChannelInfo
	State  ahp.State
	Now    time.Time
}

// Stamp returns the caller and the time, for `_meta`.
func (r *Request) Stamp() Stamp { return r.Caller.Stamp(r.Now) }

// Rule returns a Check that calls f with the channel's state and a copy of the action, so that f
// never changes the caller's action. f returns the reason for a rejection, or "".
//
// f may set fields of its copy that only the host knows: principal, time, duration (AHP requirement
// 35).
func Rule[S, T any, PS interface {
	*S
	ahp.State
}, PT interface {
	*T
	ahp.Action
}](f func(*Request, PS, PT) string) Check {
	return func(r *Request, a ahp.Action) (ahp.Action, string) {
		s, here := r.State.(PS)
		in, known := a.(PT)
		if !here || !known {
			return nil, wrongChannel(a)
		}
		c := *in
		if reason := f(r, s, &c); reason != "" {
			return nil, reason
		}
		return PT(&c), ""
	}
}

func wrongChannel(a ahp.Action) string { return a.ActionType() + " does not belong on this channel" }

// Accept is the Check of an action that its channel always accepts.
func Accept(r *Request, a ahp.Action) (ahp.Action, string) {
	if info, ok := ahp.Info(a.ActionType()); !ok || info.Channel != r.State.Channel() {
		return nil, wrongChannel(a)
	}
	return a, ""
}

// Refuse returns a Check that rejects every action with the same reason.
func Refuse(reason string) Check {
	return func(*Request, ahp.Action) (ahp.Action, string) { return nil, reason }
}
