package fleet

import (
	"crypto/sha1" // git names objects with it
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/place"
)

// site is the computer to which a call about changes goes.
type site struct {
	machine.Changes
	node
	ws    machine.Workspace // in the computer's spelling
	roots []ahp.URI         // the call's paths there, to rename them in errors
}

// site returns the computer of a workspace and of paths, which must all be on one computer. Without paths, the
// workspace's directories decide.
func (c routedChanges) site(ws machine.Workspace, paths ...string) (site, error) {
	s := site{ws: ws}
	if len(paths) == 0 && len(ws.Dirs) > 0 {
		paths = ws.Dirs[:1]
	}
	for i, p := range paths {
		id, there, err := place.SplitPath(p)
		switch {
		case err != nil:
			return s, err
		case i > 0 && id != s.id:
			return s, errTwoMachines
		}
		s.id, s.roots = id, append(s.roots, place.FileURI(there))
	}
	var err error
	if s.node, err = c.node(s.id); err != nil {
		return s, err
	}
	if s.Changes = s.Machine.Changes(); s.Changes == nil {
		return s, ahp.Errorf(ahp.CodeInvalidParams,
			"the machine %s records no changes. Install a newer ahphub there", s.name)
	}
	if s.id == "" {
		return s, nil
	}
	return s, s.workspace(ws)
}

// workspace sets the workspace for the computer, without paths of other computers.
func (s *site) workspace(ws machine.Workspace) (err error) {
	s.ws.Dirs, s.ws.Granted = nil, nil
	for _, dir := range ws.Dirs {
		if id, there, err := place.SplitPath(dir); err == nil && id == s.id {
			s.ws.Dirs, s.roots = append(s.ws.Dirs, there), append(s.roots, place.FileURI(there))
		}
	}
	for _, g := range ws.Granted {
		by, byThere, err := place.SplitPath(g.By)
		at, there, err2 := place.SplitPath(g.Path)
		if err == nil && err2 == nil && by == s.id && at == s.id {
			s.ws.Granted = append(s.ws.Granted, machine.Outside{By: byThere, Path: there})
		}
	}
	s.ws.Sandbox, err = splitPolicy(s.id, ws.Sandbox)
	return err
}

// in returns a path of the computer in its own spelling. site has checked that it is on this computer.
func (s site) in(p string) string {
	if s.id == "" || p == "" {
		return p
	}
	_, there, err := place.SplitPath(p)
	if err != nil {
		return ""
	}
	return there
}

// out returns a path from the computer in the hub's spelling; the result is always on this computer.
func (s site) out(p string) string {
	if s.id == "" || p == "" {
		return p
	}
	joined, err := place.JoinPath(s.id, path.Clean("/"+strings.ReplaceAll(p, "\x00", "")))
	if err != nil {
		return place.Prefix + "/" + s.id
	}
	return joined
}

func each[T any](list []T, change func(T) T) []T {
	if list == nil {
		return nil
	}
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = change(v)
	}
	return out
}

// ins is in for a list.
func (s site) ins(list []string) []string { return each(list, s.in) }

// outs is out for a list.
func (s site) outs(list []string) []string { return each(list, s.out) }

func trees(list []machine.Tree, spell func(string) string) []machine.Tree {
	return each(list, func(t machine.Tree) machine.Tree {
		t.Dir, t.Top = spell(t.Dir), spell(t.Top)
		return t
	})
}

func checkpoint(c machine.Checkpoint, spell func(string) string) machine.Checkpoint {
	return machine.Checkpoint{Trees: trees(c.Trees, spell)}
}

func changed(list []machine.ChangedFile, spell func(string) string) []machine.ChangedFile {
	return each(list, func(f machine.ChangedFile) machine.ChangedFile {
		f.Top = spell(f.Top)
		return f
	})
}

func rewrite(r machine.Rewrite, spell func(string) string) machine.Rewrite {
	return machine.Rewrite{Files: each(r.Files, func(f machine.RewrittenFile) machine.RewrittenFile {
		f.Dir, f.Top = spell(f.Dir), spell(f.Top)
		return f
	})}
}

func worktree(w machine.Worktree, spell func(string) string) machine.Worktree {
	w.Repo, w.Dir = spell(w.Repo), spell(w.Dir)
	return w
}

func stamp(files machine.Stamp, spell func(string) string) machine.Stamp {
	if files == nil {
		return nil
	}
	out := make(machine.Stamp, len(files))
	for file, was := range files {
		out[spell(file)] = was
	}
	return out
}

// The paths in the arguments of calls.

func treePaths(list ...machine.Tree) (paths []string) {
	for _, t := range list {
		paths = append(paths, t.Dir, t.Top)
	}
	return paths
}

func changedPaths(tops []machine.Tree, files []machine.ChangedFile) []string {
	paths := treePaths(tops...)
	for _, f := range files {
		paths = append(paths, f.Top)
	}
	return paths
}

func rewritePaths(r machine.Rewrite) (paths []string) {
	for _, f := range r.Files {
		paths = append(paths, f.Dir, f.Top)
	}
	return paths
}

// errMadeUp refuses data that no computer with a real git repository sends.
var errMadeUp = errors.New("the machine tells of changes in a way that no repository has")

// checkChanged refuses files that a member must not name.
func (s site) checkChanged(files []machine.ChangedFile) error {
	if s.id == "" {
		return nil
	}
	for _, f := range files {
		for _, oid := range []string{f.OldOID, f.NewOID} {
			if oid != "" && !machine.IsOID(oid) {
				return errMadeUp
			}
		}
		if !filepath.IsLocal(f.Path) || f.OldPath != "" && !filepath.IsLocal(f.OldPath) {
			return errMadeUp
		}
	}
	return nil
}

// checkTrees refuses directories that a member must not name.
func (s site) checkTrees(c machine.Checkpoint) error {
	if s.id == "" {
		return nil
	}
	for _, t := range c.Trees {
		if t.OID != "" && !machine.IsOID(t.OID) || t.Prefix != "" && !filepath.IsLocal(t.Prefix) {
			return errMadeUp
		}
		for _, f := range t.Skipped {
			if !filepath.IsLocal(f.Path) {
				return errMadeUp
			}
		}
	}
	return nil
}

// isNamed reports whether oid is git's name for data. Versions are kept by that name for all sessions, so a machine
// must not fake the content of a version that it does not have.
func (s site) isNamed(oid string, data []byte) bool {
	header := fmt.Sprintf("blob %d\x00", len(data))
	switch {
	case s.id == "":
		return true
	case len(oid) == sha256.Size*2:
		sum := sha256.Sum256(append([]byte(header), data...))
		return hex.EncodeToString(sum[:]) == oid
	}
	sum := sha1.Sum(append([]byte(header), data...))
	return hex.EncodeToString(sum[:]) == oid
}

// spelledError is an error with its text in the hub's spelling.
type spelledError struct {
	error
	text string
}

func (e *spelledError) Error() string { return e.text }
func (e *spelledError) Unwrap() error { return e.error }

// explain returns an error of the computer with its paths in the hub's spelling.
func (s site) explain(err error) error {
	if err == nil || s.id == "" {
		return err
	}
	if out, ok := errors.AsType[*machine.OutsideError](err); ok {
		return &machine.OutsideError{Outside: machine.Outside{By: s.out(out.By), Path: s.out(out.Path)}}
	}
	if special, ok := errors.AsType[*machine.SpecialFileError](err); ok {
		return &machine.SpecialFileError{Path: s.out(special.Path), Kind: special.Kind}
	}
	if slow, ok := errors.AsType[*machine.SlowError](err); ok {
		return &machine.SlowError{Dir: s.out(slow.Dir), Limit: slow.Limit}
	}
	if _, ok := errors.AsType[*machine.RefusedError](err); ok {
		return err
	}
	for _, known := range []error{machine.ErrConflict, machine.ErrNoContent, machine.ErrTooLarge} {
		if errors.Is(err, known) {
			return &spelledError{err, s.rename(err.Error(), s.roots)}
		}
	}
	return s.node.explain(err, s.roots...)
}
