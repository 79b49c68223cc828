package access

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Hiding names which guests a changed file is hidden from. The host writes it into the file's
// `_meta`, under its own key.
type Hiding string

// The kinds of hiding.
const (
	HideNone Hiding = ""
	// untracked by git and not changed by the session: only links with all files show it
	HideUnlisted Hiding = "unlisted"
	HidePrivate  Hiding = "private" // secrets, environment files and the like: no link shows it
)

// hiddenKey occurs in every note with a Hiding; other notes need not be decoded.
var hiddenKey = []byte(`"guests":`)

// HidingOf returns which guests a changed file is hidden from.
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

// IsGuest reports whether the principal came by a link, with or without an account.
func (p Principal) IsGuest() bool {
	return !p.Host && (p.Role == RoleViewer || p.Role == RoleCommenter || p.Role == RoleDriver)
}

// Hides reports whether files with this Hiding are hidden from the principal. Accounts and agents
// see everything.
func (p Principal) Hides(h Hiding) bool { return p.shownFiles().hide(h) }

// shownFiles describes which files of a changeset a principal sees.
type shownFiles struct{ guest, all bool }

func (p Principal) shownFiles() shownFiles { return shownFiles{guest: p.IsGuest(), all: p.AllFiles} }

// key distinguishes the audiences of guests by the files they see.
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

// action removes hidden files. A file that was visible before and is hidden now is removed.
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
