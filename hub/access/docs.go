package access

import (
	"context"
	"encoding/json"
	"fmt"
)

// apply brings a copy in memory up to date with a record of a bucket; a nil value was deleted. It is the same
// function at the start, for each record that is kept, and for each one that is journaled later.
type apply func(key string, value []byte) error

// applyDoc returns an apply that decodes documents; an error calls one what, and by its key. drop takes a deleted one
// away.
func applyDoc[D any](what string, take func(D), drop func(key string)) apply {
	return func(key string, value []byte) error {
		if value == nil {
			drop(key)
			return nil
		}
		var doc D
		if err := json.Unmarshal(value, &doc); err != nil {
			return fmt.Errorf("%s %s cannot be read: %w", what, key, err)
		}
		take(doc)
		return nil
	}
}

// keep writes a document and applies it once it is durable.
func keep(ctx context.Context, store Store, bucket, key string, doc any, to apply) error {
	b, err := json.Marshal(doc)
	if err == nil {
		err = store.Put(ctx, bucket, key, b)
	}
	if err != nil {
		return err
	}
	return to(key, b)
}

// remove deletes a document and applies that once it is durable.
func remove(ctx context.Context, store Store, bucket, key string, to apply) error {
	if err := store.Delete(ctx, bucket, key); err != nil {
		return err
	}
	return to(key, nil)
}
