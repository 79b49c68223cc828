package threads

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/texts"
	"github.com/ahphub/ahphub/hub/version"
)

// Rules of annotations: comments belong to their authors. Only the author or the owner may edit or
// delete an entry. The host sets its author and time. Actions for unknown ids are accepted and
// change nothing (AHP requirement 161).

const (
	mostEntries   = 500
	mostEntryText = 64 << 10
	lastEntry     = "this is the only comment of its thread: delete the thread instead" // AHP requirement 160
)

// Limits of clients' quotes, in bytes.
const (
	maxHunk    = 8 << 10
	maxVersion = 8 << 10
)

// FindThread returns the index of a thread, or -1.
func FindThread(s *ahp.AnnotationsState, id string) int {
	return slices.IndexFunc(s.Annotations, func(a ahp.Annotation) bool { return a.ID == id })
}

// FindEntry returns the index of a comment, or -1.
func FindEntry(entries []ahp.AnnotationEntry, id string) int {
	return slices.IndexFunc(entries, func(e ahp.AnnotationEntry) bool { return e.ID == id })
}

// AuthorOf returns the principal who wrote a comment.
func AuthorOf(e ahp.AnnotationEntry) string {
	s, _ := core.ReadStamp(e.Meta)
	return s.By.ID
}

func authors(a ahp.Annotation) []string {
	ids := make([]string, len(a.Entries))
	for i, e := range a.Entries {
		ids[i] = AuthorOf(e)
	}
	return ids
}

func mayEdit(r *core.Request, e ahp.AnnotationEntry) string {
	return reasonOf(access.MayEdit(r.Caller.Principal, AuthorOf(e)))
}

func mayResolve(r *core.Request, a ahp.Annotation) string {
	return reasonOf(access.MayResolve(r.Caller.Principal, authors(a)...))
}

func reasonOf(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func (p *Part) checkThreadSet(r *core.Request, s *ahp.AnnotationsState, a *ahp.AnnotationsSetAction) string {
	t := &a.Annotation
	switch {
	case t.ID == "" || t.Resource == "":
		return "an annotation needs an id and the resource it is about"
	case len(t.Entries) == 0: // AHP requirement 160
		return "an annotation needs at least one comment"
	case len(t.Entries) > mostEntries:
		return fmt.Sprintf("a thread takes at most %d comments: start another one", mostEntries)
	}
	t.Entries = slices.Clone(t.Entries)
	if i := FindThread(s, t.ID); i >= 0 {
		old := s.Annotations[i]
		reason := checkThreadReset(r, old, t)
		if reason == "" {
			p.recordMentions(r, t.ID, slices.DeleteFunc(slices.Clone(t.Entries),
				func(e ahp.AnnotationEntry) bool { return FindEntry(old.Entries, e.ID) >= 0 })...)
		}
		return reason
	}
	if len(s.Annotations) >= p.cfg.Most {
		return fmt.Sprintf("this session has %d threads already: delete some first", len(s.Annotations))
	}
	return p.checkNewThread(r, t)
}

func (p *Part) checkNewThread(r *core.Request, t *ahp.Annotation) string {
	t.Resolved = false // AHP requirement 161
	if t.Origin.Session != r.Info.Session {
		t.Origin = ahp.AnnotationOrigin{Session: r.Info.Session}
	}
	st := r.Stamp()
	st.Range = t.Range
	t.Meta = st.Write(t.Meta)
	for i := range t.Entries {
		if reason := checkNewEntry(r, t.Entries[:i], &t.Entries[i]); reason != "" {
			return reason
		}
	}
	p.recordMentions(r, t.ID, t.Entries...)
	return ""
}

// checkThreadReset compares a thread with its replacement, so that only the author or the owner
// changes or deletes a comment.
func checkThreadReset(r *core.Request, old ahp.Annotation, t *ahp.Annotation) string {
	for _, had := range old.Entries {
		if FindEntry(t.Entries, had.ID) < 0 {
			if reason := mayEdit(r, had); reason != "" {
				return reason
			}
		}
	}
	for i := range t.Entries {
		if reason := checkEntryReset(r, old.Entries, t.Entries[:i], &t.Entries[i]); reason != "" {
			return reason
		}
	}
	t.Meta = core.KeepStamp(old.Meta, t.Meta)
	reason := checkThreadChange(r, old, *t)
	if reason == "" && !reflect.DeepEqual(old.Range, t.Range) {
		*t = replaceOrigin(*t)
	}
	return reason
}

func checkEntryReset(r *core.Request, old, before []ahp.AnnotationEntry, e *ahp.AnnotationEntry) string {
	i := FindEntry(old, e.ID)
	if i < 0 {
		return checkNewEntry(r, before, e)
	}
	if FindEntry(before, e.ID) >= 0 {
		return "two comments have the id " + e.ID
	}
	return checkEntryEdit(r, old[i], e)
}

// checkThreadChange checks the rights to resolve a thread and to move it.
func checkThreadChange(r *core.Request, old, t ahp.Annotation) string {
	if old.Resolved != t.Resolved {
		if reason := mayResolve(r, old); reason != "" {
			return reason
		}
	}
	moved := old.Resource != t.Resource || !reflect.DeepEqual(old.Range, t.Range) || old.Origin != t.Origin
	if !moved {
		return ""
	}
	if t.Origin.Session != r.Info.Session {
		return "an annotation stays with its session"
	}
	return mayEdit(r, old.Entries[0])
}

func checkThreadUpdated(r *core.Request, s *ahp.AnnotationsState, a *ahp.AnnotationsUpdatedAction) string {
	i := FindThread(s, a.AnnotationID)
	if i < 0 {
		return ""
	}
	t := s.Annotations[i]
	if a.Resolved != nil {
		t.Resolved = *a.Resolved
	}
	if a.Resource != "" {
		t.Resource = a.Resource
	}
	if a.Range != nil {
		t.Range = a.Range
	}
	if a.Origin != nil {
		t.Origin = *a.Origin
	}
	return checkThreadChange(r, s.Annotations[i], t)
}

func (p *Part) checkThreadRemoved(r *core.Request, s *ahp.AnnotationsState, a *ahp.AnnotationsRemovedAction) string {
	i := FindThread(s, a.AnnotationID)
	if i < 0 {
		return ""
	}
	for _, e := range s.Annotations[i].Entries {
		if reason := mayEdit(r, e); reason != "" {
			return reason
		}
	}
	p.dropMentions(r, a.AnnotationID)
	return ""
}

func (p *Part) checkEntrySet(r *core.Request, s *ahp.AnnotationsState, a *ahp.AnnotationsEntrySetAction) string {
	i := FindThread(s, a.AnnotationID)
	if i < 0 {
		return ""
	}
	entries := s.Annotations[i].Entries
	if j := FindEntry(entries, a.Entry.ID); j >= 0 {
		return checkEntryEdit(r, entries[j], &a.Entry)
	}
	if len(entries) >= mostEntries {
		return fmt.Sprintf("a thread takes at most %d comments: start another one", mostEntries)
	}
	reason := checkNewEntry(r, entries, &a.Entry)
	if reason == "" {
		p.recordMentions(r, a.AnnotationID, a.Entry)
	}
	return reason
}

func checkEntryRemoved(r *core.Request, s *ahp.AnnotationsState, a *ahp.AnnotationsEntryRemovedAction) string {
	i := FindThread(s, a.AnnotationID)
	if i < 0 {
		return ""
	}
	entries := s.Annotations[i].Entries
	j := FindEntry(entries, a.EntryID)
	switch {
	case j < 0:
		return ""
	case len(entries) == 1:
		return lastEntry
	}
	return mayEdit(r, entries[j])
}

// checkNewEntry stamps a comment with its author, time and quote.
func checkNewEntry(r *core.Request, others []ahp.AnnotationEntry, e *ahp.AnnotationEntry) string {
	switch {
	case e.ID == "":
		return "a comment needs an id. Choose a new one, like a UUID"
	case FindEntry(others, e.ID) >= 0:
		return "two comments have the id " + e.ID
	}
	st := r.Stamp()
	st.Side, st.Hunk, st.Version = hunkOf(e.Meta)
	e.Meta = st.Write(e.Meta)
	return checkEntryText(e)
}

// checkEntryEdit keeps the original stamp on edits.
func checkEntryEdit(r *core.Request, old ahp.AnnotationEntry, e *ahp.AnnotationEntry) string {
	e.Meta = core.KeepStamp(old.Meta, e.Meta)
	if reflect.DeepEqual(old, *e) {
		return ""
	}
	if reason := mayEdit(r, old); reason != "" {
		return reason
	}
	return checkEntryText(e)
}

func checkEntryText(e *ahp.AnnotationEntry) string {
	switch {
	case e.Text.Text == "":
		return "this comment is empty. Write something"
	case len(e.Text.Text) > mostEntryText:
		return fmt.Sprintf("this comment is too long: at most %d bytes", mostEntryText)
	}
	return ""
}

// hunkOf returns a client's quote. It ignores all other values under the host's key.
func hunkOf(m ahp.Meta) (side, hunk string, kept ahp.URI) {
	var s struct {
		Side, Hunk string
		Version    ahp.URI
	}
	if json.Unmarshal(m[core.MetaKey], &s) != nil {
		return "", "", ""
	}
	if !strings.HasPrefix(s.Version, version.Scheme) || len(s.Version) > maxVersion {
		s.Version = ""
	}
	if s.Side != "before" && s.Side != "after" {
		s.Side = ""
	}
	return s.Side, texts.CutBytes(s.Hunk, maxHunk), s.Version
}
