package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset"
)

const opRevert = "revert"

// operationsFor lists what can be done with a changeset; one that is under way or failed says so still.
func operationsFor(s *ahp.ChangesetState, files []ahp.ChangesetFile) []ahp.ChangesetOperation {
	op := ahp.ChangesetOperation{ID: opRevert, Label: "Revert", Description: "Put the files back to what they were before these changes",
		Scopes:       []ahp.ChangesetOperationScope{ahp.ChangesetOperationScopeChangeset, ahp.ChangesetOperationScopeResource},
		Confirmation: &ahp.StringOrMarkdown{Text: "Revert these changes? Files are put back to what they were before."},
		Icon:         "discard", Status: ahp.ChangesetOperationStatusIdle}
	if len(files) == 0 {
		op.Status = ahp.ChangesetOperationStatusDisabled
	}
	for _, had := range s.Operations {
		if had.ID == opRevert && (had.Status == ahp.ChangesetOperationStatusRunning || had.Error != nil) {
			op.Status, op.Error = had.Status, had.Error
		}
	}
	return []ahp.ChangesetOperation{op}
}

// InvokeChangesetOperation runs an operation a changeset offers, one at a time (AHP requirements 155 and 156). Errors:
// -32602 no such operation or target, -32011 it is running already or does not apply any more.
func (h *Host) InvokeChangesetOperation(ctx context.Context, c Caller, p ahp.InvokeChangesetOperationParams) (ahp.InvokeChangesetOperationResult, error) {
	none := ahp.InvokeChangesetOperationResult{}
	info, known := h.hub.Info(p.Channel)
	session, scope, ok := h.changesetAt(p.Channel)
	if !known || !ok || info.Kind != ahp.ChannelChangeset || !c.Audience().Sees(info) {
		return none, noChannel(p.Channel)
	}
	if err := mayCall(c, "invokeChangesetOperation", info); err != nil {
		return none, err
	}
	if err := h.wake(ctx, info); err != nil {
		return none, err
	}
	var refused error
	if err := h.hub.Do(func(tx *hub.Tx) { refused = claimOperation(tx, p) }); err != nil || refused != nil {
		return none, errors.Join(err, refused)
	}
	n, failed := h.revert(ctx, h.ledger(session), scope, p)
	h.operationDone(p, failed)
	h.kick(h.ledger(session))
	if failed != nil {
		return none, failed
	}
	return ahp.InvokeChangesetOperationResult{Message: &ahp.StringOrMarkdown{Text: fmt.Sprintf("Reverted %d files", n)}}, nil
}

// claimOperation checks what is asked for and marks it running, in one step: of two people, one wins.
func claimOperation(tx *hub.Tx, p ahp.InvokeChangesetOperationParams) error {
	s, _ := tx.State(p.Channel).(*ahp.ChangesetState)
	if s == nil {
		return noChannel(p.Channel)
	}
	i := slices.IndexFunc(s.Operations, func(o ahp.ChangesetOperation) bool { return o.ID == p.OperationID })
	if i < 0 {
		return badParams("operationId: this changeset has no operation %q", clip(p.OperationID, 80))
	}
	op := s.Operations[i]
	scope, resource, err := operationTarget(p)
	switch {
	case err != nil:
		return err
	case !slices.Contains(op.Scopes, scope):
		return badParams("target: %s cannot be pointed at a %s", op.ID, scope)
	case scope == ahp.ChangesetOperationScopeResource && !slices.ContainsFunc(s.Files, func(f ahp.ChangesetFile) bool { return meant(f, resource) }):
		return badParams("target.resource: %.200s is not in this changeset; it may have changed meanwhile", resource)
	case op.Status == ahp.ChangesetOperationStatusRunning:
		return ahp.Errorf(ahp.CodeConflict, "somebody else is at it: wait until %s is done", op.ID)
	case op.Status == ahp.ChangesetOperationStatusDisabled:
		return ahp.Errorf(ahp.CodeConflict, "there is nothing to %s", op.ID)
	}
	tx.Apply(p.Channel, &ahp.ChangesetOperationStatusChangedAction{OperationID: op.ID, Status: ahp.ChangesetOperationStatusRunning})
	return nil
}

func operationTarget(p ahp.InvokeChangesetOperationParams) (scope ahp.ChangesetOperationScope, resource ahp.URI, err error) {
	if p.Target == nil {
		return ahp.ChangesetOperationScopeChangeset, "", nil
	}
	switch t := p.Target.Value.(type) {
	case *ahp.ChangesetOperationResourceTarget:
		return ahp.ChangesetOperationScopeResource, t.Resource, nil
	case *ahp.ChangesetOperationRangeTarget:
		return ahp.ChangesetOperationScopeRange, t.Resource, nil
	}
	return "", "", badParams("target: its kind is not known here")
}

// meant tells whether a file is meant by a URI: its id, or the URI of one of its sides.
func meant(f ahp.ChangesetFile, uri ahp.URI) bool {
	return f.ID == uri || f.Edit.Before != nil && f.Edit.Before.URI == uri || f.Edit.After != nil && f.Edit.After.URI == uri
}

// operationDone shows how it went. It is shown even when the caller went away meanwhile.
func (h *Host) operationDone(p ahp.InvokeChangesetOperationParams, failed error) {
	a := &ahp.ChangesetOperationStatusChangedAction{OperationID: p.OperationID, Status: ahp.ChangesetOperationStatusIdle}
	if failed != nil {
		a.Status, a.Error = ahp.ChangesetOperationStatusError, &ahp.ErrorInfo{ErrorType: p.OperationID, Message: failed.Error()}
	}
	if err := h.do(h.ctx, func(tx *hub.Tx) { tx.Apply(p.Channel, a) }); err != nil {
		h.log.Warn("the end of an operation is not shown", "changeset", p.Channel, "err", err)
	}
}

// revert computes the changes anew and undoes those asked for.
func (h *Host) revert(ctx context.Context, l *ledger, scope changeScope, p ahp.InvokeChangesetOperationParams) (int, error) {
	svc, dirs := h.changesetService(), h.changeDirs(l.session)
	var seen changeset.Checkpoint
	now := func() (c changeset.Checkpoint, err error) {
		c, err = svc.Checkpoint(ctx, l.session, dirs)
		seen = c
		return c, err
	}
	files, _, err := h.changedIn(ctx, l, scope, dirs, now)
	if err == nil && seen.Trees == nil { // a turn that has ended was compared without a look
		_, err = now()
	}
	if err != nil {
		return 0, ahp.Errorf(ahp.CodeInternalError, "what changed cannot be told: %v", err)
	}
	if _, resource, _ := operationTarget(p); resource != "" {
		files = slices.DeleteFunc(files, func(f changeset.File) bool {
			drawn, _ := changesetFile("", f, false, false)
			return !meant(drawn, resource)
		})
	}
	n, err := svc.Revert(ctx, l.session, seen.Trees, files, nil, nil)
	switch {
	case errors.Is(err, changeset.ErrConflict):
		return 0, ahp.Errorf(ahp.CodeConflict, "nothing was reverted: %v", err)
	case err != nil:
		return 0, ahp.Errorf(ahp.CodeInternalError, "reverting failed: %v", err)
	case n == 0:
		return 0, ahp.Errorf(ahp.CodeConflict, "nothing was reverted: the files are what they were before already")
	}
	return len(files), nil
}
