package people

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// seenBucket holds when each browser was seen last, apart from its row: what is written late must not bring back a row
// that was deleted.
const seenBucket = "cookie-seen"

// lastSeen is when browsers were seen last, by key, in memory. Nothing is written when a page is looked at: Flush
// does it.
type lastSeen struct {
	mu      sync.Mutex
	at      map[string]time.Time
	unsaved map[string]bool
}

// of returns when a browser was seen last.
func (s *lastSeen) of(key string, kept row) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.at[key]; at.After(kept.Seen) {
		return at
	}
	return kept.Seen
}

// note keeps that a browser is seen now.
func (s *lastSeen) note(key string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[key], s.unsaved[key] = now, true
}

// apply takes a record of the bucket in.
func (s *lastSeen) apply(key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var at time.Time
	if value == nil || at.UnmarshalText(value) != nil {
		delete(s.at, key)
		delete(s.unsaved, key)
		return nil
	}
	if at.After(s.at[key]) {
		s.at[key] = at
	}
	return nil
}

// take returns what is not written yet.
func (s *lastSeen) take() map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]time.Time{}
	for key := range s.unsaved {
		out[key] = s.at[key]
	}
	clear(s.unsaved)
	return out
}

// Flush writes when browsers were seen last. Call it from time to time, and at the end.
func (c *Cookies) Flush(ctx context.Context) error {
	unsaved := c.seen.take()
	for _, key := range slices.Sorted(maps.Keys(unsaved)) {
		b, err := unsaved[key].MarshalText()
		if err == nil {
			err = c.cfg.Store.Put(ctx, seenBucket, key, b)
		}
		if err != nil {
			for key, at := range unsaved {
				c.seen.note(key, at)
			}
			return err
		}
	}
	return nil
}

// Sweep deletes rows of cookies that expired, after reading when browsers were seen; call it at the start, and
// from time to time.
func (c *Cookies) Sweep(ctx context.Context) error {
	if err := c.cfg.Store.Each(ctx, seenBucket, c.seen.apply); err != nil {
		return err
	}
	var gone []string
	err := c.cfg.Store.Each(ctx, rowBucket, func(key string, b []byte) error {
		var kept row
		if json.Unmarshal(b, &kept) != nil || c.cfg.Now().Sub(c.seen.of(key, kept)) > c.cfg.Life {
			gone = append(gone, key)
		}
		return nil
	})
	for _, key := range gone {
		err = errors.Join(err, c.drop(ctx, key))
	}
	return err
}

// drop deletes what is kept of a browser.
func (c *Cookies) drop(ctx context.Context, key string) error {
	if err := c.cfg.Store.Delete(ctx, rowBucket, key); err != nil {
		return err
	}
	_ = c.seen.apply(key, nil)
	return c.cfg.Store.Delete(ctx, seenBucket, key)
}
