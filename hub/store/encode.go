package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// A batch is encoded once and applied only from its bytes. They contain no pointers, and no times
// except those that the hub set, so that applying them in another process has the same effect.
//
// Encoding: version, sequence number of the timeline, writes, CRC-32C. A write is its kind and its
// fields. A repeated text (channels, principals, clients, buckets) is written once and then
// referenced by its index.
const encodingVersion = 1

// Kinds of encoded writes.
const (
	kindEnvelope = iota + 1
	kindOpen
	kindClose
	kindRecord
	kindDelete
	kindPrune
)

// errEncoding reports that bytes are not a batch, or one of another version.
var errEncoding = errors.New("a batch of the journal cannot be read")

// Encode returns the bytes of a batch for Apply; the result is deterministic. reserved is the
// number up to which the batch reserves numbers, 0 for none. Encode also encodes records that were
// left unencoded.
func Encode(b hub.Batch, reserved int64) ([]byte, error) {
	e := encoder{texts: map[string]uint64{}, buf: make([]byte, 0, 64+512*len(b.Writes))}
	e.buf = append(e.buf, encodingVersion)
	e.int(b.Seq)
	e.int(reserved)
	e.int(int64(len(b.Writes)))
	for i := range b.Writes {
		if err := e.write(&b.Writes[i]); err != nil {
			return nil, err
		}
	}
	return binary.LittleEndian.AppendUint32(e.buf, crc32.Checksum(e.buf, crcTable)), nil
}

type encoder struct {
	buf   []byte
	texts map[string]uint64
}

func (e *encoder) int(v int64) { e.buf = binary.AppendVarint(e.buf, v) }

func (e *encoder) bytes(b []byte) {
	e.buf = binary.AppendUvarint(e.buf, uint64(len(b)))
	e.buf = append(e.buf, b...)
}

func (e *encoder) string(s string) {
	e.buf = binary.AppendUvarint(e.buf, uint64(len(s)))
	e.buf = append(e.buf, s...)
}

// text writes a text that may repeat: its index, or 0 and the text.
func (e *encoder) text(s string) {
	n, known := e.texts[s]
	e.buf = binary.AppendUvarint(e.buf, n)
	if !known {
		e.texts[s] = uint64(len(e.texts) + 1)
		e.string(s)
	}
}

func (e *encoder) write(w *hub.Write) error {
	switch {
	case w.Env != nil:
		return e.envelope(w.Env)
	case w.Open != nil:
		return e.open(w.Open)
	case w.Record != nil:
		return e.record(w.Record)
	case !w.Prune.IsZero():
		e.buf = append(e.buf, kindPrune)
		e.int(w.Prune.UnixMicro())
	default:
		e.buf = append(e.buf, kindClose)
		e.text(w.Close)
	}
	return nil
}

func (e *encoder) envelope(env *hub.Envelope) error {
	action, err := ahp.MarshalAction(env.Action)
	if err != nil {
		return fmt.Errorf("envelope %d (%s): %w", env.Seq, env.Action.ActionType(), err)
	}
	e.buf = append(e.buf, kindEnvelope)
	e.text(env.Channel.URI)
	e.int(env.Seq)
	e.int(env.At.UnixMicro())
	e.text(env.Principal)
	if env.Origin == nil {
		e.buf = append(e.buf, 0)
	} else {
		e.buf = append(e.buf, 1)
		e.text(env.Origin.ClientID)
		e.int(env.Origin.ClientSeq)
	}
	e.bytes(action)
	return nil
}

func (e *encoder) open(o *hub.OpenWrite) error {
	state, err := ahp.Marshal(o.State)
	if err != nil {
		return fmt.Errorf("state of %s: %w", o.Info, err)
	}
	e.buf = append(e.buf, kindOpen)
	e.text(o.Info.URI)
	e.text(string(o.Info.Kind))
	e.text(o.Info.Session)
	e.text(o.Info.Chat)
	e.int(o.Seq)
	e.bytes(state)
	return nil
}

func (e *encoder) record(r *hub.Record) error {
	value := r.Value
	if r.Encode != nil {
		var err error
		if value, err = r.Encode(); err != nil {
			return fmt.Errorf("document %s of %s: %w", r.Key, r.Bucket, err)
		}
	}
	if value == nil {
		e.buf = append(e.buf, kindDelete)
	} else {
		e.buf = append(e.buf, kindRecord)
	}
	e.text(r.Bucket)
	e.string(r.Key)
	if value != nil {
		e.int(r.At.UnixMicro())
		e.bytes(value)
	}
	return nil
}

// decoder reads an encoded batch. Its results share the bytes.
type decoder struct {
	buf   []byte
	texts []string
	err   error
}

// decodeBatch verifies a batch and returns a decoder at its first field.
func decodeBatch(b []byte) (*decoder, error) {
	n := len(b) - 4
	if n < 1 || binary.LittleEndian.Uint32(b[n:]) != crc32.Checksum(b[:n], crcTable) {
		return nil, fmt.Errorf("%w: its checksum differs", errEncoding)
	}
	if b[0] != encodingVersion {
		return nil, fmt.Errorf("%w: it has version %d, this program knows %d", errEncoding, b[0], encodingVersion)
	}
	return &decoder{buf: b[1:n]}, nil
}

func (d *decoder) fail() { d.buf, d.err = nil, errEncoding }

func (d *decoder) byte() byte {
	if len(d.buf) == 0 {
		d.fail()
		return 0
	}
	b := d.buf[0]
	d.buf = d.buf[1:]
	return b
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.buf)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.buf)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.buf)) {
		d.fail()
		return nil
	}
	b := d.buf[:n:n]
	d.buf = d.buf[n:]
	return b
}

func (d *decoder) text() string {
	switch n := d.uint(); {
	case d.err != nil || n > uint64(len(d.texts)):
		d.fail()
		return ""
	case n > 0:
		return d.texts[n-1]
	}
	s := string(d.bytes())
	d.texts = append(d.texts, s)
	return s
}
