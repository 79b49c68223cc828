package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/secret"
)

// secretsCommand manages the owner's secrets on a running server. Write access to the data
// directory proves the owner.
type secretsCommand struct {
	List   secretsListCommand   `cmd:"" help:"List the names of secrets and where they are available."`
	Set    secretsSetCommand    `cmd:"" help:"Create a secret, or replace its value, which is read from standard input."`
	Rm     secretsRmCommand     `cmd:"" help:"Remove a secret."`
	Rotate secretsRotateCommand `cmd:"" help:"Encrypt everything with a new key."`
}

// secretsServer selects the server.
type secretsServer struct {
	Data string `default:"${data}" placeholder:"DIR" help:"Data directory. Default: ${default}."`
}

type secretsListCommand struct {
	secretsServer `embed:""`
}

// Run lists secrets, one per line.
func (c secretsListCommand) Run(e *environment) error {
	s, err := c.enter(e.ctx)
	if err != nil {
		return err
	}
	defer s.leave(e.ctx)
	list, err := s.list(e.ctx)
	if err != nil {
		return err
	}
	for _, one := range list {
		line := one.Name
		if one.File {
			line += " (file)"
		}
		if one.Locked {
			line += " (locked)"
		}
		fmt.Fprintln(e.stdout, strings.Join(append([]string{line}, append(one.Sessions, one.Dirs...)...), "  "))
	}
	return nil
}

type secretsSetCommand struct {
	secretsServer `embed:""`

	Name string   `arg:"" help:"Name of the environment variable, as GITHUB_TOKEN."`
	File bool     `help:"Provide it as a file; the variable has its path."`
	Dir  []string `placeholder:"DIR" help:"Repositories whose sessions have it. A new secret without any is available nowhere."`
}

// Run reads the value from standard input, because all users of a machine can see arguments.
func (c secretsSetCommand) Run(e *environment) error {
	if err := secret.CheckName(c.Name); err != nil {
		return err
	}
	value, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<20))
	if err != nil {
		return err
	}
	text := string(value)
	if !c.File {
		text = strings.TrimRight(text, "\r\n")
	}
	if err := secret.CheckValue(text, c.File); err != nil {
		return err
	}
	for i, dir := range c.Dir {
		if c.Dir[i], err = filepath.Abs(dir); err != nil {
			return err
		}
	}
	s, err := c.enter(e.ctx)
	if err != nil {
		return err
	}
	defer s.leave(e.ctx)
	list, err := s.list(e.ctx)
	if err != nil {
		return err
	}
	form := url.Values{"name": {c.Name}, "secret": {text}, "dirs": {strings.Join(c.Dir, "\n")}}
	if c.File {
		form.Set("as", "file")
	}
	for _, one := range list {
		if one.Name == c.Name {
			form.Set("replace", "yes")
		}
	}
	if err := s.post(e.ctx, "/settings/secrets", form); err != nil || len(c.Dir) == 0 || !form.Has("replace") {
		return err
	}
	return s.addDirs(e.ctx, list, c.Name, c.Dir)
}

type secretsRmCommand struct {
	secretsServer `embed:""`

	Name string `arg:"" help:"Name of the secret."`
}

// Run removes a secret.
func (c secretsRmCommand) Run(e *environment) error {
	s, err := c.enter(e.ctx)
	if err != nil {
		return err
	}
	defer s.leave(e.ctx)
	return s.post(e.ctx, "/settings/secrets/"+url.PathEscape(c.Name)+"/remove", nil)
}

type secretsRotateCommand struct {
	secretsServer `embed:""`
}

// Run creates a new key.
func (c secretsRotateCommand) Run(e *environment) error {
	s, err := c.enter(e.ctx)
	if err != nil {
		return err
	}
	defer s.leave(e.ctx)
	return s.post(e.ctx, "/settings/secrets/rotate", nil)
}

// secretsClient is signed in to a server as its owner.
type secretsClient struct {
	at     addresses
	client *http.Client
}

// enter signs in as the owner, with a token created in the data directory.
func (c secretsServer) enter(ctx context.Context) (*secretsClient, error) {
	at, err := readAddresses(c.Data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no ahphub has served from %s yet. Start one with ahphub --data %[1]s", c.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the address in %s: %w", c.Data, err)
	}
	token, err := access.SignIn{Dir: signInDir(c.Data)}.New()
	if err != nil {
		return nil, fmt.Errorf("cannot create a token: %w", err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	s := &secretsClient{at, &http.Client{Jar: jar, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if err := s.post(ctx, "/signin", url.Values{"token": {token}}); err != nil {
		return nil, fmt.Errorf("cannot reach ahphub at %s: %w. Start it, or use its page Secrets", at.URL, err)
	}
	return s, nil
}

// leave signs out.
func (s *secretsClient) leave(ctx context.Context) { _ = s.post(ctx, "/signout", nil) } // the result is already known

var alerted = regexp.MustCompile(`(?s)role="alert">(.*?)<`)

// post sends a form. Its error has the page's message.
func (s *secretsClient) post(ctx context.Context, path string, form url.Values) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.at.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	switch said := alerted.FindSubmatch(body); {
	case err != nil || res.StatusCode < 400:
		return err
	case said != nil:
		return errors.New(html.UnescapeString(string(said[1])))
	case res.StatusCode == http.StatusNotFound:
		return secret.ErrNone
	}
	return fmt.Errorf("ahphub answered %s", res.Status)
}

// shownSecret is a secret in the server's list.
type shownSecret struct {
	Name           string
	File, Locked   bool
	Sessions, Dirs []string
}

func (s *secretsClient) list(ctx context.Context) (list []shownSecret, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at.URL+"/settings/secrets.json", nil)
	if err != nil {
		return nil, err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ahphub answered %s", res.Status)
	}
	return list, json.NewDecoder(io.LimitReader(res.Body, 16<<20)).Decode(&list)
}

// addDirs makes a secret available in more directories.
func (s *secretsClient) addDirs(ctx context.Context, list []shownSecret, name string, dirs []string) error {
	form := url.Values{}
	for _, one := range list {
		if one.Name == name {
			dirs = append(dirs, one.Dirs...)
			for _, session := range one.Sessions {
				form.Add("session", core.ShortID(session))
			}
		}
	}
	form.Set("dirs", strings.Join(dirs, "\n"))
	return s.post(ctx, "/settings/secrets/"+url.PathEscape(name)+"/grant", form)
}
