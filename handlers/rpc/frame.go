package rpc

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/quota"
)

// A frame is read in three steps: most fit into tinyFrame, few exceed smallFrame. Buffers of both
// come from pools, so that idle connections hold none; larger frames are taken from a quota before
// memory is allocated.
const (
	tinyFrame  = 4 << 10
	smallFrame = 64 << 10
)

var (
	tinyFrames  = sync.Pool{New: func() any { return new([tinyFrame]byte) }}
	smallFrames = sync.Pool{New: func() any { return new([smallFrame]byte) }}
)

var (
	errFrames = errors.New("too many large messages are being received. Reconnect and send this one again in a moment")
	errLate   = errors.New("a large message took too long to arrive. Reconnect to resume")
)

// received is a complete incoming frame.
type received struct {
	bytes  []byte
	taken  int64 // bytes taken from the quota of large frames
	holder quota.Holder
}

// readFrame reads a frame of at most Limits.FrameBytes, which the WebSocket enforces.
func (s *socket) readFrame(r io.Reader) (*received, error) {
	tiny := tinyFrames.Get().(*[tinyFrame]byte)
	defer tinyFrames.Put(tiny)
	n, err := io.ReadFull(r, tiny[:])
	if err != nil {
		return copyFrame(tiny[:n], err)
	}
	small := smallFrames.Get().(*[smallFrame]byte)
	defer smallFrames.Put(small)
	copy(small[:], tiny[:])
	n, err = io.ReadFull(r, small[tinyFrame:])
	if err != nil {
		return copyFrame(small[:tinyFrame+n], err)
	}
	return s.readLarge(r, small[:])
}

// copyFrame copies a frame that fit into a pooled buffer, because the message keeps parts of it.
func copyFrame(have []byte, err error) (*received, error) {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return &received{bytes: append([]byte(nil), have...)}, nil
}

// readLarge reads the rest of a large frame, doubling the buffer each time it is full. The frame
// has to arrive in time, since it blocks a part of the quota.
func (s *socket) readLarge(r io.Reader, first []byte) (*received, error) {
	late := time.AfterFunc(s.cfg.Limits.Frame, func() { s.end(errLate) })
	defer late.Stop()
	f := &received{bytes: first, holder: holderOf(s.principal)}
	for {
		if len(f.bytes) >= cap(f.bytes) {
			if err := s.growFrame(f); err != nil {
				s.dropFrame(f)
				return nil, err
			}
		}
		n, err := r.Read(f.bytes[len(f.bytes):cap(f.bytes)])
		f.bytes = f.bytes[:len(f.bytes)+n]
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			s.dropFrame(f)
			return nil, err
		}
	}
}

// growFrame doubles the buffer, taking from the quota and then from the heap.
func (s *socket) growFrame(f *received) error {
	room := int64(min(2*len(f.bytes), s.cfg.Limits.FrameBytes+1))
	if err := s.cfg.Frames.Take(f.holder, room-f.taken); err != nil {
		return fmt.Errorf("%w (%w)", errFrames, err)
	}
	f.taken = room
	f.bytes = append(make([]byte, 0, room), f.bytes...)
	return nil
}

// dropFrame returns a frame's quota; nil has none.
func (s *socket) dropFrame(f *received) {
	if f != nil {
		s.cfg.Frames.Return(f.holder, f.taken)
	}
}

// holderOf returns the principal as quotas count it. Guests of a link share a limit; the guest of a
// connection is known once it initializes.
func holderOf(p access.Principal) quota.Holder {
	if p.IsBearer() {
		return quota.Holder{Group: p.Link}
	}
	return quota.Holder{ID: p.ID, Group: p.Link}
}

// reseat moves the connection's quota from the bearer to the guest.
func (s *socket) reseat(p access.Principal) error {
	now := holderOf(p)
	if now == s.seat {
		return nil
	}
	if err := s.cfg.Sockets.Move(s.seat, now, 1); err != nil {
		return errSockets
	}
	s.seat = now
	return nil
}
