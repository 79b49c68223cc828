package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/machine/join"
	"github.com/ahphub/ahphub/hub/machines"
)

// joinCommand makes this computer a machine of a hub.
type joinCommand struct {
	Hub     string   `arg:"" placeholder:"URL" help:"Address of the hub, as in https://hub.example.com."`
	Token   string   `env:"AHPHUB_JOIN_TOKEN" placeholder:"TOKEN" help:"Token from the hub's Machines page. It is needed once."`
	Name    string   `placeholder:"NAME" help:"Name of this machine. Default: its host name."`
	Dir     []string `placeholder:"DIR" help:"Directory in which sessions may work, with those below; repeat it for more. Default: where ahphub was started."`
	Data    string   `default:"${data}" placeholder:"DIR" help:"Data directory. Default: ${default}."`
	Systemd bool     `help:"Print a systemd user unit that keeps this machine connected, and do nothing else."`
}

// Run joins with a token, or comes back with the identity that joining left, and stays connected.
func (c joinCommand) Run(e *environment) error {
	hub, err := url.Parse(strings.TrimSuffix(c.Hub, "/"))
	if err == nil {
		err = join.CheckURL(hub)
	}
	if err != nil {
		return err
	}
	dirs, err := c.dirs()
	if err != nil {
		return err
	}
	if c.Systemd {
		return printUnit(e.stdout, hub, dirs)
	}
	request, path, err := c.request(hub)
	if err != nil {
		return err
	}
	request.Report = machines.Report{Version: versionName(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Cores: runtime.NumCPU(), Memory: systemMemory("/proc/meminfo"), Dirs: dirs,
		Agents: slices.Sorted(maps.Keys(programs(nil, nil)))}
	m := &joined{request: request, path: path, stdout: e.stdout, stderr: e.stderr}
	return m.keep(e.ctx)
}

// dirs returns the directories in which sessions may work, each absolute and there.
func (c joinCommand) dirs() (list []string, err error) {
	for _, dir := range c.Dir {
		abs, err := filepath.Abs(dir)
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		if err == nil {
			var info fs.FileInfo
			if info, err = os.Stat(abs); err == nil && !info.IsDir() {
				err = errors.New("not a directory")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("--dir is %q: %w", dir, err)
		}
		list = append(list, abs)
	}
	if len(list) == 0 {
		here, err := os.Getwd()
		return []string{here}, err
	}
	return list, nil
}

// request is what this machine connects with: its identity, or a token and a new key.
func (c joinCommand) request(hub *url.URL) (join.Request, string, error) {
	path := join.IdentityFile(filepath.Join(c.Data, "machine"), hub)
	id, err := join.ReadIdentity(path)
	pending := err == nil && id.ID == "" // it began to join, and did not hear the hub's answer
	switch {
	case err == nil && c.Token != "" && !pending:
		return join.Request{}, "", fmt.Errorf("this computer has joined %s already, as %s. Leave out --token; to join again, "+
			"revoke the machine on the Machines page and delete %s", id.Hub, id.Name, path)
	case err == nil && c.Token == "":
		return join.Request{Hub: hub, Key: id.Key(), HubKey: id.HubKey}, path, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return join.Request{}, "", err
	case c.Token == "":
		return join.Request{}, "", fmt.Errorf("this computer has not joined %s yet. Create a token on the Machines page "+
			"of the hub, and add --token", hub)
	}
	invite, err := machines.ParseInvite(c.Token)
	if err != nil {
		return join.Request{}, "", err
	}
	request := join.Request{Hub: hub, HubKey: invite.Hub, Invite: &invite, Name: cmp.Or(c.Name, hostName())}
	if pending {
		request.Key = id.Key()
	} else if _, request.Key, err = ed25519.GenerateKey(nil); err != nil {
		return join.Request{}, "", err
	}
	return request, path, machines.CheckName(request.Name)
}

var notInName = regexp.MustCompile(`[^a-z0-9-]+`)

// hostName returns this computer's name, as far as it can name a machine.
func hostName() string {
	name, _ := os.Hostname()
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	name = strings.Trim(notInName.ReplaceAllString(name, "-"), "-")
	return name[:min(len(name), 40)]
}

// joined is this machine while it is connected.
type joined struct {
	request        join.Request
	path           string // of its identity
	stdout, stderr io.Writer
}

// keep joins, unless that was done before, and stays connected.
func (m *joined) keep(ctx context.Context) error {
	if m.request.Invite != nil {
		if err := m.prepare(); err != nil {
			return err
		}
	}
	return join.Keep(ctx, m.request, m.serve, func(err error, next time.Duration) {
		fmt.Fprintf(m.stderr, "ahphub: %s. Next attempt in %s\n", printable(err.Error()), next.Round(time.Second))
	})
}

// prepare writes the identity before the token is used, so that no crash leaves the hub with a machine that has lost
// its key.
func (m *joined) prepare() error {
	if err := os.MkdirAll(filepath.Dir(m.path), 0o700); err != nil {
		return err
	}
	return m.write(join.Welcome{})
}

func (m *joined) write(w join.Welcome) error {
	b, err := json.MarshalIndent(join.Identity{Hub: m.request.Hub.String(), HubKey: m.request.HubKey,
		Seed: m.request.Key.Seed(), ID: w.ID, Name: w.Name}, "", "  ")
	if err != nil {
		return err
	}
	return access.WriteSecret(m.path, append(b, '\n'))
}

// serve keeps one connection until it ends.
func (m *joined) serve(_ context.Context, conn net.Conn, w join.Welcome) error {
	if err := m.write(w); err != nil {
		return fmt.Errorf("the identity cannot be kept: %w", err)
	}
	printLine(m.stdout, "machine", printable(w.Name))
	printLine(m.stdout, "hub", m.request.Hub.String())
	for _, dir := range m.request.Report.Dirs {
		printLine(m.stdout, "dir", dir)
	}
	_, err := io.Copy(io.Discard, conn)
	return err
}

// printable returns a text of the hub without what a terminal would obey.
func printable(text string) string {
	clean, err := access.CleanName(text)
	if err != nil {
		return ""
	}
	return clean
}

// printUnit prints a systemd user unit that keeps this machine connected.
func printUnit(w io.Writer, hub *url.URL, dirs []string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{quoteUnit(program), "join", quoteUnit(hub.String())}
	for _, dir := range dirs {
		args = append(args, "--dir", quoteUnit(dir))
	}
	_, err = fmt.Fprintf(w, `# Join once with --token, then save this as ~/.config/systemd/user/ahphub-machine.service and run
#   systemctl --user enable --now ahphub-machine
#   loginctl enable-linger
[Unit]
Description=ahphub machine
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=%s
Restart=on-failure
RestartSec=10
Delegate=yes

[Install]
WantedBy=default.target
`, strings.Join(args, " "))
	return err
}

// quoteUnit quotes a word of a command in a unit.
func quoteUnit(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`).Replace(word) + `"`
}
