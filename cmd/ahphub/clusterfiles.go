package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/secret"
)

const sharedBucket = "cluster-file"

// sharedFiles are the secrets in a data directory that all nodes share. The log has them encrypted,
// and each leader has them as files.
var sharedFiles = []string{"token", "cookie.key"}

func sharedLabel(name string) secret.Label { return secret.Label{Kind: "cluster-file", Name: name} }

// shareFiles updates this node's files from the log, and adds files to the log that it lacks.
func (a *app) shareFiles(ctx context.Context) error {
	if a.led == nil {
		return nil
	}
	for _, name := range sharedFiles {
		if err := a.shareFile(ctx, name); err != nil {
			return fmt.Errorf("the secret %s of the cluster: %w", name, err)
		}
	}
	return nil
}

func (a *app) shareFile(ctx context.Context, name string) error {
	path := filepath.Join(a.cfg.Data, name)
	have, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sealed, found, err := a.docs.Get(ctx, sharedBucket, name)
	if err != nil {
		return err
	}
	if !found {
		if have == nil {
			return nil // created later during the start
		}
		return a.docs.Put(ctx, sharedBucket, name, []byte(a.keys.Seal(sharedLabel(name), have)))
	}
	want, err := a.keys.Open(sharedLabel(name), string(sealed))
	if err != nil || bytes.Equal(have, want) {
		return err
	}
	return access.WriteSecret(path, want)
}

// sharedSealer encrypts the shared files with the newest key.
type sharedSealer struct{ app *app }

// Reseal implements secret.Sealer.
func (s sharedSealer) Reseal(ctx context.Context) (changed, locked int, err error) {
	err = s.app.docs.Each(ctx, sharedBucket, func(name string, value []byte) error {
		sealed, news, err := s.app.keys.Reseal(sharedLabel(name), string(value))
		switch {
		case secret.IsLocked(err):
			locked++
			return nil
		case err != nil || !news:
			return err
		}
		changed++
		return s.app.docs.Put(ctx, sharedBucket, name, []byte(sealed))
	})
	return changed, locked, err
}
