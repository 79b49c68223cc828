package access

import (
	"context"
	"encoding/json"
	"fmt"
)

// apply updates a copy in memory from a record of a bucket; a nil value is a deletion. It runs at
// startup, after each own write, and for records that are journaled later.
type apply func(key string, value []byte) error

// applyDoc returns an apply that decodes documents and passes them to take, or deleted keys to
// drop. Errors call a document what.
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

// remove deletes a document and applies the deletion once it is durable.
func remove(ctx context.Context, store Store, bucket, key string, to apply) error {
	if err := store.Delete(ctx, bucket, key); err != nil {
		return err
	}
	return to(key, nil)
}
