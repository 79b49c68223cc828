package store

import (
	"context"
	"os"
	"time"
)

// heartbeat is how often the lock file is touched, so that the next process knows when this one ended, however it did.
const heartbeat = time.Second

// LastAlive returns when the process before this one was last seen alive, about a second before it ended; zero when
// there was none.
func (s *Store) LastAlive() time.Time { return s.lastAlive }

// later returns when the file was last written, if that is after t and t is a time.
func later(t time.Time, file string) time.Time {
	if info, err := os.Stat(file); err == nil && !t.IsZero() && info.ModTime().After(t) {
		return info.ModTime()
	}
	return t
}

// beat touches the lock file until ctx ends.
func (s *Store) beat(ctx context.Context) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			now := time.Now()
			if err := os.Chtimes(s.lock.Name(), now, now); err != nil {
				s.log.Debug("the lock file cannot be touched", "err", err)
			}
		case <-ctx.Done():
			return
		}
	}
}
