package store

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Each row has a checksum: SQLite's own check finds broken pages, but misses a flipped bit inside a
// value. Checksums of journal rows and snapshots are verified on every read, others by a deep
// check. Rows written by releases without checksums have none, and are not verified until they are
// rewritten.

var crcTable = crc32.MakeTable(crc32.Castagnoli) // supported in hardware

// checksummer computes checksums. It reuses a buffer and must not be used concurrently.
type checksummer struct{ buf []byte }

// envelope returns the checksum of a journal row. clientSeq matters only with a client.
func (s *checksummer) envelope(seq, channel, at int64, principal, client string, clientSeq int64, action []byte) int64 {
	b := binary.LittleEndian.AppendUint64(s.buf[:0], uint64(seq))
	b = binary.LittleEndian.AppendUint64(b, uint64(channel))
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	b = binary.LittleEndian.AppendUint64(b, uint64(clientSeq))
	b = append(append(append(b, principal...), 0), client...)
	s.buf = append(b, 0)
	return int64(crc32.Update(crc32.Checksum(s.buf, crcTable), crcTable, action))
}

// snapshot returns the checksum of a snapshot.
func (s *checksummer) snapshot(channel, seq int64, state []byte) int64 {
	b := binary.LittleEndian.AppendUint64(s.buf[:0], uint64(channel))
	s.buf = binary.LittleEndian.AppendUint64(b, uint64(seq))
	return int64(crc32.Update(crc32.Checksum(s.buf, crcTable), crcTable, state))
}

// channel returns the checksum of a channel's row. Values that change with each batch are added,
// each with its own weight.
func (s *checksummer) channel(r *channelRow) int64 {
	i := r.info
	return s.text(r.id, i.URI, string(i.Kind), i.Session, i.Chat) + 3*r.floor + 5*r.last + 7*r.run + 11*r.snap
}

// answer returns the checksum of an answer.
func (s *checksummer) answer(client string, clientSeq, seq int64, channel string, at int64) int64 {
	return s.text(clientSeq, client, channel) + 3*seq + at
}

// doc returns the checksum of a document.
func (s *checksummer) doc(bucket, key string, at int64, value []byte) int64 {
	return int64(crc32.Update(uint32(s.text(0, bucket, key)), crcTable, value)) + at
}

func (s *checksummer) text(n int64, parts ...string) int64 {
	b := binary.LittleEndian.AppendUint64(s.buf[:0], uint64(n))
	for _, p := range parts {
		b = append(append(b, p...), 0)
	}
	s.buf = b
	return int64(crc32.Checksum(b, crcTable))
}

// differs reports whether a row has a checksum other than sum.
func differs(stored sql.NullInt64, sum int64) bool { return stored.Valid && stored.Int64 != sum }

// DamageError describes damage in a database.
type DamageError struct {
	What  string    // for example "journal row 17"
	URI   ahp.URI   // of its channel
	At    time.Time // when a journal row was written; zero for others
	Cause error     // nil: the checksum differs
}

func (e *DamageError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %v", e.Reason(), e.Cause)
	}
	return e.Reason()
}

// Is reports true for ErrDamaged.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }
func (e *DamageError) Unwrap() error        { return e.Cause }

// Reason says what is damaged and what to do, in words for users.
func (e *DamageError) Reason() string {
	return e.Name() + " is damaged on disk: " + advice + "; ahphub doctor --deep lists all damage"
}

// advice is for a single server. A node of a cluster gets its data from the other nodes instead.
const advice = "restore a backup"

// DescribeDamage describes the damage in one line, without advice.
func DescribeDamage(err error) string {
	if e, ok := errors.AsType[*DamageError](err); ok && e.Cause == nil {
		return e.Name() + " has a wrong checksum"
	} else if ok {
		return e.Name() + ": " + DescribeDamage(e.Cause)
	}
	return strings.NewReplacer(": move it away, or "+advice, "", ": "+advice, "", "\n", "; ").Replace(err.Error())
}

// Name returns the name of what is damaged.
func (e *DamageError) Name() string {
	if e.URI == "" {
		return e.What
	}
	if e.At.IsZero() {
		return fmt.Sprintf("%s of %s", e.What, e.URI)
	}
	return fmt.Sprintf("%s of %s, written %s,", e.What, e.URI, e.At.UTC().Format("2006-01-02 15:04:05"))
}
