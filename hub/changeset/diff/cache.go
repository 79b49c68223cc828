package diff

import (
	"container/list"
	"context"
	"sync"

	"golang.org/x/sync/singleflight"
)

// Key names a comparison: object ids, never paths, say what is compared.
type Key struct {
	Old, New string
	Options
}

// Cache keeps comparisons, the least recently used thrown out once they take more than its bytes. The zero value holds
// 64 MB.
type Cache struct {
	Bytes  int
	Syntax Store // keeps the syntax of files between runs of the program; nil: it is read each time

	mu     sync.Mutex
	used   int
	byKey  map[Key]*list.Element
	recent list.List
	group  singleflight.Group

	painter painter
}

type cached struct {
	key  Key
	file *File
	size int
}

const cacheBytes = 64 << 20

// Compute returns what is cached, or loads both versions and compares them, once for all who ask meanwhile. The result
// is shared: do not write to it.
func (c *Cache) Compute(ctx context.Context, key Key, load func(context.Context) (old, new []byte,
	err error)) (*File, error) {
	return c.computeOnce(ctx, key, load, func(old, new []byte) *File {
		f := compute(old, new, key.Options, &syntax{store: c.Syntax})
		c.put(key, f)
		return f
	})
}

// computeOnce returns what is cached, or loads both versions and has them compared once for all who ask for the key.
func (c *Cache) computeOnce(ctx context.Context, key Key, load func(context.Context) (old, new []byte, err error),
	compare func(old, new []byte) *File) (*File, error) {
	if f := c.get(key); f != nil {
		return f, nil
	}
	flight := key.Old + "\x00" + key.New + "\x00" + key.Path + flags(key.Options)
	done := c.group.DoChan(flight, func() (any, error) {
		old, new, err := load(context.WithoutCancel(ctx)) // others wait for it too
		if err != nil {
			return nil, err
		}
		return compare(old, new), nil
	})
	select {
	case r := <-done:
		f, _ := r.Val.(*File)
		return f, r.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Has reports whether a comparison is there, with its colours or without.
func (c *Cache) Has(key Key) bool { return c.get(key) != nil || c.get(key.plain()) != nil }

func flags(o Options) string {
	s := []byte{0, '0' + byte(o.Space), '0'}
	if o.NoWords {
		s[2] = '1'
	}
	return string(s)
}

func (c *Cache) get(key Key) *File {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(cached).file
}

func (c *Cache) put(key Key, f *File) {
	size := sizeOf(f)
	limit := c.Bytes
	if limit == 0 {
		limit = cacheBytes
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[Key]*list.Element{}
	}
	if size > limit/4 || c.byKey[key] != nil {
		return
	}
	c.byKey[key] = c.recent.PushFront(cached{key, f, size})
	for c.used += size; c.used > limit; {
		last := c.recent.Back()
		old := c.recent.Remove(last).(cached)
		delete(c.byKey, old.key)
		c.used -= old.size
	}
}

// sizeOf estimates the memory of a comparison: 96 bytes a row, 48 a span, and both texts behind the rows.
func sizeOf(f *File) int {
	n := 256 + f.held
	for _, h := range f.Hunks {
		n += 128
		for _, r := range h.Rows {
			n += 96 + 48*len(r.Spans)
		}
	}
	return n
}
