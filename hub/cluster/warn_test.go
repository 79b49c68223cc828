package cluster

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

func TestWarningRateLimit(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	w := &warnings{log: slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
		now: func() time.Time { return now }, seen: map[string]*warningState{}}
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: hclog.Off})
	l.RegisterSink(w)
	b2 := raft.Server{ID: "b", Address: "10.0.0.2:8138"}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { l.Info("entering follower state") }, ""},
		{func() { l.Debug("votes needed", "count", 2) }, ""},
		{func() { l.Warn("failed to contact", "server-id", raft.ServerID("b"), "time", time.Second) },
			"level=WARN msg=\"failed to contact\" server-id=b time=1s\n"},
		{func() { l.Warn("failed to contact", "server-id", raft.ServerID("b"), "time", 2*time.Second) }, ""},
		{func() { l.Warn("failed to contact", "server-id", raft.ServerID("c"), "time", time.Second) },
			"level=WARN msg=\"failed to contact\" server-id=c time=1s\n"},
		{func() {
			now = now.Add(warnEvery)
			l.Warn("failed to contact", "server-id", raft.ServerID("b"), "time", time.Minute)
		},
			"level=WARN msg=\"failed to contact\" server-id=b time=1m0s repeated=1\n"},
		{func() { l.Named("net").Error("failed to appendEntries to", "peer", b2, "error", errors.New("refused")) },
			"level=ERROR msg=\"failed to appendEntries to\" peer=b error=refused\n"},
		{func() { l.Error("got unexpected command", "command", hclog.Fmt("%#v", "what somebody wrote")) },
			"level=ERROR msg=\"got unexpected command\"\n"},
		{func() { l.Warn("failed to get previous log", "last-index", 0, "error", raft.ErrLogNotFound) },
			"level=INFO msg=\"failed to get previous log\" last-index=0 error=\"log not found\"\n"},
		{func() { l.Error("failed to get log", "index", 7, "error", errors.New("damaged")) },
			"level=ERROR msg=\"failed to get log\" index=7 error=damaged\n"},
		{func() { l.With("term", 4).Error("odd", "left over") }, "level=ERROR msg=odd term=4\n"},
		{func() { l.Error("long", "error", strings.Repeat("x", 1000)) },
			"level=ERROR msg=long error=" + strings.Repeat("x", longestWarn) + "\n"},
	} {
		b.Reset()
		if step.do(); b.String() != step.want {
			t.Errorf("the log has %q, want %q", &b, step.want)
		}
	}
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
		return slog.Attr{}
	}
	return a
}
