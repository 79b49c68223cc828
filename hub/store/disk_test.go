package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
)

// Promise 3: a failing disk makes the host read-only until it works again, without losing accepted
// changes or showing them too early.
func TestFailingDiskMakesTheHostReadOnlyAndBack(t *testing.T) {
	var broken atomic.Bool
	cfg := Config{Dir: t.TempDir(), RetryAfter: time.Millisecond, fail: func() error {
		if broken.Load() {
			return syscall.ENOSPC
		}
		return nil
	}}
	l := start(t, cfg)
	l.settle()
	broken.Store(true)
	must(t, l.apply(chatURI, delta("accepted ")))
	watcher, err := l.h.Connect(hub.ConnConfig{Principal: "ana", ClientID: "watcher"})
	must(t, err)
	watcher.Subscribe("token", hub.Subscription{URI: chatURI})
	eventually(t, "read-only", func() bool { return l.h.ReadOnly() != nil })
	if err := l.apply(chatURI, delta("refused ")); !errors.Is(err, hub.ErrReadOnly) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("an action on a full disk: %v", err)
	}
	if err := l.s.Documents(l.h).Put(t.Context(), "b", "k", nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a document on a full disk: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if items, err := watcher.Next(ctx, nil); err == nil {
		t.Errorf("shown before it is on disk: %+v", items)
	}
	broken.Store(false)
	eventually(t, "back", func() bool { return l.h.ReadOnly() == nil })
	must(t, l.apply(chatURI, delta("again")))
	want := l.state(chatURI)
	l.stop()
	if l = start(t, cfg); l.state(chatURI) != want || !strings.Contains(want, "accepted again") {
		t.Errorf("the chat was %s and is %s", want, l.state(chatURI))
	}
}

func TestFullDatabase(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), RetryAfter: time.Millisecond, RoomEvery: time.Millisecond}
	l := start(t, cfg)
	l.settle()
	limit := func(pages int) {
		must(t, l.s.transact(func(c *conn) error {
			_, err := c.ExecContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count=%d", pages))
			return err
		}))
	}
	limit(30)
	big := strings.Repeat("x", 10_000)
	eventually(t, "full", func() bool { return l.apply(chatURI, delta(big)) != nil })
	if err := l.h.ReadOnly(); !strings.Contains(fmt.Sprint(err), "free some space") {
		t.Errorf("a full database: %v", err)
	}
	limit(1 << 20)
	eventually(t, "back", func() bool { return l.h.ReadOnly() == nil })
	want := l.state(chatURI)
	l.stop()
	if l = start(t, cfg); l.state(chatURI) != want {
		t.Error("what was accepted is lost")
	}
}

// A disk that stays full does not prevent the program from stopping.
func TestStoppingWithAFullDisk(t *testing.T) {
	var broken atomic.Bool
	s := open(t, Config{fail: func() error {
		if broken.Load() {
			return syscall.ENOSPC
		}
		return nil
	}})
	h := boot(t, s)
	broken.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx, h); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Run: %v, want what is not on disk", err)
	}
}
