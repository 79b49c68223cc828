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

// seenBucket stores when each browser was last seen, separately from its row: a late write must not
// restore a deleted row.
const seenBucket = "cookie-seen"

// lastSeen holds when browsers were last seen, by key, in memory. Page views write nothing; Flush
// does.
type lastSeen struct {
	mu      sync.Mutex
	at      map[string]time.Time
	unsaved map[string]bool
}

// of returns when a browser was last seen.
func (s *lastSeen) of(key string, kept row) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.at[key]; at.After(kept.Seen) {
		return at
	}
	return kept.Seen
}

// note records that a browser is seen now.
func (s *lastSeen) note(key string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[key], s.unsaved[key] = now, true
}

// apply applies a record of the bucket.
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

// take returns the unsaved entries.
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

// Flush writes when browsers were last seen. Call it regularly, and at shutdown.
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

// Sweep reads when browsers were last seen, and deletes rows of expired cookies; call it at startup
// and regularly.
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

// drop deletes a browser's records.
func (c *Cookies) drop(ctx context.Context, key string) error {
	if err := c.cfg.Store.Delete(ctx, rowBucket, key); err != nil {
		return err
	}
	_ = c.seen.apply(key, nil)
	return c.cfg.Store.Delete(ctx, seenBucket, key)
}
