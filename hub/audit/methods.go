package audit

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// BeginMethod calls Begin for a call of the protocol; done records its outcome. A caller without
// the right to the method gets no entry, because the host refuses the call.
func (l *Log) BeginMethod(ctx context.Context, who access.Principal, name string,
	params any) (_ context.Context, done func(error), err error) {
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
		if denied, ok := errors.AsType[*ahp.Error](err); ok && name == "resourceRequest" &&
			denied.Code == ahp.CodePermissionDenied {
			call.markDenied()
			err = nil
		}
		call.Done(context.WithoutCancel(ctx), err)
	}, err
}

// onceAMinute lists calls that clients repeat often: one entry a minute per caller and file.
var onceAMinute = map[string]bool{"resourceWrite": true, "resourceRequest": true}

// about returns the subject of a call, and its detail.
func about(params any) (on, detail string) {
	if p, ok := params.(interface{ Subject() (on, detail string) }); ok {
		return p.Subject()
	}
	return "", ""
}
