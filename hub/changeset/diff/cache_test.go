package diff

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

func TestCacheComputesOnceForAll(t *testing.T) {
	var c Cache
	var loads atomic.Int32
	release := make(chan struct{})
	load := func(context.Context) ([]byte, []byte, error) {
		loads.Add(1)
		<-release
		return []byte("a\n"), []byte("b\n"), nil
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			f, err := c.Compute(t.Context(), Key{Old: "1", New: "2"}, load)
			if err != nil || f.Additions != 1 {
				t.Errorf("got %v, %v", f, err)
			}
		})
	}
	close(release)
	wg.Wait()
	if _, err := c.Compute(t.Context(), Key{Old: "1", New: "2"}, nil); err != nil {
		t.Error("a comparison that was made is made again")
	}
}

func TestCacheKeepsOptionsApart(t *testing.T) {
	var c Cache
	load := func(context.Context) ([]byte, []byte, error) { return []byte("a\n"), []byte(" a\n"), nil }
	plain, _ := c.Compute(t.Context(), Key{Old: "1", New: "2"}, load)
	loose, _ := c.Compute(t.Context(), Key{Old: "1", New: "2", Options: Options{Space: SpaceNone}}, load)
	if plain.Additions != 1 || loose.Additions != 0 {
		t.Errorf("got +%d and +%d, want +1 and +0", plain.Additions, loose.Additions)
	}
}

func TestCacheIsBounded(t *testing.T) {
	var c Cache
	c.kept.Bytes = 16 << 10
	load := func(context.Context) ([]byte, []byte, error) { return nil, []byte(lines(20)), nil }
	for i := range 100 {
		if _, err := c.Compute(t.Context(), Key{New: strconv.Itoa(i)}, load); err != nil {
			t.Fatal(err)
		}
	}
	if used, n := c.kept.Used(); used > c.kept.Bytes || n == 0 {
		t.Errorf("%d bytes in %d entries", used, n)
	}
	if c.get(Key{New: "99"}) == nil || c.get(Key{New: "0"}) != nil {
		t.Error("not the least recently used are thrown out")
	}
}

func TestCacheDoesNotKeepFailures(t *testing.T) {
	var c Cache
	bad := errors.New("gone")
	if _, err := c.Compute(t.Context(), Key{New: "1"}, func(context.Context) ([]byte, []byte, error) {
		return nil, nil,
			bad
	}); !errors.Is(err, bad) {
		t.Fatal(err)
	}
	f, err := c.Compute(t.Context(), Key{New: "1"}, func(context.Context) ([]byte, []byte, error) {
		return nil,
			[]byte("a\n"), nil
	})
	if err != nil || f.Additions != 1 {
		t.Errorf("got %v, %v", f, err)
	}
}
