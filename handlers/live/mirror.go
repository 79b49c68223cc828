package live

import (
	"context"
	"sync"
)

// mirror has the newest frames of a room of the node that leads, for the visitors of this node.
type mirror struct {
	id  uint64            // on the trunk
	ask func(room uint64) // for the room anew

	mu     sync.Mutex
	epoch  string
	first  int64 // frames go from the one after it
	frames [][]byte
	bytes  int
	whole  []byte // the room as it was at wholeAt; nil: not at hand
	at     int64  // of whole
	asked  bool
	wakes  map[chan<- struct{}]bool
	err    error
}

func newMirror(id uint64, start int64, ask func(uint64)) *mirror {
	return &mirror{id: id, ask: ask, first: start, wakes: map[chan<- struct{}]bool{}}
}

// newest returns the number of the newest frame; mu is held.
func (m *mirror) newest() int64 { return m.first + int64(len(m.frames)) }

// take takes what comes over the trunk, and reports whether it follows what came before.
func (m *mirror) take(f frame) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case f.whole:
		m.whole, m.at, m.asked = f.bytes, f.n, false
		if f.n != m.newest() { // what is between was not sent
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

// wakeReaders has every reader look for a frame; mu is held.
func (m *mirror) wakeReaders() {
	for wake := range m.wakes {
		select {
		case wake <- struct{}{}:
		default: // it looks already
		}
	}
}

// frameAfter implements source. A number that has not come yet is waited for.
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
	case !m.asked:
		m.asked = true
		m.ask(m.id)
	}
	return frame{n: n}, nil
}

func (m *mirror) epochName() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.epoch
}

// settle implements source: the node that leads sends nothing that a quorum does not have.
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
