package agent

import (
	"strings"
	"sync"
)

const mostTail = 2 << 10 // bytes

// Tail keeps the end of a program's standard error, to be quoted when it fails.
type Tail struct {
	mu  sync.Mutex
	end []byte
}

func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b[max(0, len(b)-mostTail):]...)
	if extra := len(t.end) - mostTail; extra > 0 {
		t.end = append(t.end[:0], t.end[extra:]...)
	}
	return len(b), nil
}

func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.end), ""))
}
