package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/host/secrets"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/secret"
	"github.com/ahphub/ahphub/web"
)

// credentialName is the name of the systemd credential with the key of secrets.
const credentialName = "ahphub-secrets-key"

// secretsConfig configures the location of the key of secrets.
type secretsConfig struct {
	SecretsKeyFile string `name:"secrets-key-file" placeholder:"FILE" help:"File with the key that encrypts secrets. Default: the systemd credential ahphub-secrets-key, else secrets.key in the data directory."`
}

func (c secretsConfig) check(bad func(name string, value any, allowed string)) {
	if c.SecretsKeyFile == "" {
		return
	}
	err := web.CheckSecretFile(c.SecretsKeyFile)
	if err == nil {
		_, err = secret.ReadKeys(c.SecretsKeyFile)
	}
	if err != nil {
		bad("secrets-key-file", c.SecretsKeyFile, err.Error())
	}
}

// path returns the owner's key file; "" if the key is in the data directory.
func (c secretsConfig) path() string {
	if c.SecretsKeyFile != "" {
		return c.SecretsKeyFile
	}
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); filepath.IsAbs(dir) {
		path := filepath.Join(dir, credentialName)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// open reads the keys.
func (c secretsConfig) open(data string) (*secret.Keys, error) {
	path := c.path()
	if path == "" {
		return secret.OpenKeys(data)
	}
	return secret.ReadKeys(path)
}

// openKeys reads the keys of secrets; the store has locked the data directory.
func (a *app) openKeys() (err error) {
	if a.led != nil && a.led.keys != nil {
		a.keys = a.led.keys
		return nil
	}
	if a.keys, err = a.cfg.Secrets.open(a.cfg.Data); err != nil {
		return err
	}
	if a.secured != nil && a.secured.acme != nil {
		a.secured.acme.SealBy(acmeKeys{a.keys})
	}
	return nil
}

// sealers returns everything that stores sealed values.
func (a *app) sealers() []secret.Sealer {
	list := []secret.Sealer{a.notify, a.secrets}
	if a.secured != nil && a.secured.acme != nil {
		list = append(list, a.secured.acme)
	}
	if a.machines != nil {
		list = append(list, a.machines)
	}
	if a.led != nil {
		list = append(list, sharedSealer{a})
	}
	if a.authority != nil {
		list = append(list, a.authority)
	}
	return list
}

// secretsPage implements settings.Secrets.
type secretsPage struct {
	*secret.Store
	app *app
}

// Rotate implements settings.Secrets.
func (p secretsPage) Rotate(ctx context.Context) error {
	a := p.app
	ctx = context.WithoutCancel(ctx) // closing the page must not interrupt it
	if a.led == nil {
		return a.keys.Rotate(ctx, a.sealers()...)
	}
	done, err := a.keys.RotateShared(ctx, a.led.copies, a.sealers()...)
	if err != nil {
		a.log.Warn("the key of secrets was not rotated to the end", "err", err, "key", a.keys.ID())
		return err
	}
	a.log.Info("every secret is sealed with the new key", "count", done.Sealed, "key", a.keys.ID())
	if done.Spare > 0 {
		a.log.Info("the older keys can be removed from the file at every node", "file", a.keys.Source(), "key", a.keys.ID())
	}
	return nil
}

// Key implements settings.Secrets.
func (p secretsPage) Key() (id, source string, shared bool) {
	if p.app.keys.IsOwners() {
		source = p.app.keys.Source()
	}
	return p.app.keys.ID(), source, p.app.led != nil
}

// secretsOf returns the secrets of a session.
func (a *app) secretsOf(session ahp.URI, dirs []string) ([]secrets.Secret, error) {
	list, err := a.secrets.For(session, dirs)
	out := make([]secrets.Secret, len(list))
	for i, v := range list {
		out[i] = secrets.Secret{Name: v.Name, Value: v.Value, File: v.File}
	}
	return out, err
}

// Documents that record work to repeat after a crash.
const (
	stateBucket = "secret-state"
	compactKey  = "compact"
)

// sealAll seals values of earlier versions or older keys, and logs which cannot be opened. It never
// prevents a start.
func (a *app) sealAll(ctx context.Context) {
	plain, err := a.notify.HasPlain(ctx)
	if err == nil && plain {
		err = a.docs.Put(ctx, stateBucket, compactKey, []byte("1"))
	}
	if err != nil {
		a.log.Error("secrets cannot be checked", "err", err)
		return
	}
	done, err := a.keys.Finish(ctx, a.sealers()...)
	if err != nil {
		a.log.Error("not all secrets are sealed with the newest key. The next start tries again", "err", err)
		return
	}
	if done.Sealed > 0 {
		a.log.Info("secrets were sealed", "count", done.Sealed, "key", a.keys.ID())
	}
	switch {
	case done.Spare == 0:
	case a.led != nil && !a.keys.IsOwners():
		a.log.Warn("older keys of secrets are kept until ahphub secrets rotate ends at every node", "count", done.Spare)
	default:
		a.log.Info("every secret is sealed with the newest key: the other keys can be removed", "file", a.keys.Source(),
			"key", a.keys.ID())
	}
	if done.Locked > 0 {
		a.log.Error(fmt.Sprintf("%d secrets are locked: the key that they were sealed with is not in %s. Restore that key and "+
			"restart ahphub, or enter them again", done.Locked, a.keys.Source()))
	}
	if err := a.compact(ctx); err != nil {
		a.log.Error("old copies of secrets may be left in the database's free pages. The next start tries again", "err", err)
	}
}

// compact removes former plain-text values from the free pages of the database.
func (a *app) compact(ctx context.Context) error {
	_, found, err := a.docs.Get(ctx, stateBucket, compactKey)
	if err != nil || !found {
		return err
	}
	a.log.Info("compacting the database, so that no secret is left in its free pages")
	return errors.Join(a.store.Compact(ctx), a.docs.Delete(ctx, stateBucket, compactKey))
}

// acmeKeys seals ACME's files.
type acmeKeys struct{ keys *secret.Keys }

func acmeLabel(name string) secret.Label { return secret.Label{Kind: "acme", Name: name} }

// Seal implements web.CacheKeys.
func (k acmeKeys) Seal(name string, data []byte) []byte {
	return []byte(k.keys.Seal(acmeLabel(name), data))
}

// Open implements web.CacheKeys. Files of earlier versions are not sealed.
func (k acmeKeys) Open(name string, data []byte) ([]byte, error) {
	if !secret.IsSealed(string(data)) {
		return data, nil
	}
	return k.keys.Open(acmeLabel(name), string(data))
}

// Reseal implements web.CacheKeys.
func (k acmeKeys) Reseal(name string, data []byte) ([]byte, bool, error) {
	sealed, changed, err := k.keys.Reseal(acmeLabel(name), string(data))
	return []byte(sealed), changed, err
}

// IsLocked implements web.CacheKeys.
func (acmeKeys) IsLocked(err error) bool {
	return secret.IsLocked(err) || errors.Is(err, secret.ErrDamaged)
}
