package main

import (
	"context"

	"github.com/ahphub/ahphub/hub/store"
)

// documents is the store as the rooms with documents of their own see it.
type documents struct{ *store.Store }

// Each visits the documents of a bucket in the order of their keys.
func (d documents) Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error {
	docs, err := d.List(ctx, bucket, "")
	if err != nil {
		return err
	}
	for _, doc := range docs {
		if err := visit(doc.Key, doc.Value); err != nil {
			return err
		}
	}
	return nil
}
