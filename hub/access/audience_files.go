package access

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Hiding says which guests a changed file is kept from. The host writes it into the note of the file, in its own key of
// `_meta`.
type Hiding string

// The kinds of hiding.
const (
	HideNone     Hiding = ""
	HideUnlisted Hiding = "unlisted" // git does not track it and the session did not change it: links with all files show it
	HidePrivate  Hiding = "private"  // keys, environments and the like: no link shows it
)

// hiddenKey is how a note with a Hiding begins, so that others need not be read.
var hiddenKey = []byte(`"guests":`)

// HidingOf reads whether a changed file is kept from guests.
func HidingOf(f *ahp.ChangesetFile) Hiding {
	raw := f.Meta["ahphub"]
	if !bytes.Contains(raw, hiddenKey) {
		return HideNone
	}
	var note struct {
		Guests Hiding `json:"guests"`
	}
	if json.Unmarshal(raw, &note) != nil {
		return HidePrivate
	}
	return note.Guests
}

// Guest reports whether the principal came by a link, with an account or without one.
func (p Principal) Guest() bool {
	return !p.Host && (p.Role == RoleViewer || p.Role == RoleCommenter || p.Role == RoleDriver)
}

// Hides reports whether the principal is not shown what is hidden so. People with an account and agents see everything.
func (p Principal) Hides(h Hiding) bool { return p.shownFiles().hide(h) }

// shownFiles is what a guest sees of the files of a changeset.
type shownFiles struct{ guest, all bool }

func (p Principal) shownFiles() shownFiles { return shownFiles{guest: p.Guest(), all: p.AllFiles} }

// key tells the audiences of guests apart by the files they see.
func (v shownFiles) key() string {
	switch {
	case !v.guest:
		return " every file"
	case v.all:
		return " all files"
	}
	return ""
}

func (v shownFiles) hide(h Hiding) bool {
	return v.guest && h != HideNone && (!v.all || h != HideUnlisted)
}

func (v shownFiles) hides(f *ahp.ChangesetFile) bool { return v.hide(HidingOf(f)) }

func (v shownFiles) files(all []ahp.ChangesetFile) []ahp.ChangesetFile {
	if !slices.ContainsFunc(all, func(f ahp.ChangesetFile) bool { return v.hides(&f) }) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(f ahp.ChangesetFile) bool { return v.hides(&f) })
}

func (v shownFiles) state(s ahp.State) ahp.State {
	cs, ok := s.(*ahp.ChangesetState)
	if !ok || !v.guest {
		return s
	}
	cut := *cs
	cut.Files = v.files(cs.Files)
	return &cut
}

// action leaves hidden files out. One that was seen before goes.
func (v shownFiles) action(a ahp.Action) ahp.Action {
	if !v.guest {
		return a
	}
	switch a := a.(type) {
	case *ahp.ChangesetContentChangedAction:
		cut := *a
		cut.Files = v.files(a.Files)
		return &cut
	case *ahp.ChangesetFileSetAction:
		if v.hides(&a.File) {
			return &ahp.ChangesetFileRemovedAction{FileID: a.File.ID}
		}
	}
	return a
}
