package changes

import (
	"context"
	"fmt"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

// Operations of changesets.
const (
	opRevert  = "revert"
	opStage   = "stage"
	opUnstage = "unstage"
	opDiscard = "discard"
	opCommit  = "commit"
	opBranch  = "create-branch"
	opUndo    = "undo"
)

// offer holds what determines the operations of a changeset.
type offer struct {
	kind    string
	files   int
	running string          // the running operation
	staging machine.Staging // of uncommitted changes and branches
	undo    *undoRecord     // the newest that can be undone
}

// offer collects what determines the operations of a changeset.
func (p *Part) offer(ctx context.Context, l *ledger, uri ahp.URI, scope changeScope,
	files []machine.ChangedFile) (offer, error) {
	o := offer{kind: scope.kind, files: len(files)}
	var err error
	if scope.kind == kindUncommitted || scope.kind == kindBranch {
		if o.staging, err = p.stagingOf(ctx, l); err != nil {
			return o, err
		}
	}
	o.undo, err = p.undoFor(ctx, l, uri)
	return o, err
}

// stagingOf returns the state of a session's indexes, and reads it only after a change.
func (p *Part) stagingOf(ctx context.Context, l *ledger) (machine.Staging, error) {
	if had := l.bases.lastStaging(); had != nil && p.svc.IsCurrent(ctx, had.Stamp) {
		return *had, nil
	}
	s, err := p.svc.Staging(ctx, l.session, p.core.LocalDirs(l.session))
	if err != nil {
		return s, err
	}
	l.bases.setStaging(&s)
	return s, nil
}

var (
	everywhere = []ahp.ChangesetOperationScope{ahp.ChangesetOperationScopeChangeset,
		ahp.ChangesetOperationScopeResource, ahp.ChangesetOperationScopeRange}
	asAWhole = []ahp.ChangesetOperationScope{ahp.ChangesetOperationScopeChangeset}
)

// operationsFor returns the operations of a changeset, with the status of running and failed ones.
func operationsFor(s *ahp.ChangesetState, o offer) []ahp.ChangesetOperation {
	ops := []ahp.ChangesetOperation{}
	add := func(able bool, op ahp.ChangesetOperation) {
		op.Status = ahp.ChangesetOperationStatusIdle
		if !able {
			op.Status = ahp.ChangesetOperationStatusDisabled
		}
		for _, had := range s.Operations {
			if had.ID == op.ID && had.Error != nil && had.Status == ahp.ChangesetOperationStatusError {
				op.Status, op.Error = had.Status, had.Error
			}
		}
		if o.running == op.ID {
			op.Status, op.Error = ahp.ChangesetOperationStatusRunning, nil
		}
		ops = append(ops, op)
	}
	if o.kind == kindUncommitted && o.staging.Repositories > 0 {
		o.uncommitted(add)
	}
	if o.staging.Repositories > 0 {
		add(true, ahp.ChangesetOperation{ID: opBranch, Label: "Create branch",
			Description: "Create and check out a new branch",
			Scopes:      asAWhole, Icon: "git-branch", Group: "git"})
	}
	add(o.files > 0, ahp.ChangesetOperation{ID: opRevert, Label: "Revert",
		Description:  "Restore the files to their state before these changes",
		Scopes:       everywhere,
		Confirmation: confirm("Revert these changes? You can undo until the files change again."), Icon: "discard"})
	if o.undo != nil {
		add(true, ahp.ChangesetOperation{ID: opUndo, Label: "Undo", Description: o.undo.describe(), Scopes: asAWhole,
			Icon: "redo"})
	}
	return ops
}

func (o offer) uncommitted(add func(bool, ahp.ChangesetOperation)) {
	add(o.files > 0, ahp.ChangesetOperation{ID: opStage, Label: "Stage",
		Description: "Add to the index", Scopes: everywhere, Icon: "add", Group: "git"})
	add(o.staging.Files > 0, ahp.ChangesetOperation{ID: opUnstage, Label: "Unstage",
		Description: "Remove from the index; files stay unchanged",
		Scopes:      everywhere, Icon: "remove", Group: "git"})
	what := "Nothing staged — commits all changes"
	if n := o.staging.Files; n > 0 {
		what = "Commits staged changes: " + countFiles(n)
	}
	if busy := o.staging.Busy; busy != "" {
		what = busy + " is in progress. Finish or abort it in a terminal first"
	}
	add(o.files+o.staging.Files > 0, ahp.ChangesetOperation{ID: opCommit, Label: "Commit", Description: what,
		Scopes: asAWhole, Icon: "git-commit", Group: "git"})
	add(o.files > 0, ahp.ChangesetOperation{ID: opDiscard, Label: "Discard",
		Description: "Discard unstaged changes and untracked files",
		Scopes:      everywhere, Confirmation: confirm(
			"Discard unstaged changes? You can undo until the files change again."), Icon: "discard"})
}

func confirm(text string) *ahp.StringOrMarkdown { return &ahp.StringOrMarkdown{Text: text} }

func countFiles(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}
