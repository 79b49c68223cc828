package oracle

import "maps"

// Mirrored returns a state without what no action of the protocol changes, so that a client learns of it by a snapshot
// alone: of a session the activity, the counts of its threads and its project, of a chat what it changed in files. A
// mirror is compared with a fresh snapshot in this form.
func Mirrored(channel string, state map[string]any) map[string]any {
	s := maps.Clone(state)
	switch channel {
	case "session":
		withoutGathered(s)
		if summary, ok := s["summary"].(object); ok { // to 0.4
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
