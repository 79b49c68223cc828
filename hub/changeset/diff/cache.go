package diff

import (
	"context"

	"golang.org/x/sync/singleflight"

	"github.com/ahphub/ahphub/hub/recent"
)

// Key names a comparison by object names, independent of paths.
type Key struct {
	Old, New string
	Options
}

// Cache keeps the most recently used comparisons, up to 64 MiB. The zero value is empty.
type Cache struct {
	Syntax Store // keeps the syntax of files between runs of the program; nil: none

	kept  recent.Values[Key, *File]
	group singleflight.Group

	painter painter
}

// Compute returns the cached comparison, or loads both versions and compares them, once for all
// concurrent callers. The result is shared: do not write to it.
func (c *Cache) Compute(ctx context.Context, key Key, load func(context.Context) (old, new []byte,
	err error)) (*File, error) {
	return c.computeOnce(ctx, key, load, func(old, new []byte) *File {
		f := compute(old, new, key.Options, &syntax{store: c.Syntax})
		c.put(key, f)
		return f
	})
}

// computeOnce returns the cached comparison, or loads and compares both versions, once for all
// concurrent callers of the key.
func (c *Cache) computeOnce(ctx context.Context, key Key, load func(context.Context) (old, new []byte, err error),
	compare func(old, new []byte) *File) (*File, error) {
	if f := c.get(key); f != nil {
		return f, nil
	}
	flight := key.Old + "\x00" + key.New + "\x00" + key.Path + flags(key.Options)
	done := c.group.DoChan(flight, func() (any, error) {
		old, new, err := load(context.WithoutCancel(ctx)) // other callers wait for it too
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

// Has reports whether a comparison is cached, with or without colours.
func (c *Cache) Has(key Key) bool { return c.get(key) != nil || c.get(key.plain()) != nil }

func flags(o Options) string {
	s := []byte{0, '0' + byte(o.Space), '0'}
	if o.NoWords {
		s[2] = '1'
	}
	return string(s)
}

func (c *Cache) get(key Key) *File {
	f, _ := c.kept.Get(key)
	return f
}

func (c *Cache) put(key Key, f *File) { c.kept.Put(key, f, sizeOf(f)) }

// sizeOf estimates the memory of a comparison: 96 bytes per row, 48 per span, and both texts.
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
