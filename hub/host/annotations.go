package host

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Rules of annotations: what somebody wrote is theirs. Only its author or the owner edits
// or deletes an entry; who wrote it and when comes from the host. Actions for ids that are
// not there change nothing and are let through (AHP requirement 161).

const (
	mostEntries   = 500
	mostEntryText = 64 << 10
	lastEntry     = "this is the only comment of its thread: delete the thread instead" // AHP requirement 160
)

func threadAt(s *ahp.AnnotationsState, id string) int {
	return slices.IndexFunc(s.Annotations, func(a ahp.Annotation) bool { return a.ID == id })
}

func entryAt(entries []ahp.AnnotationEntry, id string) int {
	return slices.IndexFunc(entries, func(e ahp.AnnotationEntry) bool { return e.ID == id })
}

func author(e ahp.AnnotationEntry) string {
	s, _ := ReadStamp(e.Meta)
	return s.By.ID
}

func authors(a ahp.Annotation) []string {
	ids := make([]string, len(a.Entries))
	for i, e := range a.Entries {
		ids[i] = author(e)
	}
	return ids
}

func (r *request) mayEdit(e ahp.AnnotationEntry) string {
	return reasonOf(access.MayEdit(r.caller.Principal, author(e)))
}

func (r *request) mayResolve(a ahp.Annotation) string {
	return reasonOf(access.MayResolve(r.caller.Principal, authors(a)...))
}

func reasonOf(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func checkThreadSet(r *request, s *ahp.AnnotationsState, a *ahp.AnnotationsSetAction) string {
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
	if i := threadAt(s, t.ID); i >= 0 {
		old := s.Annotations[i]
		reason := r.resetThread(old, t)
		if reason == "" {
			r.call(t.ID, slices.DeleteFunc(slices.Clone(t.Entries), func(e ahp.AnnotationEntry) bool { return entryAt(old.Entries, e.ID) >= 0 })...)
		}
		return reason
	}
	if len(s.Annotations) >= r.h.cfg.Limits.Threads {
		return fmt.Sprintf("this session has %d threads already: delete some first", len(s.Annotations))
	}
	return r.newThread(t)
}

func (r *request) newThread(t *ahp.Annotation) string {
	t.Resolved = false // AHP requirement 161
	if t.Origin.Session != r.info.Session {
		t.Origin = ahp.AnnotationOrigin{Session: r.info.Session}
	}
	st := r.stamp()
	st.Range = t.Range
	t.Meta = st.write(t.Meta)
	for i := range t.Entries {
		if reason := r.newEntry(t.Entries[:i], &t.Entries[i]); reason != "" {
			return reason
		}
	}
	r.call(t.ID, t.Entries...)
	return ""
}

// resetThread compares with what stands there, so that nobody's comment changes or
// vanishes but by its author or the owner.
func (r *request) resetThread(old ahp.Annotation, t *ahp.Annotation) string {
	for _, had := range old.Entries {
		if entryAt(t.Entries, had.ID) < 0 {
			if reason := r.mayEdit(had); reason != "" {
				return reason
			}
		}
	}
	for i := range t.Entries {
		if reason := r.resetEntry(old.Entries, t.Entries[:i], &t.Entries[i]); reason != "" {
			return reason
		}
	}
	t.Meta = keepStamp(old.Meta, t.Meta)
	reason := r.changeThread(old, *t)
	if reason == "" && !reflect.DeepEqual(old.Range, t.Range) {
		*t = placed(*t)
	}
	return reason
}

func (r *request) resetEntry(old, before []ahp.AnnotationEntry, e *ahp.AnnotationEntry) string {
	i := entryAt(old, e.ID)
	if i < 0 {
		return r.newEntry(before, e)
	}
	if entryAt(before, e.ID) >= 0 {
		return "two comments have the id " + e.ID
	}
	return r.editEntry(old[i], e)
}

// changeThread asks who may resolve a thread, and who may move it elsewhere.
func (r *request) changeThread(old, t ahp.Annotation) string {
	if old.Resolved != t.Resolved {
		if reason := r.mayResolve(old); reason != "" {
			return reason
		}
	}
	moved := old.Resource != t.Resource || !reflect.DeepEqual(old.Range, t.Range) || old.Origin != t.Origin
	if !moved {
		return ""
	}
	if t.Origin.Session != r.info.Session {
		return "an annotation stays with its session"
	}
	return r.mayEdit(old.Entries[0])
}

func checkThreadUpdated(r *request, s *ahp.AnnotationsState, a *ahp.AnnotationsUpdatedAction) string {
	i := threadAt(s, a.AnnotationID)
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
	return r.changeThread(s.Annotations[i], t)
}

func checkThreadRemoved(r *request, s *ahp.AnnotationsState, a *ahp.AnnotationsRemovedAction) string {
	i := threadAt(s, a.AnnotationID)
	if i < 0 {
		return ""
	}
	for _, e := range s.Annotations[i].Entries {
		if reason := r.mayEdit(e); reason != "" {
			return reason
		}
	}
	r.uncall(a.AnnotationID)
	return ""
}

func checkEntrySet(r *request, s *ahp.AnnotationsState, a *ahp.AnnotationsEntrySetAction) string {
	i := threadAt(s, a.AnnotationID)
	if i < 0 {
		return ""
	}
	entries := s.Annotations[i].Entries
	if j := entryAt(entries, a.Entry.ID); j >= 0 {
		return r.editEntry(entries[j], &a.Entry)
	}
	if len(entries) >= mostEntries {
		return fmt.Sprintf("a thread takes at most %d comments: start another one", mostEntries)
	}
	reason := r.newEntry(entries, &a.Entry)
	if reason == "" {
		r.call(a.AnnotationID, a.Entry)
	}
	return reason
}

func checkEntryRemoved(r *request, s *ahp.AnnotationsState, a *ahp.AnnotationsEntryRemovedAction) string {
	i := threadAt(s, a.AnnotationID)
	if i < 0 {
		return ""
	}
	entries := s.Annotations[i].Entries
	j := entryAt(entries, a.EntryID)
	switch {
	case j < 0:
		return ""
	case len(entries) == 1:
		return lastEntry
	}
	return r.mayEdit(entries[j])
}

// newEntry stamps a comment: who, when, and what was quoted.
func (r *request) newEntry(others []ahp.AnnotationEntry, e *ahp.AnnotationEntry) string {
	switch {
	case e.ID == "":
		return "a comment needs an id: choose a new one, like a UUID"
	case entryAt(others, e.ID) >= 0:
		return "two comments have the id " + e.ID
	}
	st := r.stamp()
	st.Side, st.Hunk, st.Version = hunkOf(e.Meta)
	e.Meta = st.write(e.Meta)
	return checkEntryText(e)
}

// editEntry lets the stamp of the first writing stand, whoever edits.
func (r *request) editEntry(old ahp.AnnotationEntry, e *ahp.AnnotationEntry) string {
	e.Meta = keepStamp(old.Meta, e.Meta)
	if reflect.DeepEqual(old, *e) {
		return ""
	}
	if reason := r.mayEdit(old); reason != "" {
		return reason
	}
	return checkEntryText(e)
}

func checkEntryText(e *ahp.AnnotationEntry) string {
	switch {
	case e.Text.Text == "":
		return "this comment is empty: write something"
	case len(e.Text.Text) > mostEntryText:
		return fmt.Sprintf("this comment is too long: at most %d bytes", mostEntryText)
	}
	return ""
}

// keepStamp puts the host's own key as it was into what a client sends.
func keepStamp(old, sent ahp.Meta) ahp.Meta {
	had, stamped := old[metaKey]
	if _, forged := sent[metaKey]; !stamped && !forged {
		return sent
	}
	m := cloneMeta(sent)
	delete(m, metaKey)
	if stamped {
		m[metaKey] = had
	}
	return m
}

// checkFilesReviewed lets every reviewer mark. The action has no room for who did: that is recorded in the same step.
func checkFilesReviewed(r *request, s *ahp.ChangesetState, a *ahp.ChangesetFilesReviewChangedAction) string {
	for _, id := range a.Files {
		if !slices.ContainsFunc(s.Files, func(f ahp.ChangesetFile) bool { return f.ID == id }) {
			return "there is no file " + id + " in this changeset: it may have changed meanwhile"
		}
	}
	if len(a.Files) == 0 {
		return "name at least one file"
	}
	l := r.h.ledger(r.info.Session)
	if !l.isLoaded() {
		return "this changeset was closed meanwhile: open it again"
	}
	uri, files, m := r.info.URI, a.Files, mark{By: r.caller.Who(), At: r.now.UTC()}
	l.changeIn(r.tx, func(rec *ledgerRecord) { rec.markFiles(uri, s, files, a.Reviewed, m) })
	r.tx.Effect(uri, func(ctx context.Context) { r.h.showReviewed(ctx, l, uri, files) })
	return ""
}
