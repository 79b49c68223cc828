package host

import (
	"sync"
	"sync/atomic"

	"github.com/ahphub/ahphub/hub/ahp"
)

// turns plays the turns of all chats: it holds what runs for each session, what agents wait for, and the rules and
// effects of turns, tool calls, input requests and queued messages. Its lock is held over no call.
type turns struct {
	h          *Host
	recovering atomic.Bool // while true no queued message is started

	mu      sync.Mutex
	live    map[ahp.URI]*live
	waiters map[waitKey]chan ahp.Action
}

func newTurns(h *Host) *turns {
	return &turns{h: h, live: map[ahp.URI]*live{}, waiters: map[waitKey]chan ahp.Action{}}
}
