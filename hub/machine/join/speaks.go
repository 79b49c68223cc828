package join

import (
	"cmp"
	"fmt"
)

// Range are the versions that a release understands of what is said over a connection. A change that the release before
// would misread raises Newest; Oldest follows once that release is forgotten. New calls and fields need no new version:
// a call that is not known fails alone, and a field that is not known is passed over.
type Range struct {
	Oldest int `json:"oldest"`
	Newest int `json:"newest"`
}

// Speaks is what this release understands.
var Speaks = Range{1, 1}

// orFirst returns the range of a release that says none, which is the first.
func (r Range) orFirst() Range { return cmp.Or(r, Range{1, 1}) }

// side is one end of a connection.
type side struct {
	name    string // "this machine" or "the hub"
	version string // of ahphub
	speaks  Range
}

// SkewError says that a machine and its hub do not understand each other, and which is to be updated.
type SkewError struct{ text string }

// Error returns the text.
func (e *SkewError) Error() string { return e.text }

// checkSkew refuses two sides without a version that both understand.
func checkSkew(machine, hub side) error {
	m, h := machine.speaks.orFirst(), hub.speaks.orFirst()
	old, new := machine, hub
	switch {
	case m.Newest < h.Oldest:
	case h.Newest < m.Oldest:
		old, new = hub, machine
	default:
		return nil
	}
	return &SkewError{fmt.Sprintf("%s runs ahphub %.60s, which is too old for %s with ahphub %.60s. Update ahphub on %s",
		old.name, cmp.Or(old.version, "of an unknown version"), new.name, cmp.Or(new.version, "of an unknown version"), old.name)}
}
