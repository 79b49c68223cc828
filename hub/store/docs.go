package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/ahphub/ahphub/hub"
)

// Doc is a document, such as a link, an account, a cookie, a draft or a mark.
type Doc struct {
	Key   string
	Value []byte
	At    time.Time // of the last write
}

// Get reads a document; the second result reports whether it exists.
func (s *Store) Get(ctx context.Context, bucket, key string) ([]byte, bool, error) {
	var v []byte
	err := s.read.QueryRowContext(ctx, "SELECT value FROM docs WHERE bucket=? AND key=?", bucket, key).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	return v, err == nil, describe(err)
}

// List reads the documents of a bucket whose keys begin with prefix, ordered by key.
func (s *Store) List(ctx context.Context, bucket, prefix string) ([]Doc, error) {
	rows, err := s.read.QueryContext(ctx,
		"SELECT key, at, value FROM docs WHERE bucket=? AND key>=? AND substr(key,1,length(?))=? ORDER BY key",
		bucket, prefix, prefix, prefix)
	if err != nil {
		return nil, describe(err)
	}
	var docs []Doc
	err = scan(rows, func() error {
		var d Doc
		var at int64
		err := rows.Scan(&d.Key, &at, &d.Value)
		d.At = time.UnixMicro(at)
		docs = append(docs, d)
		return err
	})
	return docs, describe(err)
}

// Each calls visit with every document of a bucket, ordered by key, and stops at its first error.
// visit may write.
func (s *Store) Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error {
	docs, err := s.List(ctx, bucket, "")
	for _, d := range docs {
		if err == nil {
			err = visit(d.Key, d.Value)
		}
	}
	return err
}

// Records reads a bucket that the host writes in order with the timeline.
func (s *Store) Records(ctx context.Context, bucket string) ([]hub.Record, error) {
	docs, err := s.List(ctx, bucket, "")
	records := make([]hub.Record, len(docs))
	for i, d := range docs {
		records[i] = hub.Record{Bucket: bucket, Key: d.Key, Value: d.Value}
	}
	return records, err
}
