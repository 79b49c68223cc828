// Package ids creates identifiers. They are unique but not secret: tokens and cookies come from
// crypto/rand, in hub/access and hub/people.
package ids

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/google/uuid"
)

// New returns the id of a new session, turn, message, tool call or record: a UUID of version 7, so
// that ids sort by creation time.
func New() string { return uuid.Must(uuid.NewV7()).String() }

// NewShort returns the id under which an error or a request is logged: 12 hexadecimal digits, short enough to read to
// an operator.
func NewShort() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
