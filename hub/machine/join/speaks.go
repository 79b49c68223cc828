package join

import (
	"cmp"
	"fmt"
)

// Range is the protocol versions that a release understands on a connection. A change that the previous release would
// misread raises Newest; Oldest follows once that release is no longer supported. New calls and fields need no new
// version: only an unknown call fails, and an unknown field is ignored.
type Range struct {
	Oldest int `json:"oldest"`
	Newest int `json:"newest"`
}

// Speaks is the range that this release understands.
var Speaks = Range{1, 1}

// orFirst returns the range of a release; one that sends none understands the first version.
func (r Range) orFirst() Range { return cmp.Or(r, Range{1, 1}) }

// side is one end of a connection.
type side struct {
	name    string // "this machine" or "the hub"
	version string // of ahphub
	speaks  Range
}

// SkewError reports that a machine and its hub have no common version, and which one needs an update.
type SkewError struct{ text string }

// Error returns the text.
func (e *SkewError) Error() string { return e.text }

// checkSkew refuses two sides without a common version.
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
