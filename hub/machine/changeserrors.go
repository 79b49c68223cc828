package machine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

var (
	// ErrNoContent reports that no checkpoint of the session has the object.
	ErrNoContent = errors.New("this version is no longer stored")
	// ErrTooLarge reports that the content exceeds the limit of a read.
	ErrTooLarge = errors.New("too large")
	// ErrConflict reports that something changed in between or is in the way, so nothing was done.
	ErrConflict = errors.New("it can't be applied")
	// ErrStale is an ErrConflict: a file was written between reading and editing its text. Read it again.
	ErrStale = fmt.Errorf("%w: a file was changed just now", ErrConflict)
)

// SpecialFileError reports a file that git would read and then wait for forever.
type SpecialFileError struct {
	Path string // absolute
	Kind string // as in "a named pipe"
}

func (e *SpecialFileError) Error() string {
	return fmt.Sprintf("%s is %s, on which git would wait without end: remove it or put a regular file in its place",
		e.Path, e.Kind)
}

// SlowError reports that git did not answer in time and was stopped.
type SlowError struct {
	Dir   string // "" when unknown
	Limit time.Duration
}

func (e *SlowError) Error() string {
	where := ""
	if e.Dir != "" {
		where = " in " + e.Dir
	}
	return fmt.Sprintf("git did not answer within %s%s and was stopped: try again, "+
		"and look for a slow disk or a file that it waits for", e.Limit, where)
}

// Refusal returns the text of an error that the caller's files or repository cause, not the host.
func Refusal(err error) (message string, ok bool) {
	if errors.Is(err, ErrConflict) {
		return strings.ReplaceAll(err.Error(), ErrConflict.Error()+": ", ""), true
	}
	if special, ok := errors.AsType[*SpecialFileError](err); ok {
		return special.Error(), true
	}
	if outside, ok := errors.AsType[*OutsideError](err); ok {
		return outside.Error(), true
	}
	if slow, ok := errors.AsType[*SlowError](err); ok {
		return slow.Error(), true
	}
	return "", false
}

// ProtocolError converts a Refusal into the protocol's error -32011, and returns other errors unchanged.
func ProtocolError(err error) error {
	if message, refused := Refusal(err); refused {
		return ahp.Errorf(ahp.CodeConflict, "%s", message)
	}
	return err
}

// OutsideError reports that a repository leads out of its session's directories, which the owner has not allowed.
type OutsideError struct{ Outside }

func (e *OutsideError) Error() string {
	return e.By + " leads to a place outside of this session's directories, so git is not asked: " +
		"the owner can allow it in the inbox"
}
