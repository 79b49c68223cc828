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
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine/door"
	"github.com/ahphub/ahphub/hub/machine/fence"
	"github.com/ahphub/ahphub/hub/machine/fleet"
	"github.com/ahphub/ahphub/hub/machine/join"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/remote"
	"github.com/ahphub/ahphub/hub/machine/survey"
	"github.com/ahphub/ahphub/hub/machines"
	"github.com/ahphub/ahphub/hub/mcp"
	"github.com/ahphub/ahphub/hub/mcp/dial"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// joinCommand makes this computer a machine of a hub.
type joinCommand struct {
	Hub     string   `arg:"" placeholder:"URL" help:"Address of the hub, as in https://hub.example.com."`
	Token   string   `env:"AHPHUB_JOIN_TOKEN" placeholder:"TOKEN" help:"Token from the hub's Machines page. It is needed once."`
	Name    string   `placeholder:"NAME" help:"Name of this machine. Default: its host name."`
	Dir     []string `placeholder:"DIR" help:"Directory in which sessions may work, with those below; repeat it for more. Default: where ahphub was started."`
	Data    string   `default:"${data}" placeholder:"DIR" help:"Data directory. Default: ${default}."`
	Systemd bool     `help:"Print a systemd user unit that keeps this machine connected, and do nothing else."`

	Sandbox sandboxConfig `embed:""`
}

// Run joins with a token, or reconnects with the identity from joining, and stays connected.
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
	if err := c.Sandbox.validate(); err != nil {
		return err
	}
	if c.Systemd {
		return printUnit(e.stdout, hub, dirs, c.Sandbox.arguments())
	}
	request, path, err := c.request(hub)
	if err != nil {
		return err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	m := &joined{request: request, path: path, stdout: e.stdout, stderr: e.stderr, data: c.Data, dirs: dirs,
		home: home, programs: machinePrograms(), find: machinePrograms, sandbox: c.Sandbox}
	defer m.close()
	return m.keep(e.ctx)
}

// machinePrograms returns the agents of this computer, with texts that refer to a machine instead
// of the server.
func machinePrograms() map[string]acp.Program {
	all := programs(nil, nil)
	for name, p := range all {
		p.Login = strings.Replace(p.Login, " on the server", " on the machine", 1)
		all[name] = p
	}
	return all
}

// dirs returns the directories in which sessions may work, absolute and checked.
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

// request returns the credentials for connecting: this machine's identity, or a token and a new
// key.
func (c joinCommand) request(hub *url.URL) (join.Request, string, error) {
	path := join.IdentityFile(filepath.Join(c.Data, "machine"), hub)
	id, err := join.ReadIdentity(path)
	pending := err == nil && id.ID == "" // joining started, but the hub's answer was lost
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

// hostName returns this computer's name as a valid machine name.
func hostName() string {
	name, _ := os.Hostname()
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	name = strings.Trim(notInName.ReplaceAllString(name, "-"), "-")
	return name[:min(len(name), 40)]
}

// joined is this machine's state while it is connected.
type joined struct {
	request        join.Request
	path           string // of its identity
	stdout, stderr io.Writer

	data     string
	home     string   // where agents keep their logins
	dirs     []string // directories in which sessions may work
	programs map[string]acp.Program
	find     func() map[string]acp.Program // finds more programs; nil: there are none
	sandbox  sandboxConfig
	log      *slog.Logger
	guard    *guard.Guard // restricts what the hub opens
	private  *guard.Guard // guards only the data directory
	boxed    *boxed       // nil: no sandboxes
	door     *door.Door   // gives agents access to the hub's tools
	survey   *survey.Survey
	library  *task          // follows customizations; nil before the first connection
	server   *remote.Server // nil before the first connection
}

// keep joins if necessary, and stays connected.
func (m *joined) keep(ctx context.Context) error {
	if m.request.Invite != nil {
		if err := m.prepare(); err != nil {
			return err
		}
	}
	m.log = slog.New(slog.NewTextHandler(m.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := m.openBoxes(); err != nil {
		return err
	}
	m.survey = survey.New(survey.Config{Version: versionName(), Dirs: m.dirs, Sandbox: string(m.isolation()),
		Programs: m.programs, Find: m.find, Home: m.home})
	m.request.Report = m.survey.Report()
	var surveying sync.WaitGroup
	defer surveying.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	surveying.Go(func() { m.survey.Run(ctx) })
	return join.Keep(ctx, m.request, m.serve, func(err error, next time.Duration) {
		fmt.Fprintf(m.stderr, "ahphub: %s. Next attempt in %s\n", printable(err.Error()), next.Round(time.Second))
	})
}

// prepare writes the identity before the token is used, so that after a crash the hub never has a
// machine that lost its key.
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

// serve serves one connection until it ends.
func (m *joined) serve(ctx context.Context, conn net.Conn, w join.Welcome) error {
	if err := m.write(w); err != nil {
		return fmt.Errorf("the identity cannot be kept: %w", err)
	}
	printLine(m.stdout, "machine", printable(w.Name))
	printLine(m.stdout, "hub", m.request.Hub.String())
	if w.Version != "" && w.Version != versionName() {
		fmt.Fprintf(m.stderr, "ahphub: the hub runs ahphub %s, and this machine %s. Update the older one\n", printable(w.Version),
			versionName())
	}
	for _, dir := range m.dirs {
		printLine(m.stdout, "dir", dir)
	}
	printLine(m.stdout, "sandbox", string(m.isolation()))
	if m.server == nil {
		if err := m.open(w.Name); err != nil {
			return err
		}
		m.warn()
	}
	m.guard.Rename(w.Name)
	link := &endingConn{Conn: conn}
	err := m.server.Serve(ctx, link)
	if refused := link.refusal(); refused != nil {
		return refused
	}
	return err
}

// openBoxes creates this computer's sandboxes, if configured, and their access to the hub's tools.
func (m *joined) openBoxes() (err error) {
	if m.private, err = guard.New(m.data); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	m.door, err = door.Open(door.Config{Log: m.log, Reach: func(base, token string) agent.MCPServer {
		return mcp.Reach(base, program)(token)[0]
	}})
	if err != nil {
		return err
	}
	at := sandbox.Relay{Port: m.door.Port(), To: net.JoinHostPort("127.0.0.1", strconv.Itoa(m.door.Port()))}
	m.boxed, err = m.sandbox.open(boxSetup{data: m.data, programs: m.programs, guard: m.private, log: m.log,
		relays: []sandbox.Relay{at}, isHub: func(netip.AddrPort) bool { return false }})
	return err
}

// isolation returns the isolation mode of sessions on this computer.
func (m *joined) isolation() sandbox.Mode {
	if m.boxed == nil || !m.boxed.rules.Works() {
		return sandbox.None
	}
	return m.boxed.rules.Boxed
}

// warn reports what the sandboxes of this computer do not protect.
func (m *joined) warn() {
	why := ""
	if m.boxed != nil && m.boxed.rules.Why != "" {
		why = " (" + m.boxed.rules.Why + ")"
	}
	switch m.isolation() {
	case sandbox.None:
		fmt.Fprintf(m.stderr, "ahphub: sessions are not sandboxed on this machine%s: --dir does not bound what their shells "+
			"and agents do\n", why)
	case sandbox.Landlock:
		fmt.Fprintf(m.stderr, "ahphub: sessions are kept by Landlock alone on this machine%s: their programs see and reach "+
			"your other programs\n", why)
	}
}

// open creates what serves this computer to the hub across connections.
func (m *joined) open(name string) (err error) {
	if m.guard, err = guard.New(m.data); err != nil {
		return err
	}
	m.guard.StayWithin(name, m.dirs)
	var starter local.Programs
	fenced := fence.Config{Guard: m.guard, Dirs: m.dirs, Data: filepath.Join(m.data, "machine", "agents")}
	agents := &machineAgents{programs: m.survey.Programs, data: m.data}
	if m.boxed != nil {
		starter.Boxes, fenced.Rules, fenced.Read = m.boxed.boxes, m.boxed.rules, agents.places
	}
	agents.backend = acp.Backend{Start: starter.Start, Guard: m.guard}
	library := custom.NewLibrary(custom.Limits{}, m.log)
	m.library = start(context.Background(), library.Run)
	computer := fence.New(local.New(local.WithPrograms(starter), local.WithLiveAgents(agents.list),
		local.WithData(local.Data{Dir: m.data, Guard: m.guard}),
		local.WithCustoms(library, dial.Dialer{Version: versionName()})), fenced)
	m.server = remote.NewServer(computer, remote.Config{KeepAlive: fleet.KeepAlive, Log: m.log,
		Reporter: m.survey, Door: m.door})
	return nil
}

// close ends everything that runs for the hub.
func (m *joined) close() {
	if m.server != nil {
		m.server.Close()
	}
	if m.library != nil {
		_ = m.library.stop() // it only watches
	}
	if m.door != nil {
		m.door.Close()
	}
	m.boxed.close()
	_ = m.guard.Close() // it is only read
	_ = m.private.Close()
}

// endingConn records that the hub refuses this machine.
type endingConn struct {
	net.Conn
	mu      sync.Mutex
	refused *join.RefusedError
}

// Read reads from the connection and records a refusal.
func (c *endingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if refused, ok := errors.AsType[*join.RefusedError](err); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refused = refused
	}
	return n, err
}

// refusal returns why the hub refuses this machine; nil if it does not.
func (c *endingConn) refusal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		return nil
	}
	return c.refused
}

// printable returns a text of the hub without control characters for the terminal.
func printable(text string) string {
	clean, err := access.CleanName(text)
	if err != nil {
		return ""
	}
	return clean
}

// printUnit prints a systemd user unit that keeps this machine connected.
func printUnit(w io.Writer, hub *url.URL, dirs, more []string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{quoteUnit(program), "join", quoteUnit(hub.String())}
	for _, dir := range dirs {
		args = append(args, "--dir", quoteUnit(dir))
	}
	for _, arg := range more {
		args = append(args, quoteUnit(arg))
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

// quoteUnit quotes a command's word for a unit file.
func quoteUnit(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`).Replace(word) + `"`
}
