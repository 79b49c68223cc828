package changes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset"
)

// operate runs an operation and says in a sentence what it did.
func (p *Part) operate(ctx context.Context, o operation) (said string, err error) {
	if o.OperationID == opUndo {
		said, err = p.takeBack(ctx, o)
		return said, o.failure(err)
	}
	tops, files, err := p.targetOf(ctx, o)
	if err != nil {
		return "", err
	}
	svc, session := p.svc, o.ledger.session
	keep := func(u changeset.Undo) error {
		p.keepCheckpoint(session, changeset.Checkpoint{Trees: tops}) // it outlives a prune of theirs
		return p.keepUndo(ctx, o, u)
	}
	var n int
	switch o.OperationID {
	case opRevert:
		n, err = svc.Revert(ctx, session, tops, files, o.lines, keep)
		said = "Reverted " + o.what(files)
	case opDiscard:
		n, err = svc.Discard(ctx, session, tops, files, o.lines, keep)
		said = "Discarded " + o.what(files)
	case opStage:
		n, err = svc.Stage(ctx, session, tops, files, o.lines)
		said = "Staged " + o.what(files)
	case opUnstage:
		if o.resource == "" {
			files = nil // and whatever is staged that is not shown
		}
		n, err = svc.Unstage(ctx, session, tops, files, o.lines)
		said = "Unstaged " + countFiles(n)
	case opCommit:
		var done changeset.Committed
		done, err = svc.Commit(ctx, session, tops, files, commitOf(o))
		n, said = 1, "Committed "+done.ID+onBranch(done.Branch)+": "+done.Subject
	case opBranch:
		err = svc.CreateBranch(ctx, session, tops, o.asked.Name)
		n, said = 1, "On the new branch "+o.asked.Name
	}
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %s", changeset.ErrConflict, idle[o.OperationID])
	}
	return said, o.failure(err)
}

// idle says why an operation had nothing to do.
var idle = map[string]string{
	opRevert:  "the files are what they were before already",
	opDiscard: "all of it is staged: unstage it first",
	opStage:   "there is no change",
	opUnstage: "none of it is staged",
}

func onBranch(name string) string {
	if name == "" {
		return ""
	}
	return " on " + name
}

func (o operation) what(files []changeset.File) string {
	if o.lines != nil && len(files) == 1 {
		return "lines of " + files[0].Path
	}
	if len(files) == 1 {
		return files[0].Path
	}
	return countFiles(len(files))
}

// failure is what the caller is told, in words that make sense without the code.
func (o operation) failure(err error) error {
	var refused *changeset.RefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return ahp.Errorf(ahp.CodeConflict, "%s", refused.Error())
	case errors.Is(err, changeset.ErrConflict):
		return ahp.Errorf(ahp.CodeConflict, "%s: %s", nothing[o.OperationID], strings.ReplaceAll(err.Error(),
			changeset.ErrConflict.Error()+": ", ""))
	}
	if message, refused := changeset.Refusal(err); refused {
		return ahp.Errorf(ahp.CodeConflict, "%s: %s", nothing[o.OperationID], message)
	}
	return ahp.Errorf(ahp.CodeInternalError, "%s failed: %v", strings.ToLower(o.label), err)
}

var nothing = map[string]string{
	opRevert: "nothing was reverted", opDiscard: "nothing was discarded", opStage: "nothing was staged",
	opUnstage: "nothing was unstaged",
	opCommit:  "nothing was committed", opBranch: "no branch was made", opUndo: "nothing was brought back",
}

// commitOf returns a commit by the caller. The owner's address is the one git is configured with on
// this machine; a guest
// has none, and gets one of the host's.
func commitOf(o operation) changeset.Commit {
	c := changeset.Commit{Message: o.asked.Message, Name: o.caller.Name}
	if o.caller.Role != access.RoleOwner {
		c.Email = localPart(o.caller.Name) + "@" + hostName()
	}
	return c
}

func hostName() string {
	if name, err := os.Hostname(); err == nil && name != "" {
		return name
	}
	return "localhost"
}

// localPart makes a name into what may stand before the @.
func localPart(name string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_':
			return r
		case r == ' ':
			return '.'
		}
		return -1
	}, name)
	if out = strings.Trim(out, "."); out == "" {
		return "guest"
	}
	return out
}

// targetOf returns the work trees, and the files an operation is about: as they are now or, when lines were named, as they were
// shown, since that is what the lines were counted in.
func (p *Part) targetOf(ctx context.Context, o operation) ([]changeset.Tree, []changeset.File, error) {
	l, dirs := o.ledger, p.core.LocalDirs(o.ledger.session)
	var seen changeset.Checkpoint
	now := func() (c changeset.Checkpoint, err error) {
		c, err = p.svc.Checkpoint(ctx, l.session, dirs)
		seen = c
		return c, err
	}
	files, _, err := p.changedIn(ctx, l, o.scope, dirs, now)
	if err == nil && seen.Trees == nil { // a turn that has ended was compared without a look
		_, err = now()
	}
	if err != nil {
		return nil, nil, ahp.Errorf(ahp.CodeInternalError, "what changed cannot be told: %v", err)
	}
	if last := l.schedule.lastShown(o.Channel); o.lines != nil && last != nil && last.files != nil {
		files = slices.Clone(last.files)
	}
	if o.resource != "" {
		files = slices.DeleteFunc(files, func(f changeset.File) bool {
			drawn, _ := changesetFile("", f, false)
			return !meant(drawn, o.resource)
		})
		if len(files) == 0 {
			return nil, nil, ahp.Errorf(ahp.CodeConflict, "%s: the file is not changed any more", nothing[o.OperationID])
		}
	}
	return seen.Trees, files, nil
}
