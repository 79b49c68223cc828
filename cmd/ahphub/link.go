package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ahphub/ahphub/hub/access"
)

type linkCommand struct {
	Data      string `default:"${data}" placeholder:"DIR" help:"Data directory. Default: ${default}."`
	PublicURL string `name:"public-url" placeholder:"URL" help:"Address to print, when it is not the one ahphub serves at."`
}

// Run prints an address that signs its visitor in as the owner, once. It needs no running server:
// write access to the data directory proves the owner.
func (c linkCommand) Run(e *environment) error {
	at, err := readAddresses(c.Data)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no ahphub has served from %s yet. Start one with ahphub --data %[1]s", c.Data)
	}
	if err != nil {
		return fmt.Errorf("cannot read the address in %s: %w", c.Data, err)
	}
	public, err := publicURL(c.PublicURL)
	if err != nil {
		return fmt.Errorf("--public-url is %q: %w", c.PublicURL, err)
	}
	if public != nil {
		at.URL = public.String()
	}
	token, err := access.SignIn{Dir: signInDir(c.Data)}.New()
	if err != nil {
		return fmt.Errorf("cannot create a token: %w", err)
	}
	printLine(e.stdout, "sign_in", at.signIn(token))
	return nil
}
