package host

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/version"
)

// Threads returns the session's review comments, in the order they were started.
func (b *Toolbox) Threads(ctx context.Context) ([]ahp.Annotation, error) {
	uri := core.AnnotationsURI(b.l.uri)
	info, known := b.l.h.core.Hub.Info(uri)
	if !known {
		return nil, errDisposed
	}
	if err := b.l.h.core.Wake(ctx, info); err != nil {
		return nil, err
	}
	s, ok := hub.StateOf[*ahp.AnnotationsState](b.l.h.core.Hub, uri)
	if !ok {
		return nil, errDisposed
	}
	return s.Annotations, nil
}

// Annotate dispatches an action on the session's comments as the agent, under the same rights and
// rules as people's.
func (b *Toolbox) Annotate(ctx context.Context, a ahp.Action) error {
	if err := context.Cause(b.ctx); err != nil {
		return err
	}
	out, err := b.l.h.Dispatch(ctx, b.caller, core.AnnotationsURI(b.l.uri), 0, a)
	return outcomeError(out, err)
}

// Origin returns what a new comment refers to: the running turn, if there is one.
func (b *Toolbox) Origin() ahp.AnnotationOrigin {
	o := ahp.AnnotationOrigin{Session: b.l.uri}
	if r := b.turnOf(""); r != nil {
		o.Chat, o.TurnID = r.chat, r.id
	} else if s, ok := hub.StateOf[*ahp.SessionState](b.l.h.core.Hub, b.l.uri); ok {
		o.Chat = s.DefaultChat
	}
	return o
}

// dirs also works while the session is unloaded.
func (b *Toolbox) dirs() []string { return b.l.h.core.LocalDirs(b.l.uri) }

// File is a text file as a comment refers to it.
type File struct {
	URI     ahp.URI
	Text    string
	Binary  bool
	Version ahp.URI // the stored content that Text is from, or ""
}

// File returns a file by an agent's name for it: relative to a directory of the session, or
// absolute inside one. before selects the version at the session's start.
func (b *Toolbox) File(ctx context.Context, name string, before bool) (File, error) {
	dirs := b.dirs()
	paths, err := pathsIn(dirs, name)
	if err != nil {
		return File{}, err
	}
	for _, path := range paths {
		if c, ok := b.inChanges(ctx, path, before); ok {
			return b.version(ctx, c, name, before)
		}
	}
	for _, path := range paths {
		f, err := b.fileNow(ctx, path)
		if code, ok := errors.AsType[*ahp.Error](err); !ok || code.Code != ahp.CodeNotFound {
			return f, asRefusal(err)
		}
	}
	return File{}, refusef("this session has no file %q. Give its path relative to %s", name,
		strings.Join(dirs, " or "))
}

func asRefusal(err error) error {
	if known, ok := errors.AsType[*ahp.Error](err); ok {
		return Refusal(known.Message)
	}
	return err
}

// pathsIn returns the absolute paths that a name can refer to.
func pathsIn(dirs []string, name string) (list []string, err error) {
	for _, d := range dirs {
		rel := filepath.FromSlash(name)
		if filepath.IsAbs(rel) {
			if rel, err = filepath.Rel(d, rel); err != nil {
				continue
			}
		}
		if filepath.IsLocal(rel) {
			list = append(list, filepath.Join(d, rel))
		}
	}
	if len(list) == 0 {
		return nil, refusef("%q is outside of this session's directories. Give a path relative to %s", name,
			strings.Join(dirs, " or "))
	}
	return list, nil
}

// inChanges returns a file among the session's changes. Errors are only logged, as the file itself
// is available.
func (b *Toolbox) inChanges(ctx context.Context, path string, before bool) (machine.ChangedFile, bool) {
	h := b.l.h
	if h.git == nil {
		return machine.ChangedFile{}, false
	}
	files, err := h.Changes.SessionFiles(ctx, b.l.uri)
	if err != nil {
		h.core.Log.Warn("created a comment without the changes", "session", b.l.uri, "err", err)
	}
	for _, f := range files {
		if f.NewMode != "" && f.Name() == path || f.OldMode != "" && f.OldName() == path &&
			(before || f.NewMode == "") {
			return f, true
		}
	}
	return machine.ChangedFile{}, false
}

// version returns one side of a changed file.
func (b *Toolbox) version(ctx context.Context, c machine.ChangedFile, name string, before bool) (File, error) {
	path, mode, oid := c.Name(), c.NewMode, c.NewOID
	if before {
		path, mode, oid = c.OldName(), c.OldMode, c.OldOID
	}
	switch {
	case mode == "" && before:
		return File{}, refusef("%s is new in this session, so it has no earlier version. Comment on the side after",
			name)
	case mode == "":
		return File{}, refusef("%s is deleted in this session. Comment on the side before", name)
	}
	f := File{URI: core.FileURI(path), Binary: c.Binary}
	if oid == "" || c.Binary {
		return f, nil
	}
	data, err := b.l.h.git.Content(ctx, b.l.uri, oid)
	if err != nil {
		return f, err
	}
	f.Text, f.Version = string(data), version.Ref{Session: core.ShortID(b.l.uri), OID: oid, Path: path,
		Kind: changes.VersionKind(mode)}.URI()
	return f, nil
}

func (b *Toolbox) fileNow(ctx context.Context, path string) (File, error) {
	uri := core.FileURI(path)
	got, err := b.l.h.Files.ReadIn(ctx, b.l.uri, b.dirs(), uri)
	if err != nil {
		return File{}, err
	}
	if !utf8.Valid(got.Data) {
		return File{URI: uri, Binary: true}, nil
	}
	return File{URI: uri, Text: string(got.Data)}, nil
}

// FileName returns an agent's name for a resource: its path below the session's directory, as File
// takes it.
func (b *Toolbox) FileName(uri ahp.URI) string {
	path, ok := core.FilePath(uri)
	if !ok {
		v, ok := version.Parse(uri)
		if !ok || v.Path == "" {
			return uri
		}
		path = v.Path
	}
	for _, d := range b.dirs() {
		if rel, err := filepath.Rel(d, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return path
}

// TextNow returns the current text of a session's file.
func (b *Toolbox) TextNow(ctx context.Context, uri ahp.URI) (string, error) {
	path, ok := core.FilePath(uri)
	if !ok {
		return "", refusef("%.200q is not a file of this session", uri)
	}
	f, err := b.fileNow(ctx, path)
	if err == nil && f.Binary {
		return "", refusef("%s is not text", b.FileName(uri))
	}
	return f.Text, err
}
