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

// A frame is read in three steps: most fit into tinyFrame, few are over smallFrame. Buffers of both come from pools, so
// that connections which send nothing hold none; what is larger is taken from a quota before there is memory for it.
const (
	tinyFrame  = 4 << 10
	smallFrame = 64 << 10
)

var (
	tinyFrames  = sync.Pool{New: func() any { return new([tinyFrame]byte) }}
	smallFrames = sync.Pool{New: func() any { return new([smallFrame]byte) }}
)

var (
	errFrames = errors.New("too many large messages are on their way: reconnect and send this one again in a moment")
	errLate   = errors.New("a large message took too long to arrive: reconnect to resume")
)

// received is a frame that came in, whole.
type received struct {
	bytes  []byte
	taken  int64 // from the quota of large frames
	holder quota.Holder
}

// readFrame reads a frame of at most Limits.FrameBytes, which the WebSocket enforces.
func (s *socket) readFrame(r io.Reader) (*received, error) {
	tiny := tinyFrames.Get().(*[tinyFrame]byte)
	defer tinyFrames.Put(tiny)
	n, err := io.ReadFull(r, tiny[:])
	if err != nil {
		return endedFrame(tiny[:n], err)
	}
	small := smallFrames.Get().(*[smallFrame]byte)
	defer smallFrames.Put(small)
	copy(small[:], tiny[:])
	n, err = io.ReadFull(r, small[tinyFrame:])
	if err != nil {
		return endedFrame(small[:tinyFrame+n], err)
	}
	return s.readLarge(r, small[:])
}

// endedFrame copies a frame that ended within a buffer of a pool: the message keeps parts of it.
func endedFrame(have []byte, err error) (*received, error) {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return &received{bytes: append([]byte(nil), have...)}, nil
}

// readLarge reads the rest of a large frame, into twice the room each time it is full. It has to arrive in time, since
// others wait for what it takes of the quota.
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

// growFrame takes twice the room from the quota and then from the heap.
func (s *socket) growFrame(f *received) error {
	room := int64(min(2*len(f.bytes), s.cfg.Limits.FrameBytes+1))
	if err := s.cfg.Frames.Take(f.holder, room-f.taken); err != nil {
		return fmt.Errorf("%w (%w)", errFrames, err)
	}
	f.taken = room
	f.bytes = append(make([]byte, 0, room), f.bytes...)
	return nil
}

// dropFrame gives back what a frame took; nil takes nothing.
func (s *socket) dropFrame(f *received) {
	if f != nil {
		s.cfg.Frames.Return(f.holder, f.taken)
	}
}

// holderOf is a principal as quotas count it. Guests of a link have a bound in common; which of them a connection is
// shows when it initializes.
func holderOf(p access.Principal) quota.Holder {
	if p.IsBearer() {
		return quota.Holder{Group: p.Link}
	}
	return quota.Holder{ID: p.ID, Group: p.Link}
}

// reseat counts the connection as that of the guest its bearer turned out to be.
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
