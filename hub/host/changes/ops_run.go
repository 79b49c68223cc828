package changes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

// operate runs an operation and returns a sentence with the result.
func (p *Part) operate(ctx context.Context, o operation) (said string, err error) {
	if o.OperationID == opUndo {
		said, err = p.takeBack(ctx, o)
		return said, o.explainError(err)
	}
	tops, files, err := p.targetOf(ctx, o)
	if err != nil {
		return "", err
	}
	svc, session := p.svc, o.ledger.session
	var n int
	switch o.OperationID {
	case opRevert:
		n, err = p.rewrite(ctx, o, tops, files, svc.PlanRevert)
		said = "Reverted " + o.describeTarget(files)
	case opDiscard:
		n, err = p.rewrite(ctx, o, tops, files, svc.PlanDiscard)
		said = "Discarded " + o.describeTarget(files)
	case opStage:
		n, err = svc.Stage(ctx, session, tops, files, o.lines)
		said = "Staged " + o.describeTarget(files)
	case opUnstage:
		if o.resource == "" {
			files = nil // also unstage files that are not shown
		}
		n, err = svc.Unstage(ctx, session, tops, files, o.lines)
		said = "Unstaged " + countFiles(n)
	case opCommit:
		var done machine.Committed
		done, err = svc.Commit(ctx, session, tops, files, commitOf(o))
		n, said = 1, "Committed "+done.ID+onBranch(done.Branch)+": "+done.Subject
		if err == nil {
			p.publishCommit(o, done)
		}
	case opBranch:
		err = svc.CreateBranch(ctx, session, tops, o.asked.Name)
		n, said = 1, "Created branch "+o.asked.Name
	}
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %s", machine.ErrConflict, nothingToDo[o.OperationID])
	}
	return said, o.explainError(err)
}

// planner plans the writes of an operation.
type planner func(context.Context, ahp.URI, []machine.Tree, []machine.ChangedFile, *machine.Lines) (machine.Rewrite,
	error)

// rewrite plans an operation's writes, and carries them out after the undo record is durable. It
// returns the number of written paths.
func (p *Part) rewrite(ctx context.Context, o operation, tops []machine.Tree, files []machine.ChangedFile,
	plan planner) (int, error) {
	session := o.ledger.session
	r, err := plan(ctx, session, tops, files, o.lines)
	if err != nil || len(r.Files) == 0 {
		return 0, err
	}
	p.keepCheckpoint(session, machine.Checkpoint{Trees: tops}) // keeps the trees from being pruned
	if err := p.keepUndo(ctx, o, r); err != nil {
		return 0, err
	}
	return len(r.Files), p.svc.CarryOut(ctx, session, r) // the undo of a failed write is never offered
}

// nothingToDo maps operations to why they had nothing to do.
var nothingToDo = map[string]string{
	opRevert:  "the files are already in that state",
	opDiscard: "everything is staged. Unstage it first",
	opStage:   "there are no changes",
	opUnstage: "nothing is staged",
}

func onBranch(name string) string {
	if name == "" {
		return ""
	}
	return " on " + name
}

func (o operation) describeTarget(files []machine.ChangedFile) string {
	if o.lines != nil && len(files) == 1 {
		return "hunk in " + files[0].Path
	}
	if len(files) == 1 {
		return files[0].Path
	}
	return countFiles(len(files))
}

// explainError returns an error with a message that makes sense without the code.
func (o operation) explainError(err error) error {
	var refused *machine.RefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return ahp.Errorf(ahp.CodeConflict, "%s", refused.Error())
	}
	if message, refused := machine.Refusal(err); refused {
		return ahp.Errorf(ahp.CodeConflict, "%s: %s", nothingDone[o.OperationID], message)
	}
	return ahp.Errorf(ahp.CodeInternalError, "%s failed: %v", strings.ToLower(o.label), err)
}

var nothingDone = map[string]string{
	opRevert: "nothing was reverted", opDiscard: "nothing was discarded", opStage: "nothing was staged",
	opUnstage: "nothing was unstaged",
	opCommit:  "nothing was committed", opBranch: "no branch was created", opUndo: "nothing was restored",
}

// commitOf returns a commit by the caller. The owner's address is from git's configuration; guests,
// who have none, get one of the host's.
func commitOf(o operation) machine.Commit {
	return machine.Commit{Message: o.asked.Message, Name: o.caller.Name, Guest: o.caller.Role != access.RoleOwner}
}

// targetOf returns the work trees, and the files of an operation: the current ones or, if lines
// were named, the shown ones, to which the line numbers refer.
func (p *Part) targetOf(ctx context.Context, o operation) ([]machine.Tree, []machine.ChangedFile, error) {
	l, dirs := o.ledger, p.core.LocalDirs(o.ledger.session)
	var seen machine.Checkpoint
	now := func() (c machine.Checkpoint, err error) {
		c, err = p.svc.Checkpoint(ctx, l.session, dirs)
		seen = c
		return c, err
	}
	files, _, err := p.changedIn(ctx, l, o.scope, dirs, now)
	if err == nil && seen.Trees == nil { // an ended turn was compared without a look
		_, err = now()
	}
	if err != nil {
		return nil, nil, ahp.Errorf(ahp.CodeInternalError, "can't compute the changes: %v", err)
	}
	if last := l.schedule.lastShown(o.Channel); o.lines != nil && last != nil && last.files != nil {
		files = slices.Clone(last.files)
	}
	if o.resource != "" {
		files = slices.DeleteFunc(files, func(f machine.ChangedFile) bool {
			drawn, _ := changesetFile("", f, false)
			return !isNamed(drawn, o.resource)
		})
		if len(files) == 0 {
			return nil, nil, ahp.Errorf(ahp.CodeConflict, "%s: the file no longer has changes",
				nothingDone[o.OperationID])
		}
	}
	return seen.Trees, files, nil
}
