package web

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/crypto/acme/autocert"
)

// CacheKeys seal the files in which ACME keeps its account and its certificates with their keys.
type CacheKeys interface {
	Seal(name string, data []byte) []byte
	// Open decrypts the result of Seal, and returns unsealed data unchanged.
	Open(name string, data []byte) ([]byte, error)
	// Reseal seals with the newest key; changed is false if it was the newest already.
	Reseal(name string, data []byte) (sealed []byte, changed bool, err error)
	// IsLocked reports whether err means that the key is missing.
	IsLocked(err error) bool
}

// ErrNotKept is the error of CacheFiles for a missing file.
var ErrNotKept = autocert.ErrCacheMiss

// CacheFiles stores the files of ACME, by name.
type CacheFiles interface {
	Get(ctx context.Context, name string) ([]byte, error)
	Put(ctx context.Context, name string, data []byte) error
	Delete(ctx context.Context, name string) error // no error if it does not exist
	Names(ctx context.Context) ([]string, error)
}

// dirFiles are files of a directory.
type dirFiles struct{ autocert.DirCache }

// Names implements CacheFiles.
func (d dirFiles) Names(context.Context) (names []string, err error) {
	entries, err := os.ReadDir(string(d.DirCache))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// sealedCache stores files, sealed.
type sealedCache struct {
	files CacheFiles
	keys  CacheKeys // nil until SealBy: files are not sealed
}

// Get implements autocert.Cache. A file whose key is missing counts as missing, so that it is requested again.
func (c *sealedCache) Get(ctx context.Context, name string) ([]byte, error) {
	data, err := c.files.Get(ctx, name)
	if err != nil || c.keys == nil {
		return data, err
	}
	plain, err := c.keys.Open(name, data)
	if err != nil && c.keys.IsLocked(err) {
		return nil, ErrNotKept
	}
	return plain, err
}

// Put implements autocert.Cache.
func (c *sealedCache) Put(ctx context.Context, name string, data []byte) error {
	if c.keys != nil {
		data = c.keys.Seal(name, data)
	}
	return c.files.Put(ctx, name, data)
}

// Delete implements autocert.Cache.
func (c *sealedCache) Delete(ctx context.Context, name string) error {
	return c.files.Delete(ctx, name)
}

// SealBy makes ACME seal its files. Call it before the server serves.
func (a *ACME) SealBy(keys CacheKeys) { a.cache.keys = keys }

// Reseal seals all files with the newest key, including those that an earlier version wrote in plain text.
func (a *ACME) Reseal(ctx context.Context) (changed, locked int, err error) {
	names, err := a.cache.files.Names(ctx)
	for _, name := range names {
		data, read := a.cache.files.Get(ctx, name)
		if read != nil {
			err = errors.Join(err, read)
			continue
		}
		sealed, news, failed := a.cache.keys.Reseal(name, data)
		switch {
		case failed != nil && a.cache.keys.IsLocked(failed):
			locked++
		case failed != nil:
			err = errors.Join(err, failed)
		case news:
			err = errors.Join(err, a.cache.files.Put(ctx, name, sealed))
			changed++
		}
	}
	return changed, locked, err
}
