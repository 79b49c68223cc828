package agent

import (
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Moves are the commands that turns of a session wait for, one a chat, and that can move to the
// background. Embedded, it makes a session a Mover. Its zero value has none.
type Moves struct {
	mu      sync.Mutex
	waiting map[ahp.URI]chan struct{}
}

// Movable registers the command of a chat until the func is called. The channel is for Command.Move.
func (m *Moves) Movable(chat ahp.URI) (<-chan struct{}, func()) {
	c := make(chan struct{})
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == nil {
		m.waiting = map[ahp.URI]chan struct{}{}
	}
	m.waiting[chat] = c
	return c, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.waiting[chat] == c {
			delete(m.waiting, chat)
		}
	}
}

// Move implements Mover.
func (m *Moves) Move(chat ahp.URI) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.waiting[chat]
	if c != nil {
		close(c)
		delete(m.waiting, chat)
	}
	return c != nil
}
