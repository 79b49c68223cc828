// Package recent caches values in memory up to a number of bytes. It evicts the least recently used
// first.
package recent

import (
	"cmp"
	"container/list"
	"sync"
)

// Values caches values by key. Set Bytes before the first use. All methods may be called from any
// goroutine.
type Values[K comparable, V any] struct {
	Bytes int // of all values together; 0: 64 MiB

	mu     sync.Mutex
	used   int
	byKey  map[K]*list.Element
	recent list.List // most recently used first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int
}

// Get returns the value of a key.
func (v *Values[K, V]) Get(key K) (value V, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.byKey[key]
	if e == nil {
		return value, false
	}
	v.recent.MoveToFront(e)
	return e.Value.(entry[K, V]).value, true
}

// Put stores a value and its size in bytes, unless the key has one, or the value takes more than a
// quarter of Bytes.
func (v *Values[K, V]) Put(key K, value V, size int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	limit := cmp.Or(v.Bytes, 64<<20)
	if size > limit/4 || v.byKey[key] != nil {
		return
	}
	if v.byKey == nil {
		v.byKey = map[K]*list.Element{}
	}
	v.byKey[key] = v.recent.PushFront(entry[K, V]{key, value, size})
	for v.used += size; v.used > limit; {
		v.remove(v.recent.Back())
	}
}

// Drop removes the value of a key, if there is one.
func (v *Values[K, V]) Drop(key K) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e := v.byKey[key]; e != nil {
		v.remove(e)
	}
}

// Used returns the number of bytes and of values.
func (v *Values[K, V]) Used() (bytes, values int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.used, len(v.byKey)
}

// remove drops an element; mu is held.
func (v *Values[K, V]) remove(e *list.Element) {
	old := v.recent.Remove(e).(entry[K, V])
	delete(v.byKey, old.key)
	v.used -= old.size
}
