package access

import (
	"context"
	"encoding/json"
	"fmt"
)

// eachDoc decodes the documents of a bucket and passes each to take. what and the key name the
// document in errors.
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

// addDoc writes a document under an unused key.
func addDoc(ctx context.Context, store Store, bucket, key string, doc any) error {
	b, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return store.Add(ctx, bucket, key, b)
}

// putDoc writes a document, replacing an earlier one.
func putDoc(ctx context.Context, store Store, bucket, key string, doc any) error {
	b, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return store.Put(ctx, bucket, key, b)
}
