package ahp

import "reflect"

func annotationsSet(s *AnnotationsState, a *AnnotationsSetAction) *AnnotationsState {
	same := func(n *Annotation) bool { return n.ID == a.Annotation.ID }
	list, changed := upserted(s.Annotations, same, a.Annotation)
	if !changed {
		return s
	}
	return edit(s, func(s *AnnotationsState) { s.Annotations = list })
}

func annotationsRemoved(s *AnnotationsState, a *AnnotationsRemovedAction) *AnnotationsState {
	i := indexOf(s.Annotations, func(n *Annotation) bool { return n.ID == a.AnnotationID })
	if i < 0 {
		return s
	}
	return edit(s, func(s *AnnotationsState) { s.Annotations = without(s.Annotations, i) })
}

// editAnnotation changes the annotation with the id; f works on a copy.
func editAnnotation(s *AnnotationsState, id string, f func(*Annotation)) *AnnotationsState {
	i := indexOf(s.Annotations, func(n *Annotation) bool { return n.ID == id })
	if i < 0 {
		return s
	}
	next := edit(&s.Annotations[i], f)
	if reflect.DeepEqual(s.Annotations[i], *next) {
		return s
	}
	return edit(s, func(s *AnnotationsState) { s.Annotations = replaced(s.Annotations, i, *next) })
}

// annotationsUpdated writes the fields that are present; the origin is replaced as a whole.
func annotationsUpdated(s *AnnotationsState, a *AnnotationsUpdatedAction) *AnnotationsState {
	return editAnnotation(s, a.AnnotationID, func(n *Annotation) {
		assign(&n.Origin, a.Origin)
		assign(&n.Resolved, a.Resolved)
		if a.Resource != "" {
			n.Resource = a.Resource
		}
		if a.Range != nil {
			n.Range = a.Range
		}
	})
}

func annotationsEntrySet(s *AnnotationsState, a *AnnotationsEntrySetAction) *AnnotationsState {
	return editAnnotation(s, a.AnnotationID, func(n *Annotation) {
		n.Entries, _ = upserted(n.Entries, func(e *AnnotationEntry) bool { return e.ID == a.Entry.ID }, a.Entry)
	})
}

func annotationsEntryRemoved(s *AnnotationsState, a *AnnotationsEntryRemovedAction) *AnnotationsState {
	return editAnnotation(s, a.AnnotationID, func(n *Annotation) {
		if i := indexOf(n.Entries, func(e *AnnotationEntry) bool { return e.ID == a.EntryID }); i >= 0 {
			n.Entries = without(n.Entries, i)
		}
	})
}
