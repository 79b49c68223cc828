package people

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
)

const (
	passwordBucket = "password"
	minPassword    = 10  // characters
	maxPassword    = 200 // bytes
	hashesAtOnce   = 2   // each temporarily takes 64 MiB
)

// ErrWrongPassword refuses a password, also if none is set.
var ErrWrongPassword = errors.New("incorrect password")

// Passwords stores accounts' passwords as argon2id hashes.
type Passwords struct {
	Store  Store
	Params *argon2id.Params // default argon2id.DefaultParams: 64 MiB

	once sync.Once
	busy chan struct{}
}

// Set replaces an account's password; "" removes it.
func (p *Passwords) Set(ctx context.Context, account, password string) error {
	if password == "" {
		return p.Store.Delete(ctx, passwordBucket, account)
	}
	if err := CheckPassword(password); err != nil {
		return err
	}
	done, err := p.enter(ctx)
	if err != nil {
		return err
	}
	defer done()
	hash, err := argon2id.CreateHash(password, p.params())
	if err != nil {
		return err
	}
	return p.Store.Put(ctx, passwordBucket, account, []byte(hash))
}

// CheckPassword reports whether a password can be set.
func CheckPassword(password string) error {
	switch {
	case utf8.RuneCountInString(password) < minPassword:
		return fmt.Errorf("a password needs at least %d characters. Try a few words", minPassword)
	case len(password) > maxPassword:
		return fmt.Errorf("a password can have at most %d bytes", maxPassword)
	}
	return nil
}

// Has reports whether an account has a password.
func (p *Passwords) Has(ctx context.Context, account string) (bool, error) {
	_, found, err := p.Store.Get(ctx, passwordBucket, account)
	return found, err
}

// Check returns nil for the account's password and ErrWrongPassword for any other. It is slow on
// purpose; callers rate-limit it.
func (p *Passwords) Check(ctx context.Context, account, password string) error {
	hash, found, err := p.Store.Get(ctx, passwordBucket, account)
	if err != nil {
		return err
	}
	if password == "" || len(password) > maxPassword {
		return ErrWrongPassword
	}
	done, err := p.enter(ctx)
	if err != nil {
		return err
	}
	defer done()
	if !found { // takes as long as with a password, to reveal nothing by timing
		_, err := argon2id.CreateHash(password, p.params())
		return errors.Join(ErrWrongPassword, err)
	}
	ok, err := argon2id.ComparePasswordAndHash(password, string(hash))
	if err == nil && !ok {
		return ErrWrongPassword
	}
	return err
}

func (p *Passwords) params() *argon2id.Params {
	if p.Params == nil {
		return argon2id.DefaultParams
	}
	return p.Params
}

// enter waits for one of few slots, so that concurrent guesses take no more memory.
func (p *Passwords) enter(ctx context.Context) (leave func(), err error) {
	p.once.Do(func() { p.busy = make(chan struct{}, hashesAtOnce) })
	select {
	case p.busy <- struct{}{}:
		return func() { <-p.busy }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
