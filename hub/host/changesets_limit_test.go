package host

import (
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ahphub/ahphub/hub/changeset"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

// scarce is a system that can watch a limited number of folders.
type scarce struct {
	changeset.Notifier
	left *atomic.Int64
}

func (s scarce) Add(folder string) error {
	if s.left.Add(-1) < 0 {
		return os.NewSyscallError("inotify_add_watch", syscall.ENOSPC)
	}
	return s.Notifier.Add(folder)
}

// When the system's watches run out, files are polled and viewers are informed. When watches are
// available again, files are watched and viewers are informed again.
func TestWatchesRunOutAndComeBack(t *testing.T) {
	for name, refusal := range map[string]struct {
		begin func(left *atomic.Int64) (changeset.Notifier, <-chan fsnotify.Event, <-chan error, error)
		says  string
	}{
		"folders": {func(left *atomic.Int64) (changeset.Notifier, <-chan fsnotify.Event, <-chan error, error) {
			w, events, errors, err := changeset.SystemNotifier()
			return scarce{w, left}, events, errors, err
		}, "raise fs.inotify.max_user_watches): inotify_add_watch: no space left on device"},
		"watchers": {func(left *atomic.Int64) (changeset.Notifier, <-chan fsnotify.Event, <-chan error, error) {
			if left.Load() < 10 {
				return nil, nil, nil, os.NewSyscallError("inotify_init1", syscall.EMFILE)
			}
			return changeset.SystemNotifier()
		}, "raise fs.inotify.max_user_instances): inotify_init1: too many open files"},
	} {
		t.Run(name, func(t *testing.T) {
			var left atomic.Int64
			left.Store(3)
			data := t.TempDir()
			notify := func() (changeset.Notifier, <-chan fsnotify.Event, <-chan error,
				error) {
				return refusal.begin(&left)
			}
			// poll once, then retry to watch
			c := newChangingWith(t, Config{PollFolders: time.Millisecond, DataDir: data,
				Machine: local.New(local.WithData(local.Data{Dir: data, Guard: localtest.NewGuard(t, data),
					Notify: notify}))})
			c.runsOut(refusal.says, func() { left.Store(1000) })
		})
	}
}

// runsOut follows a session's changes where they cannot be watched, until enough makes that
// possible.
func (c *changing) runsOut(says string, enough func()) {
	c.t.Helper()
	c.mkdir("src/deep")
	uri := c.follow("uncommitted", "")
	c.until("it is said", func() bool { return changes.ReadWatching(c.session().Meta).Polling })
	if w := changes.ReadWatching(c.session().Meta); !strings.Contains(w.Why, says) || w.Seconds != 10 {
		c.t.Errorf("it says %+v, want %q", w, says)
	}
	c.write("src/deep/x", "x\n")
	c.shows(uri, "A src/deep/x +1 −0")
	enough()
	c.until("they are watched again", func() bool { return !changes.ReadWatching(c.session().Meta).Polling })
	if m := c.session().Meta; strings.Contains(string(m[core.MetaKey]), `"changes"`) {
		c.t.Errorf("it still says %v", m)
	}
	c.watched()
	c.write("src/deep/x", "x\ny\n")
	c.shows(uri, "A src/deep/x +2 −0")
}
