package store

import (
	"context"
	"os"
	"time"
)

// heartbeat is the interval at which the lock file is touched, so that the next process knows when
// this one ended, even after a crash.
const heartbeat = time.Second

// LastAlive returns when the previous process was last alive, accurate to about a second; zero if
// there was none.
func (s *Store) LastAlive() time.Time { return s.lastAlive }

// later returns the file's modification time if it is after t and t is not zero.
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
