package core

import (
	"errors"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// NoSession returns error -32001 for an unknown session.
func NoSession(uri ahp.URI) error {
	return ahp.Errorf(ahp.CodeSessionNotFound, "there is no session %s. List the sessions to see the current ones", uri)
}

// NoChannel returns error -32008 for an unknown or hidden channel.
func NoChannel(uri ahp.URI) error {
	return ahp.Errorf(ahp.CodeNotFound, "%s does not exist or is not shared with you", uri)
}

// BadParams returns an error -32602.
func BadParams(format string, args ...any) error {
	return ahp.Errorf(ahp.CodeInvalidParams, format, args...)
}

// Denied converts an error of the rights table into a protocol error.
func Denied(err error) error {
	if known, ok := errors.AsType[*ahp.Error](err); ok {
		return known
	}
	return ahp.Errorf(ahp.CodePermissionDenied, "%s", err)
}

// MayCall checks in the rights table whether the caller may call a method on a channel.
func (c Caller) MayCall(method string, ch hub.ChannelInfo) error {
	if err := access.MayCall(c.Principal, method, ch); err != nil {
		return Denied(err)
	}
	return nil
}

// MayAct checks in the rights table whether the caller may send an action to a channel.
func (c Caller) MayAct(action string, ch hub.ChannelInfo) error {
	if err := access.MayAct(c.Principal, action, ch); err != nil {
		return Denied(err)
	}
	return nil
}
