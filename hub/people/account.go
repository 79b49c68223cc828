package people

import (
	"context"
	"time"
)

// Account is the account or guest that a cookie signs in.
type Account struct {
	ID   string `json:"id"`             // principal id: "owner", "person:…" or "guest:…"
	Name string `json:"name,omitempty"` // of a guest, as they entered it
	Link string `json:"link,omitempty"` // id of a guest's link; "" for accounts
}

// row is the server's record of a cookie, which is valid only while the row exists.
type row struct {
	Account
	Since time.Time `json:"since"`
	Agent string    `json:"agent,omitempty"` // User-Agent of the browser
	Seen  time.Time `json:"seen"`            // to the hour; sliding expiry counts from it
}

// Store keeps documents; each call returns once it is durable.
type Store interface {
	Put(ctx context.Context, bucket, key string, value []byte) error
	Get(ctx context.Context, bucket, key string) (value []byte, found bool, err error)
	Delete(ctx context.Context, bucket, key string) error
	Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error
}
