package live

import (
	"context"
	"sync"
)

// mirror holds the newest frames of a room of the leader, for the visitors of this node.
type mirror struct {
	id      uint64            // on the trunk
	request func(room uint64) // makes the leader send the whole room

	mu        sync.Mutex
	epoch     string
	first     int64 // number of the frame before frames[0]
	frames    [][]byte
	bytes     int
	whole     []byte // the whole room as one frame; nil: unknown
	at        int64  // number of whole
	requested bool   // the leader was asked for whole
	wakes     map[chan<- struct{}]bool
	err       error
}

func newMirror(id uint64, start int64, request func(uint64)) *mirror {
	return &mirror{id: id, request: request, first: start, wakes: map[chan<- struct{}]bool{}}
}

// newest returns the number of the newest frame; mu is held.
func (m *mirror) newest() int64 { return m.first + int64(len(m.frames)) }

// addFrame adds a frame from the trunk, and reports whether it follows the newest one.
func (m *mirror) addFrame(f frame) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case f.whole:
		m.whole, m.at, m.requested = f.bytes, f.n, false
		if f.n != m.newest() { // the frames between were not sent
			m.first, m.frames, m.bytes = f.n, nil, 0
		}
	case f.n != m.newest()+1:
		return false
	default:
		m.frames, m.bytes = append(m.frames, f.bytes), m.bytes+len(f.bytes)
		for len(m.frames) > keptFrames || m.bytes > keptBytes && len(m.frames) > 1 {
			m.bytes -= len(m.frames[0])
			m.frames[0] = nil
			m.frames, m.first = m.frames[1:], m.first+1
		}
		if m.at < m.first {
			m.whole = nil
		}
	}
	m.wakeReaders()
	return true
}

// finish ends every reader.
func (m *mirror) finish(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
	m.wakeReaders()
}

// wakeReaders makes every reader look for a frame; mu is held.
func (m *mirror) wakeReaders() {
	for wake := range m.wakes {
		select {
		case wake <- struct{}{}:
		default: // it is already awake
		}
	}
}

// frameAfter implements source. A reader that is ahead of the mirror waits for its next frame.
func (m *mirror) frameAfter(epoch string, n int64) (frame, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.err != nil:
		return frame{}, m.err
	case epoch == m.epoch && n >= m.newest():
		return frame{n: n}, nil
	case epoch == m.epoch && n >= m.first:
		return frame{bytes: m.frames[n-m.first], n: n + 1}, nil
	case m.whole != nil:
		return frame{m.whole, m.at, true}, nil
	case !m.requested:
		m.requested = true
		m.request(m.id)
	}
	return frame{n: n}, nil
}

func (m *mirror) epochName() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.epoch
}

// settle implements source. The leader sends only frames whose changes a quorum has.
func (m *mirror) settle(context.Context) error { return nil }

func (m *mirror) join(wake chan<- struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wakes[wake] = true
}

func (m *mirror) leave(wake chan<- struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.wakes, wake)
}
