package rpc

import (
	"context"
	"sync"
	"time"
)

// heartbeat pings an open socket, so that proxies keep it open and lost peers are noticed. Between
// pings it is a timer, not a goroutine.
type heartbeat struct {
	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

func (h *heartbeat) start(s *socket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	s.wg.Add(1)
	h.timer = time.AfterFunc(s.cfg.Limits.Ping, func() { h.beat(s) })
}

func (h *heartbeat) beat(s *socket) {
	defer s.wg.Done()
	ctx, cancel := context.WithTimeout(s.ctx, s.cfg.Limits.Ping)
	defer cancel()
	if err := s.ws.Ping(ctx); err != nil {
		s.end(err)
		return
	}
	h.start(s)
}

func (h *heartbeat) stop(s *socket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	if h.timer != nil && h.timer.Stop() {
		s.wg.Done()
	}
}
