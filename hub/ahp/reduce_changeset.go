package ahp

import "reflect"

func changesetStatusChanged(s *ChangesetState, a *ChangesetStatusChangedAction) *ChangesetState {
	var failure *ErrorInfo
	if a.Status == ChangesetStatusError {
		failure = a.Error
	}
	next := set(s, func(s *ChangesetState) *ChangesetStatus { return &s.Status }, a.Status)
	return setDeep(next, func(s *ChangesetState) **ErrorInfo { return &s.Error }, failure)
}

func changesetFileSet(s *ChangesetState, a *ChangesetFileSetAction) *ChangesetState {
	files, changed := upserted(s.Files, func(f *ChangesetFile) bool { return f.ID == a.File.ID }, a.File)
	if !changed {
		return s
	}
	return edit(s, func(s *ChangesetState) { s.Files = files })
}

func changesetFileRemoved(s *ChangesetState, a *ChangesetFileRemovedAction) *ChangesetState {
	i := indexOf(s.Files, func(f *ChangesetFile) bool { return f.ID == a.FileID })
	if i < 0 {
		return s
	}
	return edit(s, func(s *ChangesetState) { s.Files = without(s.Files, i) })
}

// changesetFilesReviewChanged ignores unknown files.
func changesetFilesReviewChanged(s *ChangesetState, a *ChangesetFilesReviewChangedAction) *ChangesetState {
	named := make(map[string]bool, len(a.Files))
	for _, id := range a.Files {
		named[id] = true
	}
	files := make([]ChangesetFile, len(s.Files))
	changed := false
	for i, f := range s.Files {
		if named[f.ID] && (f.Reviewed == nil || *f.Reviewed != a.Reviewed) {
			f.Reviewed = &a.Reviewed
			changed = true
		}
		files[i] = f
	}
	if !changed {
		return s
	}
	return edit(s, func(s *ChangesetState) { s.Files = files })
}

// changesetContentChanged replaces the files, and the operations unless nil;
// changeset/statusChanged has the errors.
func changesetContentChanged(s *ChangesetState, a *ChangesetContentChangedAction) *ChangesetState {
	operations := s.Operations
	if a.Operations != nil {
		operations = a.Operations
	}
	if reflect.DeepEqual(s.Files, a.Files) && reflect.DeepEqual(s.Operations, operations) {
		return s
	}
	return edit(s, func(s *ChangesetState) { s.Files, s.Operations = a.Files, operations })
}

func changesetOperationsChanged(s *ChangesetState, a *ChangesetOperationsChangedAction) *ChangesetState {
	return setDeep(s, func(s *ChangesetState) *[]ChangesetOperation { return &s.Operations }, a.Operations)
}

func changesetOperationStatusChanged(s *ChangesetState, a *ChangesetOperationStatusChangedAction) *ChangesetState {
	i := indexOf(s.Operations, func(o *ChangesetOperation) bool { return o.ID == a.OperationID })
	if i < 0 {
		return s
	}
	operation := s.Operations[i]
	operation.Status, operation.Error = a.Status, nil
	if a.Status == ChangesetOperationStatusError {
		operation.Error = a.Error
	}
	return setDeep(s, func(s *ChangesetState) *[]ChangesetOperation { return &s.Operations },
		replaced(s.Operations, i, operation))
}

func changesetCleared(s *ChangesetState, _ *ChangesetClearedAction) *ChangesetState {
	if len(s.Files) == 0 {
		return s
	}
	return edit(s, func(s *ChangesetState) { s.Files = []ChangesetFile{} })
}
