package telemetry

import (
	"sync"

	"go.opentelemetry.io/otel/log"

	"github.com/ahphub/ahphub/hub/ahp"
)

// follower is one subscription. deliver must not block; it returns false if it dropped the batch.
type follower struct {
	uri     ahp.URI
	channel channel
	deliver func(method string, params []byte) bool
}

type followers struct {
	mu    sync.Mutex
	all   map[*follower]struct{}
	fresh bool // metrics have a new follower
}

// Follow passes every batch of a checked channel to deliver until leave is called. Each spelling of
// a channel is a subscription of its own (AHP requirement 203).
func (t *Telemetry) Follow(uri ahp.URI, deliver func(method string, params []byte) bool) (leave func()) {
	c, err := parse(uri)
	if err != nil {
		return func() {}
	}
	f := &follower{uri, c, deliver}
	t.change(func(s *followers) {
		s.all[f] = struct{}{}
		s.fresh = s.fresh || c.signal == metrics
	})
	t.signal()
	return func() { t.change(func(s *followers) { delete(s.all, f) }) }
}

// change edits the followers and determines what has to be collected for them.
func (t *Telemetry) change(edit func(*followers)) {
	s := &t.follow
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*follower]struct{}{}
	}
	edit(s)
	level, tracing := log.Severity(0), false
	for f := range s.all {
		tracing = tracing || f.channel.signal == traces
		if l := f.channel.level; l > 0 && (level == 0 || l < level) {
			level = l
		}
	}
	t.level.Store(int32(level))
	t.tracing.Store(tracing)
	if level == 0 {
		t.logs.take()
	}
	if !tracing {
		t.spans.take()
	}
}

func (t *Telemetry) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (s *followers) none() bool { return !s.isFull(1) }

func (s *followers) isFull(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) >= n
}

// takeFresh reports, once, that metrics have a new follower.
func (s *followers) takeFresh() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := s.fresh
	s.fresh = false
	return fresh
}

// of returns the followers of a signal, by the channel they named.
func (s *followers) of(kind signal) map[ahp.URI][]*follower {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[ahp.URI][]*follower{}
	for f := range s.all {
		if f.channel.signal == kind {
			out[f.uri] = append(out[f.uri], f)
		}
	}
	return out
}

// send delivers a payload to the followers of one channel; the params are encoded once for all of
// them.
func (t *Telemetry) send(to []*follower, kind signal, payload []byte) {
	params := append([]byte(`{"channel":`), quoted(to[0].uri)...)
	params = append(append(append(params, `,"payload":`...), payload...), '}')
	for _, f := range to {
		if !f.deliver(string(kind), params) {
			t.dropped.WithLabelValues("batches").Inc()
		}
	}
}
