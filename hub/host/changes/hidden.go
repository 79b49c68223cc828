package changes

import (
	"context"
	"slices"
	"sync"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// hiding decides which changed files are hidden from guests. It calls git only if necessary.
type hiding struct {
	wide     bool // the session's directory contains everything of its owner; only files that git tracks are shown
	ofCommit bool // the old side of a change is a commit
	tracked  func() ([]string, error)
	changed  func() (map[string]bool, error) // files changed by the session
}

// newHiding returns the hiding for a scope. now returns the current checkpoint.
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

// hideFiles returns the hidden files by name.
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

// hideFile returns how a file is hidden. Guests must be allowed to see both sides. Private names
// are hidden even if git tracks them: a key committed by mistake is still a key.
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
		return access.HideNone, nil // committed, or changed by the session
	}
	return v.hideUncommitted(f.Name())
}

// hideSide returns how a version of a file without a private name is hidden.
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

// hideUncommitted returns how a file that is in no commit is hidden.
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

// visibleFiles returns the changed files of a scope that a guest may see.
func (p *Part) visibleFiles(ctx context.Context, c core.Caller, l *ledger, scope changeScope, files []machine.ChangedFile,
	now func() (machine.Checkpoint, error)) ([]machine.ChangedFile, error) {
	hidden, err := p.newHiding(ctx, l, scope, p.core.LocalDirs(l.session), now).hideFiles(files)
	return slices.DeleteFunc(files, func(f machine.ChangedFile) bool { return c.Hides(hidden[f.Name()]) }), err
}
