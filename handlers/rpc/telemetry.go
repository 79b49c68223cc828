package rpc

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// Telemetry is the host's telemetry, on channels without a state; *telemetry.Telemetry is one.
type Telemetry interface {
	Channels() ahp.TelemetryCapabilities
	// Check reports why a channel cannot be followed; nil when it can.
	Check(uri ahp.URI) error
	// Follow passes batches to deliver, which does not block, until leave is called.
	Follow(uri ahp.URI, deliver func(method string, params []byte) bool) (leave func())
}

// maxExported bounds a client's unread telemetry: above it, telemetry is dropped, never the
// client.
const maxExported = 4 << 20

// export is a subscription to telemetry. Only the reader makes and ends them.
type export struct {
	ended atomic.Bool
	leave func()
}

// exported is an outgoing batch.
type exported struct {
	of    *export
	frame []byte
}

func isTelemetry(uri ahp.URI) bool { return strings.HasPrefix(uri, "ahp-otlp:") }

// telemetry returns the telemetry this client can follow: none, unless it is the owner's. Logs and
// spans name every session and the activity in it.
func (s *socket) telemetry() *ahp.TelemetryCapabilities {
	if s.cfg.Telemetry == nil || !s.principal.Has(access.RightManage) {
		return nil
	}
	c := s.cfg.Telemetry.Channels()
	return &c
}

func (s *socket) mayFollow(uri ahp.URI) error {
	switch {
	case s.cfg.Telemetry == nil:
		return ahp.Errorf(ahp.CodeNotFound, "this server sends no telemetry")
	case !s.principal.Has(access.RightManage):
		return ahp.Errorf(ahp.CodePermissionDenied, "only the owner can follow this server's telemetry")
	}
	return s.cfg.Telemetry.Check(uri)
}

// subscribeTelemetry answers {} (AHP requirements 25 and 201); telemetry from then on follows.
func (s *socket) subscribeTelemetry(m jsonrpc.Message, uri ahp.URI) error {
	if err := s.mayFollow(uri); err != nil {
		return err
	}
	s.followAll([]ahp.URI{uri}, func() { s.answer(m, []byte("{}")) })
	return nil
}

// followAll follows channels and calls answer. Telemetry published meanwhile waits for the answer: it is never sent
// before it, and a client that has read the answer misses nothing.
func (s *socket) followAll(uris []ahp.URI, answer func()) {
	var answered sync.Mutex
	answered.Lock()
	defer answered.Unlock()
	for _, uri := range uris {
		s.follow(uri, &answered)
	}
	answer()
}

func (s *socket) follow(uri ahp.URI, answered *sync.Mutex) {
	s.unfollow(uri)
	e := &export{}
	s.exports[uri] = e
	e.leave = s.cfg.Telemetry.Follow(uri, func(method string, params []byte) bool {
		frame := jsonrpc.AppendNotification(nil, method, params)
		answered.Lock()
		defer answered.Unlock()
		if n := int64(len(frame)); s.exporting.Add(n) > maxExported {
			s.exporting.Add(-n)
			return false
		}
		s.conn.PutFree(exported{e, frame})
		return true
	})
}

func (s *socket) unfollow(uri ahp.URI) {
	if e := s.exports[uri]; e != nil {
		e.ended.Store(true)
		e.leave()
		delete(s.exports, uri)
	}
}

// telemetryOf splits a client's initial subscriptions into telemetry it may follow and everything
// else.
func (s *socket) telemetryOf(asked []ahp.URI) (exports, rest []ahp.URI) {
	for _, uri := range asked {
		if isTelemetry(uri) && s.mayFollow(uri) == nil {
			exports = append(exports, uri)
		} else {
			rest = append(rest, uri)
		}
	}
	return exports, rest
}

func (s *socket) unfollowAll() {
	for uri := range s.exports {
		s.unfollow(uri)
	}
}

// bytes returns nil if the client unfollowed the channel (AHP requirement 30).
func (x exported) bytes(s *socket) []byte {
	s.exporting.Add(-int64(len(x.frame)))
	if x.of.ended.Load() {
		return nil
	}
	return x.frame
}
