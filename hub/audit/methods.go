package audit

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// BeginMethod is Begin for a call of the protocol. done says how it ended. A caller who may not call the method leaves
// nothing: the host refuses it.
func (l *Log) BeginMethod(ctx context.Context, who access.Principal, name string, params any) (_ context.Context, done func(error), err error) {
	m, audited := methods[name]
	if l == nil || !audited || !access.MayEverCall(who, name) {
		return ctx, func(error) {}, nil
	}
	on, detail := about(params)
	e := Entry{Who: who.ID, Name: who.Name, What: detailed(m.what, detail), On: on}
	if onceAMinute[name] && !l.lately.isDue(name+" "+who.ID+" "+on, l.cfg.Now()) {
		return ctx, func(error) {}, nil
	}
	ctx, call, err := l.Begin(ctx, m.kind, e)
	return ctx, func(err error) {
		if denied, ok := errors.AsType[*ahp.Error](err); ok && name == "resourceRequest" && denied.Code == ahp.CodePermissionDenied {
			call.inVain()
			err = nil
		}
		call.Done(context.WithoutCancel(ctx), err)
	}, err
}

// onceAMinute are calls that clients make again and again: one entry a minute for each caller and file.
var onceAMinute = map[string]bool{"resourceWrite": true, "resourceRequest": true}

// about returns what a call is about, and more of what it does.
func about(params any) (on, detail string) {
	switch p := params.(type) {
	case *ahp.CreateSessionParams:
		return p.Channel, ""
	case *ahp.DisposeSessionParams:
		return p.Channel, ""
	case *ahp.DisposeChatParams:
		return p.Channel, ""
	case *ahp.MoveChatParams:
		return p.Channel, ""
	case *ahp.CreateTerminalParams:
		return p.Channel, ""
	case *ahp.DisposeTerminalParams:
		return p.Channel, ""
	case *ahp.ResourceWriteParams:
		return p.URI, ""
	case *ahp.ResourceMkdirParams:
		return p.URI, ""
	case *ahp.ResourceCopyParams:
		return p.Source, "to " + p.Destination
	case *ahp.ResourceMoveParams:
		return p.Source, "to " + p.Destination
	case *ahp.ResourceDeleteParams:
		return p.URI, ""
	case *ahp.ResourceRequestParams:
		return p.URI, ""
	case *ahp.InvokeChangesetOperationParams:
		return p.Channel, p.OperationID
	case *ahp.AuthenticateParams:
		return p.Resource, ""
	case *ahp.RunAutomationParams:
		return p.Automation, ""
	}
	return "", ""
}
