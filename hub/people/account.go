package people

import (
	"context"
	"time"
)

// Account is whom a cookie stands for.
type Account struct {
	ID   string `json:"id"`             // principal id: "owner" or "guest:…"
	Name string `json:"name,omitempty"` // a guest's, as they gave it
	Link string `json:"link,omitempty"` // id of the link a guest came by; "" for the owner
}

// row is the server's side of a cookie: it counts only while the row is there.
type row struct {
	Account
	Since time.Time `json:"since"`
	Agent string    `json:"agent,omitempty"` // what the browser calls itself
	Seen  time.Time `json:"seen"`            // to the hour; what sliding expiry counts from
}

// Store keeps documents; each call returns once it is durable.
type Store interface {
	Put(ctx context.Context, bucket, key string, value []byte) error
	Get(ctx context.Context, bucket, key string) (value []byte, found bool, err error)
	Delete(ctx context.Context, bucket, key string) error
	Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error
}
