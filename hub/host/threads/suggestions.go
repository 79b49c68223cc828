package threads

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/hub/version"
)

// A suggestion is a fenced block in a comment that replaces the commented lines. It is applied at
// the lines' current position, and only if they are unchanged. Of several suggestions, either all
// are applied or none.

const mostApplied = 100 // suggestions per call

// SuggestionRef identifies the N-th suggestion of a comment, from 0.
type SuggestionRef struct {
	Thread, Entry string
	N             int
}

// applied is a suggestion being applied.
type applied struct {
	ref    SuggestionRef
	thread ahp.Annotation
	entry  ahp.AnnotationEntry
	path   string
	lines  []string
}

// ApplySuggestions writes suggestions into their files, then resolves their threads with a note.
// Errors: -32602 no such suggestion, -32009 the caller may not write files, -32011 the lines have
// changed.
func (p *Part) ApplySuggestions(ctx context.Context, c core.Caller, session ahp.URI, refs []SuggestionRef) error {
	list, err := p.findSuggestions(ctx, c, session, refs)
	if err != nil {
		return err
	}
	if _, err := p.writeSuggestions(ctx, session, list); err != nil {
		return err
	}
	p.cfg.Refresh(session)
	return p.resolveApplied(ctx, c, session, list, "Applied the suggestion.")
}

// findSuggestions returns the suggestions to apply. The right to revert changes includes the right
// to apply, as both write files.
func (p *Part) findSuggestions(ctx context.Context, c core.Caller, session ahp.URI,
	refs []SuggestionRef) ([]applied, error) {
	if p.core.Catalogue.Alive(session) == nil || !c.Audience().Sees(core.SessionInfo(session)) {
		return nil, core.NoSession(session)
	}
	if err := c.MayCall("invokeChangesetOperation", core.SessionInfo(session)); err != nil {
		return nil, err
	}
	if p.cfg.Repositories == nil {
		return nil, ahp.Errorf(ahp.CodeConflict, "this server keeps no checkpoints, so suggestions can't be applied")
	}
	if len(refs) == 0 || len(refs) > mostApplied {
		return nil, core.BadParams("give 1 to %d suggestions", mostApplied)
	}
	if err := p.core.Ensure(ctx, session); err != nil {
		return nil, err
	}
	if err := p.core.Ensure(ctx, core.AnnotationsURI(session)); err != nil {
		return nil, err
	}
	s, _ := hub.StateOf[*ahp.AnnotationsState](p.core.Hub, core.AnnotationsURI(session))
	if s == nil {
		return nil, core.NoSession(session)
	}
	var out []applied
	for _, ref := range refs {
		a, err := findSuggestion(s, ref)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func findSuggestion(s *ahp.AnnotationsState, ref SuggestionRef) (applied, error) {
	i := FindThread(s, ref.Thread)
	if i < 0 {
		return applied{}, core.BadParams("this thread has been deleted")
	}
	t := s.Annotations[i]
	j := FindEntry(t.Entries, ref.Entry)
	if j < 0 {
		return applied{}, core.BadParams("this comment has been deleted")
	}
	all := review.Suggestions(t.Entries[j].Text.Text)
	u, err := url.Parse(t.Resource)
	switch {
	case ref.N < 0 || ref.N >= len(all):
		return applied{}, core.BadParams("this suggestion is gone. The comment was edited in the meantime")
	case t.Range == nil || originOf(t).Side == "before" || err != nil || u.Scheme != "file":
		return applied{}, core.BadParams("a suggestion needs lines of the current file")
	}
	return applied{ref, t, t.Entries[j], filepath.FromSlash(u.Path), all[ref.N]}, nil
}

// mostTries limits retries when other writers change the files.
const mostTries = 3

// writeSuggestions edits each file once, and returns how to undo that.
func (p *Part) writeSuggestions(ctx context.Context, session ahp.URI, list []applied) (r machine.Rewrite, err error) {
	for range mostTries {
		if r, err = p.editFiles(ctx, session, list); !errors.Is(err, machine.ErrStale) {
			break
		}
	}
	switch {
	case errors.Is(err, review.ErrOverlap):
		return r, ahp.Errorf(ahp.CodeConflict, "nothing was changed: %v", err)
	case err != nil:
		if message, refused := machine.Refusal(err); refused {
			return r, ahp.Errorf(ahp.CodeConflict, "nothing was changed: %s", message)
		}
		return r, ahp.Errorf(ahp.CodeInternalError, "applying failed: %v", err)
	}
	return r, nil
}

// editFiles reads the files of suggestions, and writes them with the suggestions applied.
func (p *Part) editFiles(ctx context.Context, session ahp.URI, list []applied) (machine.Rewrite, error) {
	var paths []string
	for _, a := range list {
		if !slices.Contains(paths, a.path) {
			paths = append(paths, a.path)
		}
	}
	dirs := p.core.LocalDirs(session)
	texts, err := p.cfg.Repositories.Texts(ctx, session, dirs, paths)
	if err != nil {
		return machine.Rewrite{}, err
	}
	edits := make([]machine.TextEdit, len(texts))
	for i, t := range texts {
		data, err := p.applyTo(ctx, session, t.Data, t.Path, list)
		if err != nil {
			return machine.Rewrite{}, err
		}
		edits[i] = machine.TextEdit{Path: t.Path, Was: t.Kept, Data: data}
	}
	return p.cfg.Repositories.Edit(ctx, session, dirs, edits)
}

// applyTo returns a file's content with all its suggestions applied.
func (p *Part) applyTo(ctx context.Context, session ahp.URI, now []byte, path string, list []applied) ([]byte, error) {
	if diff.IsBinary(now) {
		return nil, fmt.Errorf("%w: %s is not text", machine.ErrConflict, filepath.Base(path))
	}
	lines := review.Lines(string(now))
	var edits []review.Edit
	for _, a := range list {
		if a.path != path {
			continue
		}
		at, ok := p.locateThread(ctx, session, a.thread, lines)
		if !ok {
			return nil, fmt.Errorf("%w: the suggestion's lines in %s have changed. Apply it manually",
				machine.ErrConflict, filepath.Base(path))
		}
		if slices.Equal(lines[at.From-1:at.To], a.lines) {
			return nil, fmt.Errorf("%w: %s already matches the suggestion", machine.ErrConflict, filepath.Base(path))
		}
		edits = append(edits, review.Edit{Range: at, Lines: a.lines})
	}
	out, err := review.Replace(string(now), edits)
	return []byte(out), err
}

// locateThread returns the current lines of a thread if they are unchanged. As a client sent the
// quote, which people see, it must match the named version.
func (p *Part) locateThread(ctx context.Context, session ahp.URI, t ahp.Annotation,
	lines []string) (review.Range, bool) {
	o := originOf(t)
	if old, ok := p.versionLines(ctx, session, o.Version); ok {
		if !o.quotes(old) {
			return review.Range{}, false
		}
		return review.Certain(old, lines, o.Range)
	}
	return review.Quoted(lines, o.Hunk, o.Range)
}

// quotes reports whether the quote matches a version's lines. A long quote is only their beginning.
func (o Origin) quotes(old []string) bool {
	if o.From < 1 || o.To < o.From || o.To > len(old) {
		return false
	}
	text := strings.Join(old[o.From-1:o.To], "\n")
	return text == strings.ReplaceAll(o.Hunk, "\r", "") || len(o.Hunk) > maxHunk-4 && strings.HasPrefix(text, o.Hunk)
}

// versionLines reads a stored version of a file.
func (p *Part) versionLines(ctx context.Context, session ahp.URI, uri ahp.URI) ([]string, bool) {
	v, ok := version.Parse(uri)
	if !ok || v.Session != core.ShortID(session) || !machine.IsOID(v.OID) {
		return nil, false
	}
	data, err := p.cfg.Repositories.Content(ctx, session, v.OID)
	if err != nil || diff.IsBinary(data) {
		return nil, false
	}
	return review.Lines(string(data)), true
}

// resolveApplied adds a note to each thread and resolves it.
func (p *Part) resolveApplied(ctx context.Context, c core.Caller, session ahp.URI, list []applied, note string) error {
	c.Conn = nil
	done := map[string]bool{}
	for _, a := range list {
		if done[a.thread.ID] {
			continue
		}
		done[a.thread.ID] = true
		for _, act := range []ahp.Action{
			&ahp.AnnotationsEntrySetAction{AnnotationID: a.thread.ID, Entry: ahp.AnnotationEntry{ID: ids.New(),
				Text: ahp.Markdown(note)}},
			&ahp.AnnotationsUpdatedAction{AnnotationID: a.thread.ID, Resolved: ahp.Ptr(true)},
		} {
			if _, err := p.cfg.Dispatch(ctx, c, core.AnnotationsURI(session), 0, act); err != nil {
				return err // the file is written, but the thread lacks the note
			}
		}
	}
	return nil
}
