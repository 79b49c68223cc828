package changes

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/texts"
)

// operation is a requested operation.
type operation struct {
	ahp.InvokeChangesetOperationParams
	caller   core.Caller
	ledger   *ledger
	scope    changeScope
	label    string
	resource ahp.URI        // "" for the whole changeset
	lines    *machine.Lines // lines of the resource; nil for all of it
	asked    asked
}

// asked holds further parameters of an operation. As the protocol has no fields for them, they are
// under the host's own key of the parameters' `_meta`.
type asked struct {
	Message string `json:"message"` // of a commit
	Name    string `json:"name"`    // of a branch
}

// InvokeOperation runs an operation of a changeset, one at a time (AHP requirements 155 and 156).
// Errors: -32602 no such operation or target, -32011 another one is running or the files have
// changed.
func (p *Part) InvokeOperation(ctx context.Context, c core.Caller,
	req ahp.InvokeChangesetOperationParams) (ahp.InvokeChangesetOperationResult, error) {
	none := ahp.InvokeChangesetOperationResult{}
	info, known := p.core.Hub.Info(req.Channel)
	session, scope, ok := p.parseURI(req.Channel)
	if !known || !ok || info.Kind != ahp.ChannelChangeset || !c.Audience().Sees(info) {
		return none, core.NoChannel(req.Channel)
	}
	if err := c.MayCall("invokeChangesetOperation", info); err != nil {
		return none, err
	}
	if err := p.wake(ctx, session, req.Channel); err != nil {
		return none, err
	}
	o := operation{InvokeChangesetOperationParams: req, caller: c, ledger: p.ledger(session), scope: scope}
	if raw := req.Meta[core.MetaKey]; raw != nil {
		if err := json.Unmarshal(raw, &o.asked); err != nil {
			return none, core.BadParams("_meta.%s: %v", core.MetaKey, err)
		}
	}
	var refused error
	if err := p.core.Hub.Do(func(tx *hub.Tx) { refused = p.claimOperation(tx, &o) }); err != nil || refused != nil {
		return none, errors.Join(err, refused)
	}
	said, failed := p.operate(ctx, o)
	p.publishOutcome(o, failed)
	p.refresh(o.ledger)
	if failed != nil {
		return none, failed
	}
	return ahp.InvokeChangesetOperationResult{Message: &ahp.StringOrMarkdown{Text: said}}, nil
}

// claimOperation marks an operation as running, or returns why it may not run.
func (p *Part) claimOperation(tx *hub.Tx, o *operation) error {
	s, ok := hub.StateOf[*ahp.ChangesetState](tx, o.Channel)
	if !ok {
		return core.NoChannel(o.Channel)
	}
	i := slices.IndexFunc(s.Operations, func(op ahp.ChangesetOperation) bool { return op.ID == o.OperationID })
	if i < 0 {
		return core.BadParams("operationId: this changeset has no operation %q", texts.CutBytes(o.OperationID, 80))
	}
	op := s.Operations[i]
	scope, err := o.readTarget(s)
	running := p.operating.on(o.Channel)
	switch {
	case err != nil:
		return err
	case !slices.Contains(op.Scopes, scope):
		return core.BadParams("target: %s does not apply to a %s", op.ID, scope)
	case running != "":
		return ahp.Errorf(ahp.CodeConflict, "%s is already running. Wait until it has finished", running)
	case op.Status == ahp.ChangesetOperationStatusDisabled:
		return ahp.Errorf(ahp.CodeConflict, "there is nothing to %s", op.ID)
	}
	o.label = op.Label
	p.operating.begin(o.Channel, op.ID)
	tx.Apply(o.Channel, &ahp.ChangesetOperationStatusChangedAction{OperationID: op.ID,
		Status: ahp.ChangesetOperationStatusRunning})
	return nil
}

// readTarget parses the operation's target.
func (o *operation) readTarget(s *ahp.ChangesetState) (ahp.ChangesetOperationScope, error) {
	if o.Target == nil {
		return ahp.ChangesetOperationScopeChangeset, nil
	}
	scope := ahp.ChangesetOperationScopeResource
	switch t := o.Target.Value.(type) {
	case *ahp.ChangesetOperationResourceTarget:
		o.resource = t.Resource
	case *ahp.ChangesetOperationRangeTarget:
		scope, o.resource = ahp.ChangesetOperationScopeRange, t.Resource
		lines, ok := linesOf(t)
		if !ok {
			return scope, core.BadParams("target.range: it starts before the first line, or ends before its start")
		}
		o.lines = &lines
	default:
		return "", core.BadParams("target: this kind is not supported")
	}
	i := slices.IndexFunc(s.Files, func(f ahp.ChangesetFile) bool { return isNamed(f, o.resource) })
	if i < 0 {
		return scope, core.BadParams(
			"target.resource: %.200s is not in this changeset; it may have changed in the meantime", o.resource)
	}
	if o.lines != nil && s.Files[i].Edit.After == nil {
		o.lines.Before = true // there is no other side
	}
	return scope, nil
}

// linesOf converts a zero-based range. A range that ends at the start of a line excludes that line,
// unless it is empty.
func linesOf(t *ahp.ChangesetOperationRangeTarget) (l machine.Lines, ok bool) {
	from, to := t.Range.Start.Line, t.Range.End.Line
	if t.Range.End.Character == 0 && to > from {
		to--
	}
	const most = 1 << 30
	return machine.Lines{Before: t.Side == ahp.ChangesetSideBefore, From: int(min(from, most)) + 1, To: int(min(to,
		most)) + 1}, from >= 0 && to >= from
}

// isNamed reports whether a URI identifies a changed file, by its id or a side's URI.
func isNamed(f ahp.ChangesetFile, uri ahp.URI) bool {
	return f.ID == uri || f.Edit.Before != nil && f.Edit.Before.URI == uri || f.Edit.After != nil &&
		f.Edit.After.URI == uri
}

// operations tracks running operations by changeset. States are not enough, as they still say
// running after a crash. The zero value is ready to use.
type operations struct {
	mu sync.Mutex
	of map[ahp.URI]string // the operation, by changeset
}

// begin records that an operation runs on a changeset.
func (o *operations) begin(channel ahp.URI, op string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = map[ahp.URI]string{}
	}
	o.of[channel] = op
}

// on returns the operation that runs on a changeset, or "".
func (o *operations) on(channel ahp.URI) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of[channel]
}

// end records that no operation runs on a changeset.
func (o *operations) end(channel ahp.URI) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.of, channel)
}

// publishOutcome publishes the result of an operation, even if its caller has left.
func (p *Part) publishOutcome(o operation, failed error) {
	a := &ahp.ChangesetOperationStatusChangedAction{OperationID: o.OperationID,
		Status: ahp.ChangesetOperationStatusIdle}
	if failed != nil {
		why := failed.Error()
		if e, ok := errors.AsType[*ahp.Error](failed); ok {
			why = e.Message // without the code, which is for programs
		}
		a.Status, a.Error = ahp.ChangesetOperationStatusError, &ahp.ErrorInfo{ErrorType: o.OperationID, Message: why}
	}
	p.operating.end(o.Channel)
	if err := p.core.Do(p.core.Ctx, func(tx *hub.Tx) { tx.Apply(o.Channel, a) }); err != nil {
		p.core.Log.Warn("the end of an operation is not shown", "changeset", o.Channel, "err", err)
	}
}
