package box

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/sandbox"
)

func TestRelayBringsNamedPortsAlone(t *testing.T) {
	said := make(chan string, 1)
	inEachBox(t, func(t *testing.T, w *world) { checkRelays(t, w, said) }, func(c *Config) {
		c.Services = map[string]func(*sandbox.Policy, net.Conn){"mcp": func(_ *sandbox.Policy, conn net.Conn) {
			line, _ := bufio.NewReader(conn).ReadString('\n')
			said <- line
			fmt.Fprintln(conn, "service")
			conn.Close()
		}}
	})
}

func checkRelays(t *testing.T, w *world, said chan string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "model")
			conn.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	w.policy.Relays = []sandbox.Relay{{Port: 29137, To: "mcp"}, {Port: port, To: l.Addr().String()}}
	const ask = `exec 3<>/dev/tcp/127.0.0.1/%d && echo asked >&3 && cat <&3`
	script := func(port int) string { return "bash -c '" + fmt.Sprintf(ask, port) + "'" }
	if got := w.run(script(port)); got != "model" {
		t.Error("the named port brings ", got)
	}
	if got := w.run(script(29137)); got != "service" {
		t.Error("the service brings ", got)
	}
	if line := <-said; line != "asked\n" {
		t.Error("the service was told ", line)
	}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, number, _ := net.SplitHostPort(other.Addr().String())
	n, _ := strconv.Atoi(number)
	if got := w.run(script(n) + " 2>/dev/null || echo refused"); got != "refused" {
		t.Error("a port that is not named brings ", got)
	}
}

func TestOpenNetworkHasNoLoopbackOfHost(t *testing.T) {
	inEachBox(t, func(t *testing.T, w *world) {
		if _, err := exec.LookPath("pasta"); err != nil {
			unless(t, errNoPasta.Error())
		}
		checkLoopback(t, w)
	})
}

func checkLoopback(t *testing.T, w *world) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	w.policy.Network = sandbox.Open
	if got := w.run("grep -c : /proc/net/dev; bash -c ': <>/dev/tcp/127.0.0.1/" + port +
		"' 2>/dev/null || echo refused"); got != "2\nrefused" {
		t.Errorf("it prints %q", got)
	}
}

func TestReportSaysWhatToInstall(t *testing.T) {
	w := newWorld(t)
	if r := w.Report(); !r.Works() {
		t.Error(r.Namespace)
	}
	t.Setenv("PATH", t.TempDir())
	if r := New(w.cfg).Report(); r.Works() || !strings.Contains(r.Namespace, "apt-get install bubblewrap") {
		t.Errorf("without bubblewrap: %+v", r)
	}
}
