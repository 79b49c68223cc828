package box

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/proxy"
)

// targetCount counts the created targets.
var targetCount atomic.Int32

// newTargets creates the targets of a canary.
func newTargets(t *testing.T, w *world) targets {
	t.Helper()
	p := targets{Hub: os.Getpid(), Own: w.dir, Other: t.TempDir(), Data: w.data, Home: w.cfg.Home, Repo: t.TempDir(),
		Secret: rand.Text(), Key: rand.Text(), Program: w.cfg.Program, UDP: echoDatagrams(t)}
	file := func(path string) string {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(p.Secret), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, path := range []string{p.Other + "/secret", p.Data + "/token", p.Home + "/.ssh/id_ed25519",
		p.Home + "/.aws/credentials", p.Home + "/.bashrc", p.Repo + "/config", p.Repo + "/hooks/pre-commit.sample"} {
		file(path)
	}
	temp, err := os.CreateTemp("", "target")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { temp.Close(); os.Remove(temp.Name()) })
	p.TempFile = file(temp.Name())
	p.SharedFile = file("/dev/shm/" + rand.Text())
	t.Cleanup(func() { os.Remove(p.SharedFile) })
	listen := func(network, address string) string {
		l, err := net.Listen(network, address)
		if err != nil {
			return address // no IPv6
		}
		t.Cleanup(func() { l.Close() })
		return l.Addr().String()
	}
	p.Abstract = rand.Text()
	listen("unix", "@"+p.Abstract)
	p.Path, p.Bus = listen("unix", p.Other+"/socket"), listen("unix", p.Other+"/bus")
	p.TCP, p.TCP6 = listen("tcp", "127.0.0.1:0"), listen("tcp", "[::1]:0")
	p.Wide = wideAddress(listen("tcp4", "0.0.0.0:0"))
	p.Shared = os.Getpid()<<8 + int(targetCount.Add(1)) // a key of this computer
	id, err := unix.SysvShmGet(p.Shared, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	mem, err := memory("target", []byte(p.Secret))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	p.Memory = int(mem.Fd())
	_, _ = unix.AddKey("user", p.Key, []byte(p.Secret), unix.KEY_SPEC_SESSION_KEYRING)
	p.Pty = hostPty(t)
	return p
}

// echoDatagrams answers datagrams on loopback, and returns its address.
func echoDatagrams(t *testing.T) string {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 16)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(buf[:n], from)
		}
	}()
	return conn.LocalAddr().String()
}

// wideAddress returns an address of this computer on a network, with the port of a listener on all addresses.
func wideAddress(all string) string {
	_, port, _ := net.SplitHostPort(all)
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return net.JoinHostPort(n.IP.String(), port)
		}
	}
	return all
}

// hostPty opens a pseudo terminal of the host and returns the path of its slave end.
func hostPty(t *testing.T) string {
	t.Helper()
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint("/dev/pts/", n)
}

// runAttempts runs a canary with start and returns the results of its attempts.
func runAttempts(t *testing.T, w *world, p targets, start func(*exec.Cmd) error) map[string]string {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(w.cfg.Program, canaryCommand)
	var out, complaint bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.dir, &out, &complaint
	cmd.Env = append(os.Environ(), "TARGETS="+string(raw), "SSH_AUTH_SOCK=/nowhere")
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the canary: %v\n%s", err, &complaint)
	}
	var ends map[string]string
	if err := json.Unmarshal(out.Bytes(), &ends); err != nil || len(ends) != len(attempts) {
		t.Fatalf("the canary says: %v\n%s", err, &out)
	}
	if text := complaint.String(); text != "" {
		t.Log(text)
	}
	return ends
}

// runAttemptsOutside runs a canary without a box, in a terminal.
func runAttemptsOutside(t *testing.T, w *world, p targets) map[string]string {
	t.Helper()
	return runAttempts(t, w, p, func(cmd *exec.Cmd) error {
		tty, err := os.OpenFile(p.Pty, os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		defer tty.Close()
		cmd.Stdin, cmd.SysProcAttr = tty, &syscall.SysProcAttr{Setsid: true, Setctty: true}
		return cmd.Start()
	})
}

func TestNoWayLeadsOutOfBox(t *testing.T)       { checkEscapes(t, newWorld) }
func TestNoWayLeadsOutOfContainer(t *testing.T) { checkEscapes(t, newContainers) }

// checkEscapes tries every way out of the box that a new world has.
func checkEscapes(t *testing.T, newWorld func(testing.TB, ...func(*Config)) *world) {
	t.Parallel()
	runtime.LockOSThread() // whose keyring has the key
	through := proxy.New(proxy.Config{Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(through.Close)
	w := newWorld(t, func(c *Config) {
		c.Services = map[string]func(*sandbox.Policy, net.Conn){sandbox.ProxyService: through.Serve}
	})
	p := newTargets(t, w)
	_, port, _ := net.SplitHostPort(p.TCP)
	if err := (sandbox.Rules{Network: sandbox.List}).Connect(w.policy, "", []string{"localhost:" + port}); err != nil {
		t.Fatal(err)
	}
	w.policy.Write = append(w.policy.Write, p.Repo)
	w.policy.Seal = []string{p.Repo + "/config", p.Repo + "/hooks"}
	within := runAttempts(t, w, p, func(cmd *exec.Cmd) error { return w.Start(cmd, w.policy) })
	outside := runAttemptsOutside(t, w, p)
	for _, a := range attempts {
		switch how, ok := within[a.name]; {
		case !ok:
			t.Errorf("%s: it was not tried", a.name)
		case how == "":
			t.Errorf("%s: this works in a box", a.name)
		}
		if strings.HasSuffix(a.name, "through the proxy") && !strings.Contains(within[a.name], "403") {
			t.Errorf("%s: not through the box's proxy: %s", a.name, within[a.name])
		}
		if must := a.outside == always || a.outside == asRoot && os.Getuid() == 0; must && outside[a.name] != "" {
			t.Errorf("%s: this cannot work in a box because it fails everywhere: %s", a.name, outside[a.name])
		}
		if a.outside == possibly && outside[a.name] != "" {
			t.Logf("%s: not proved here, for it fails outside as well: %s", a.name, outside[a.name])
		}
		if testing.Verbose() {
			t.Logf("%-50s %s", a.name, within[a.name])
		}
	}
}

// groupOf returns the beginning of the list in docs/security.md that names an attempt.
func groupOf(a attempt) string {
	return map[expectation]string{always: "- **Works outside:** ", asRoot: "- **Works outside for root:** ",
		inBox: "- **Exists only in a sandbox:** ", possibly: "- **Depends on the computer:** "}[a.outside]
}

// rowOf returns the row of an attempt in the table of docs/security.md about Landlock alone.
func rowOf(name string, l leak) string {
	alone := "works"
	if l.closes > 0 {
		alone = fmt.Sprintf("works before version %d", l.closes)
	}
	if l.asUser {
		alone += " unless ahphub runs as root"
	}
	return fmt.Sprintf("| %s | %s |\n", name, alone)
}

func TestSecurityListsEveryWayOutThatIsTried(t *testing.T) {
	b, err := os.ReadFile("../../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(attempts) < 60 {
		t.Errorf("only %d ways out are tried", len(attempts))
	}
	text := strings.Join(strings.Fields(string(b)), " ") // lists are wrapped
	for _, a := range attempts {
		_, list, _ := strings.Cut(text, groupOf(a))
		list, _, _ = strings.Cut(list, ".")
		if !slices.Contains(strings.Split(list, "; "), a.name) {
			t.Errorf("docs/security.md does not list %q under %q", a.name, groupOf(a))
		}
	}
	for name, l := range leaks {
		if !strings.Contains(string(b), rowOf(name, l)) {
			t.Errorf("docs/security.md lacks this row:\n%s", rowOf(name, l))
		}
	}
}
