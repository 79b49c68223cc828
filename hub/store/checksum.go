package store

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// A checksum is kept with each journal row and snapshot: SQLite's own check finds broken pages, and
// passes over a bit that flipped inside of a value. Rows written before there were any have none,
// and are not checked until they are rewritten.

var crcTable = crc32.MakeTable(crc32.Castagnoli) // computed by the processor

// summer computes checksums; it keeps a buffer and has one caller.
type summer struct{ buf []byte }

// envelope returns the checksum of a journal row. clientSeq counts only with a client.
func (s *summer) envelope(seq, channel, at int64, principal, client string, clientSeq int64, action []byte) int64 {
	b := binary.LittleEndian.AppendUint64(s.buf[:0], uint64(seq))
	b = binary.LittleEndian.AppendUint64(b, uint64(channel))
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	b = binary.LittleEndian.AppendUint64(b, uint64(clientSeq))
	b = append(append(append(b, principal...), 0), client...)
	s.buf = append(b, 0)
	return int64(crc32.Update(crc32.Checksum(s.buf, crcTable), crcTable, action))
}

// snapshot returns the checksum of a snapshot.
func (s *summer) snapshot(channel, seq int64, state []byte) int64 {
	b := binary.LittleEndian.AppendUint64(s.buf[:0], uint64(channel))
	s.buf = binary.LittleEndian.AppendUint64(b, uint64(seq))
	return int64(crc32.Update(crc32.Checksum(s.buf, crcTable), crcTable, state))
}

// differs reports whether a stored checksum is there and another one.
func differs(stored sql.NullInt64, sum int64) bool { return stored.Valid && stored.Int64 != sum }

// DamageError names what of a database is damaged.
type DamageError struct {
	What  string    // as "journal row 17"
	URI   ahp.URI   // of its channel
	At    time.Time // when a journal row was written; zero for others
	Cause error     // nil: its checksum differs
}

func (e *DamageError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %v", e.Reason(), e.Cause)
	}
	return e.Reason()
}

// Is makes it one of ErrDamaged.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }
func (e *DamageError) Unwrap() error        { return e.Cause }

// Reason says what is damaged and what to do, for people.
func (e *DamageError) Reason() string {
	return e.Name() + " is damaged on the disk: restore a backup; ahphub doctor --deep lists all damage"
}

// Name says what is damaged.
func (e *DamageError) Name() string {
	if e.At.IsZero() {
		return fmt.Sprintf("%s of %s", e.What, e.URI)
	}
	return fmt.Sprintf("%s of %s, written %s,", e.What, e.URI, e.At.UTC().Format("2006-01-02 15:04:05"))
}
