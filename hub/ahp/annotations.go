package ahp

// AnnotationsSummary counts the annotations of a session.
type AnnotationsSummary struct {
	Resource        URI   `json:"resource"`
	AnnotationCount int64 `json:"annotationCount"`
	EntryCount      int64 `json:"entryCount"`
}

// AnnotationsState holds the threads of a session.
type AnnotationsState struct {
	Annotations []Annotation `json:"annotations"`
}

// Summary counts the threads and their comments; resource is the URI of their channel.
func (s *AnnotationsState) Summary(resource URI) *AnnotationsSummary {
	sum := &AnnotationsSummary{Resource: resource, AnnotationCount: int64(len(s.Annotations))}
	for _, a := range s.Annotations {
		sum.EntryCount += int64(len(a.Entries))
	}
	return sum
}

// Annotation is a thread about a file or a part of it. It has at least one entry (AHP requirement 160).
type Annotation struct {
	ID       string            `json:"id"`
	Origin   AnnotationOrigin  `json:"origin"`
	Resource URI               `json:"resource"`
	Range    *TextRange        `json:"range,omitempty"` // nil for the whole file
	Resolved bool              `json:"resolved"`
	Entries  []AnnotationEntry `json:"entries"`
	Meta     Meta              `json:"_meta,omitzero"`
}

// AnnotationOrigin names the session, chat and turn that a thread is about.
type AnnotationOrigin struct {
	Session URI    `json:"session"`
	Chat    URI    `json:"chat,omitempty"`
	TurnID  string `json:"turnId,omitempty"`
}

// AnnotationEntry is one comment of a thread.
type AnnotationEntry struct {
	ID   string           `json:"id"`
	Text StringOrMarkdown `json:"text"`
	Meta Meta             `json:"_meta,omitzero"`
}

// AnnotationsSetAction is annotations/set, which adds a thread or replaces it by id.
type AnnotationsSetAction struct {
	Annotation Annotation `json:"annotation"`
}

// ActionType returns "annotations/set".
func (*AnnotationsSetAction) ActionType() string { return "annotations/set" }

// AnnotationsUpdatedAction is annotations/updated: the changed fields of a thread, without its
// comments.
type AnnotationsUpdatedAction struct {
	AnnotationID string            `json:"annotationId"`
	Origin       *AnnotationOrigin `json:"origin,omitempty"`
	Resource     URI               `json:"resource,omitempty"`
	Range        *TextRange        `json:"range,omitempty"`
	Resolved     *bool             `json:"resolved,omitempty"`
}

// ActionType returns "annotations/updated".
func (*AnnotationsUpdatedAction) ActionType() string { return "annotations/updated" }

// AnnotationsRemovedAction is annotations/removed.
type AnnotationsRemovedAction struct {
	AnnotationID string `json:"annotationId"`
}

// ActionType returns "annotations/removed".
func (*AnnotationsRemovedAction) ActionType() string { return "annotations/removed" }

// AnnotationsEntrySetAction is annotations/entrySet, which adds a comment or replaces it by id.
type AnnotationsEntrySetAction struct {
	AnnotationID string          `json:"annotationId"`
	Entry        AnnotationEntry `json:"entry"`
}

// ActionType returns "annotations/entrySet".
func (*AnnotationsEntrySetAction) ActionType() string { return "annotations/entrySet" }

// AnnotationsEntryRemovedAction is annotations/entryRemoved.
type AnnotationsEntryRemovedAction struct {
	AnnotationID string `json:"annotationId"`
	EntryID      string `json:"entryId"`
}

// ActionType returns "annotations/entryRemoved".
func (*AnnotationsEntryRemovedAction) ActionType() string { return "annotations/entryRemoved" }
