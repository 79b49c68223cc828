package access

import (
	"context"
	"encoding/json"
	"fmt"
)

// eachDoc reads the documents of a bucket; an error calls one what, and by its key.
func eachDoc[D any](ctx context.Context, store Store, bucket, what string, take func(D)) error {
	return store.Each(ctx, bucket, func(key string, b []byte) error {
		var doc D
		if err := json.Unmarshal(b, &doc); err != nil {
			return fmt.Errorf("%s %s cannot be read: %w", what, key, err)
		}
		take(doc)
		return nil
	})
}

// addDoc writes a document under a key that nothing has yet.
func addDoc(ctx context.Context, store Store, bucket, key string, doc any) error {
	b, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return store.Add(ctx, bucket, key, b)
}

// putDoc writes a document in the place of an earlier one.
func putDoc(ctx context.Context, store Store, bucket, key string, doc any) error {
	b, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return store.Put(ctx, bucket, key, b)
}
