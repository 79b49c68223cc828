package host

import (
	"errors"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

func noSession(uri ahp.URI) error {
	return ahp.Errorf(ahp.CodeSessionNotFound, "there is no session %s: list the sessions to see what there is", uri)
}

func noChannel(uri ahp.URI) error {
	return ahp.Errorf(ahp.CodeNotFound, "there is nothing at %s, or it is not shared with you", uri)
}

func badParams(format string, args ...any) error {
	return ahp.Errorf(ahp.CodeInvalidParams, format, args...)
}

// denied turns what the rights table says into an error of the protocol.
func denied(err error) error {
	if known, ok := errors.AsType[*ahp.Error](err); ok {
		return known
	}
	return ahp.Errorf(ahp.CodePermissionDenied, "%s", err)
}

// mayCall asks the rights table whether the caller may use a method on a channel.
func mayCall(c Caller, method string, ch hub.ChannelInfo) error {
	if err := access.MayCall(c.Principal, method, ch); err != nil {
		return denied(err)
	}
	return nil
}
