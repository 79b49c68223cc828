package oracle

import "maps"

// Mirrored returns a state without the properties that no action changes, which clients only get by
// snapshots: a session's activity, thread counts and project, and a chat's changed files. Compare a
// mirror with a fresh snapshot in this form.
func Mirrored(channel string, state map[string]any) map[string]any {
	s := maps.Clone(state)
	switch channel {
	case "session":
		withoutGathered(s)
		if summary, ok := s["summary"].(object); ok { // up to 0.4
			s["summary"] = Mirrored(channel, summary)
		}
	case "chat":
		delete(s, "changes")
	}
	return s
}

func withoutGathered(s object) {
	delete(s, "annotations")
	delete(s, "project")
	if s["status"] != nil {
		setBit(s, statusActivity, false)
	}
}
