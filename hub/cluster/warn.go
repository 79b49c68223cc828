package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	warnEvery   = 10 * time.Second // between warnings with the same text about the same node
	mostWarned  = 1000             // remembered pairs of text and node
	longestWarn = 300              // bytes of an attribute
)

// warnings forwards raft's warnings and errors to log. It implements hclog.SinkAdapter.
type warnings struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	seen map[string]*warningState
}

// warningState is the state of one rate-limited warning.
type warningState struct {
	at   time.Time // last logged
	more int       // times suppressed since
}

// newLogger returns a logger for raft that forwards warnings and errors to log, which may be nil.
func newLogger(log *slog.Logger) hclog.Logger {
	if log == nil {
		return hclog.NewNullLogger()
	}
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: hclog.Off})
	l.RegisterSink(&warnings{log: log.With("from", "raft"), now: time.Now, seen: map[string]*warningState{}})
	return l
}

// Accept implements hclog.SinkAdapter.
func (w *warnings) Accept(_ string, level hclog.Level, msg string, args ...any) {
	to := slog.LevelWarn
	switch {
	case level == hclog.Error:
		to = slog.LevelError
	case level != hclog.Warn:
		return
	}
	attrs, about := attrsOf(args)
	if isOrdinary(msg, attrs) {
		to = slog.LevelInfo
	}
	w.mu.Lock()
	more, due := w.isDue(level.String() + msg + about)
	w.mu.Unlock()
	if !due {
		return
	}
	if more > 0 {
		attrs = append(attrs, slog.Int("repeated", more))
	}
	w.log.LogAttrs(context.Background(), to, msg, attrs...)
}

// isOrdinary reports whether a warning is expected when a node starts, joins or was briefly away.
func isOrdinary(msg string, attrs []slog.Attr) bool {
	has := func(name, value string) bool {
		return slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == name && a.Value.String() == value })
	}
	switch msg {
	case "no known peers, aborting election", "appendEntries rejected, sending older logs":
		return true
	case "heartbeat timeout reached, starting election":
		return has("last-leader-id", "")
	case "failed to get previous log", "failed to get log":
		return has("error", raft.ErrLogNotFound.Error())
	}
	return false
}

// isDue reports whether to log a warning, and how often it was suppressed since it was last logged;
// mu is held.
func (w *warnings) isDue(key string) (more int, due bool) {
	now := w.now()
	s := w.seen[key]
	if s != nil && now.Sub(s.at) < warnEvery {
		s.more++
		return 0, false
	}
	if s == nil {
		if len(w.seen) >= mostWarned {
			clear(w.seen)
		}
		s = &warningState{}
		w.seen[key] = s
	}
	more = s.more
	*s = warningState{at: now}
	return more, true
}

// attrsOf returns the attributes of a warning and the nodes that it is about.
func attrsOf(args []any) (attrs []slog.Attr, about string) {
	for i := 0; i+1 < len(args); i += 2 {
		name := fmt.Sprint(args[i])
		if name == "command" {
			continue // may contain what people wrote
		}
		var text string
		switch v := args[i+1].(type) {
		case raft.Server:
			text = string(v.ID)
		case hclog.Format:
			text = fmt.Sprintf(fmt.Sprint(v[0]), v[1:]...)
		default:
			text = fmt.Sprint(v)
		}
		text = text[:min(len(text), longestWarn)]
		switch name {
		case "peer", "server-id", "from", "candidate", "id":
			about += " " + text
		}
		if name == "from" {
			name = "node"
		}
		attrs = append(attrs, slog.String(name, text))
	}
	return attrs, about
}
