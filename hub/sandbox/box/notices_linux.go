package box

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// notices notifies the people of a session about its programs.
type notices struct {
	tell func(text string) // nil: only terminals are notified

	mu   sync.Mutex
	ttys map[*os.File]bool // terminals of running programs
}

// attend notifies a program's terminal until done is called.
func (n *notices) attend(stderr any) (done func()) {
	tty, ok := stderr.(*os.File)
	if n.ttys == nil || !ok {
		return func() {}
	}
	if _, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS); err != nil {
		return func() {}
	}
	// Opening it separately avoids blocking when a person has stopped the terminal.
	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", tty.Fd()), os.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return func() {}
	}
	n.mu.Lock()
	n.ttys[again] = true
	n.mu.Unlock()
	return func() {
		n.mu.Lock()
		delete(n.ttys, again)
		n.mu.Unlock()
		again.Close()
	}
}

// say sends a text to the session's terminals and chats.
func (n *notices) say(text string) {
	n.mu.Lock()
	for tty := range n.ttys {
		_ = tty.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = tty.WriteString("\r\nahphub: " + text + "\r\n")
	}
	n.mu.Unlock()
	if n.tell != nil {
		n.tell(text)
	}
}
