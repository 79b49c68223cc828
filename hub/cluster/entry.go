package cluster

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Hash is the SHA-256 of an entry, which includes the hash of the previous entry.
type Hash [sha256.Size]byte

// Place identifies an entry by position and hash.
type Place struct {
	Position uint64 // the first entry has 1
	Hash     Hash
}

// Entry is a batch in the log.
type Entry struct {
	Place
	Term    uint64
	Version uint16 // of the batch
	Batch   []byte
}

// headBytes is the size of the header: format, version, term, position and the previous entry's
// hash.
const (
	format    = 1
	headBytes = 1 + 2 + 8 + 8 + sha256.Size
)

// encode returns the encoded entry that follows after, and its place.
func encode(after Place, term uint64, version uint16, batch []byte) ([]byte, Place) {
	b := make([]byte, 0, headBytes+len(batch))
	b = append(b, format)
	b = binary.BigEndian.AppendUint16(b, version)
	b = binary.BigEndian.AppendUint64(b, term)
	b = binary.BigEndian.AppendUint64(b, after.Position+1)
	b = append(b, after.Hash[:]...)
	b = append(b, batch...)
	return b, Place{Position: after.Position + 1, Hash: sha256.Sum256(b)}
}

var errEntry = errors.New("not an entry of a cluster's log")

// decode decodes an entry and the hash of the previous entry that it contains.
func decode(b []byte) (e Entry, before Hash, err error) {
	if len(b) < headBytes || len(b) > headBytes+MostBatch {
		return e, before, errEntry
	}
	if b[0] != format {
		return e, before, fmt.Errorf("%w: its format is %d, but this program reads format %d", errEntry, b[0], format)
	}
	e.Version = binary.BigEndian.Uint16(b[1:])
	e.Term = binary.BigEndian.Uint64(b[3:])
	e.Position = binary.BigEndian.Uint64(b[11:])
	copy(before[:], b[19:])
	e.Batch, e.Hash = b[headBytes:], sha256.Sum256(b)
	return e, before, nil
}
