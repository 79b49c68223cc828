package clustertest

import (
	"context"
	"encoding/base64"
	"sync"
)

// Documents stores documents in memory, for all nodes of a test. The zero value is empty.
type Documents struct {
	mu  sync.Mutex
	all map[string]map[string][]byte
}

// Put stores a document.
func (d *Documents) Put(_ context.Context, bucket, key string, value []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[string]map[string][]byte{}
	}
	if d.all[bucket] == nil {
		d.all[bucket] = map[string][]byte{}
	}
	d.all[bucket][key] = value
	return nil
}

// Delete deletes a document.
func (d *Documents) Delete(_ context.Context, bucket, key string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all[bucket], key)
	return nil
}

// Each visits the documents of a bucket.
func (d *Documents) Each(_ context.Context, bucket string, visit func(key string, value []byte) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, v := range d.all[bucket] {
		if err := visit(k, v); err != nil {
			return err
		}
	}
	return nil
}

// Sealing encrypts nothing: it is for tests that are not about encryption.
type Sealing struct{}

// Seal encodes a value.
func (Sealing) Seal(value []byte) string { return base64.StdEncoding.EncodeToString(value) }

// Open decodes a value.
func (Sealing) Open(sealed string) ([]byte, error) { return base64.StdEncoding.DecodeString(sealed) }

// Reseal changes nothing.
func (Sealing) Reseal(sealed string) (again string, changed bool, err error) {
	return sealed, false, nil
}
