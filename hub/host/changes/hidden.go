package changes

import (
	"context"
	"slices"
	"sync"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// hiding decides which changed files guests are not shown. It asks git only when a file is in question.
type hiding struct {
	wide     bool // the session works in everything of its owner: only what git tracks is shown
	ofCommit bool // the old side of a change is a commit
	tracked  func() ([]string, error)
	changed  func() (map[string]bool, error) // files that the session changed
}

// newHiding returns what decides which files of a scope guests see. now looks at the directories.
func (p *Part) newHiding(ctx context.Context, l *ledger, scope changeScope, dirs []string,
	now func() (machine.Checkpoint, error)) *hiding {
	return &hiding{
		wide:     p.cfg.Files.IsWide(ctx, dirs),
		ofCommit: scope.kind == kindUncommitted || scope.kind == kindBranch,
		tracked:  sync.OnceValues(func() ([]string, error) { return p.svc.TrackedFiles(ctx, l.session, dirs) }),
		changed: sync.OnceValues(func() (map[string]bool, error) {
			names := map[string]bool{}
			files, _, err := p.changedIn(ctx, l, changeScope{kind: kindSession, chat: scope.chat}, dirs, now)
			for _, f := range files {
				names[f.Name()] = true
			}
			return names, err
		}),
	}
}

// hideFiles returns the files that are hidden, by name.
func (v *hiding) hideFiles(files []machine.ChangedFile) (map[string]access.Hiding, error) {
	out := map[string]access.Hiding{}
	for _, f := range files {
		kind, err := v.hideFile(f)
		if err != nil {
			return nil, err
		}
		if kind != access.HideNone {
			out[f.Name()] = kind
		}
	}
	return out, nil
}

// hideFile judges both sides of a file: guests must be allowed to see each. Private names are hidden even when
// git tracks them: a key that was committed by mistake is still a key.
func (v *hiding) hideFile(f machine.ChangedFile) (access.Hiding, error) {
	if f.OldMode != "" && access.IsPrivateName(f.OldName()) || f.NewMode != "" && access.IsPrivateName(f.Name()) {
		return access.HidePrivate, nil
	}
	if f.OldMode != "" && !v.ofCommit {
		if kind, err := v.hideSide(f.OldName()); err != nil || kind != access.HideNone {
			return kind, err
		}
	}
	if f.NewMode == "" {
		return access.HideNone, nil
	}
	if kind, err := v.hideSide(f.Name()); err != nil || kind != access.HideNone {
		return kind, err
	}
	if !v.ofCommit || f.OldMode != "" && f.OldName() == f.Name() {
		return access.HideNone, nil // it was committed, or the session changed it
	}
	return v.hideUncommitted(f.Name())
}

// hideSide judges one version of a file whose name is not private.
func (v *hiding) hideSide(name string) (access.Hiding, error) {
	if !v.wide {
		return access.HideNone, nil
	}
	tracked, err := v.isTracked(name)
	if err != nil || tracked {
		return access.HideNone, err
	}
	return access.HidePrivate, nil
}

// hideUncommitted judges a file that no commit has.
func (v *hiding) hideUncommitted(name string) (access.Hiding, error) {
	tracked, err := v.isTracked(name)
	if err != nil || tracked {
		return access.HideNone, err
	}
	changed, err := v.changed()
	if err != nil || changed[name] {
		return access.HideNone, err
	}
	return access.HideUnlisted, nil
}

func (v *hiding) isTracked(name string) (bool, error) {
	tracked, err := v.tracked()
	_, found := slices.BinarySearch(tracked, name)
	return found, err
}

// visibleFiles returns the changed files of a scope that a guest sees.
func (p *Part) visibleFiles(ctx context.Context, c core.Caller, l *ledger, scope changeScope, files []machine.ChangedFile,
	now func() (machine.Checkpoint, error)) ([]machine.ChangedFile, error) {
	hidden, err := p.newHiding(ctx, l, scope, p.core.LocalDirs(l.session), now).hideFiles(files)
	return slices.DeleteFunc(files, func(f machine.ChangedFile) bool { return c.Hides(hidden[f.Name()]) }), err
}
