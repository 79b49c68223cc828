package store

import (
	"context"
	"maps"
	"slices"

	"github.com/ahphub/ahphub/hub"
)

// Documents reads documents from the store and writes them through the hub's journal, in order with
// the timeline. Each write returns once it is durable.
type Documents struct {
	store *Store
	hub   *hub.Hub
}

// Documents returns the documents of a store; h writes its journal.
func (s *Store) Documents(h *hub.Hub) *Documents { return &Documents{store: s, hub: h} }

// Put writes a document.
func (d *Documents) Put(ctx context.Context, bucket, key string, v []byte) error {
	if v == nil {
		v = []byte{} // nil deletes
	}
	return d.record(ctx, bucket, key, v)
}

// Delete removes a document; a missing one is not an error.
func (d *Documents) Delete(ctx context.Context, bucket, key string) error {
	return d.record(ctx, bucket, key, nil)
}

// PutAll writes documents of a bucket in one step; nil deletes.
func (d *Documents) PutAll(ctx context.Context, bucket string, values map[string][]byte) error {
	since := d.hub.Position()
	err := d.hub.Do(func(tx *hub.Tx) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			tx.Record(bucket, key, values[key])
		}
	})
	if err != nil {
		return err
	}
	return d.hub.Settle(ctx, since)
}

func (d *Documents) record(ctx context.Context, bucket, key string, v []byte) error {
	since := d.hub.Position()
	if err := d.hub.Do(func(tx *hub.Tx) { tx.Record(bucket, key, v) }); err != nil {
		return err
	}
	return d.hub.Settle(ctx, since)
}

// Get reads a document; the second result reports whether it exists.
func (d *Documents) Get(ctx context.Context, bucket, key string) ([]byte, bool, error) {
	return d.store.Get(ctx, bucket, key)
}

// Each calls visit with every document of a bucket, ordered by key, and stops at its first error.
// visit may write.
func (d *Documents) Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error {
	return d.store.Each(ctx, bucket, visit)
}
