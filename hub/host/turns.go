package host

import (
	"sync"
	"sync/atomic"

	"github.com/ahphub/ahphub/hub/ahp"
)

// turns runs the turns of all chats. It holds each session's runtime, the waiters of agents, and
// the rules and effects of turns, tool calls, input requests and queued messages. Its lock is never
// held during a call.
type turns struct {
	h          *Host
	recovering atomic.Bool // no queued message is started while true

	mu       sync.Mutex
	runtimes map[ahp.URI]*sessionRuntime
	waiters  map[waitKey]chan ahp.Action
}

func newTurns(h *Host) *turns {
	return &turns{h: h, runtimes: map[ahp.URI]*sessionRuntime{}, waiters: map[waitKey]chan ahp.Action{}}
}
