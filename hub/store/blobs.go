package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// PutBlob keeps content under its hash, once, and returns that: SHA-256 in
// lower-case hexadecimal.
func (s *Store) PutBlob(ctx context.Context, data []byte) (id string, err error) {
	if len(data) > s.cfg.BlobBytes {
		return "", fmt.Errorf("a blob of %d bytes is over the limit of %d", len(data), s.cfg.BlobBytes)
	}
	sum := sha256.Sum256(data)
	id, at := hex.EncodeToString(sum[:]), time.Now().UnixMicro()
	return id, s.do(ctx, func(c *conn) (error, error) {
		_, err := c.exec("INSERT INTO blobs (id, at, data) VALUES (?,?,?) ON CONFLICT DO NOTHING", id, at, notNil(data))
		return nil, err
	})
}

// Blob reads what PutBlob kept; ErrNotFound otherwise.
func (s *Store) Blob(ctx context.Context, id string) ([]byte, error) {
	var data []byte
	err := s.read.QueryRowContext(ctx, "SELECT data FROM blobs WHERE id=?", id).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("blob %s: %w", id, ErrNotFound)
	}
	return data, describe(err)
}
