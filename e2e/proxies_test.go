package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
)

// proxy is a reverse proxy with a configuration in docs/install.md.
type proxy struct {
	name, block string // block begins the configuration's lines on the page
	around      string // the rest of its file: the directory, then the lines
	file        string
	args        func(file string) []string
	replace     []string // lines of the page to replace by an address without TLS; PORT is its port
}

var proxies = []proxy{
	{"nginx", "    map $http_upgrade",
		"user root; daemon off; pid %[1]s/pid; error_log stderr; events {}\nhttp { access_log off;" +
			" client_body_temp_path %[1]s/1; proxy_temp_path %[1]s/2; fastcgi_temp_path %[1]s/3; uwsgi_temp_path " +
			"%[1]s/4; scgi_temp_path %[1]s/5;\n%[2]s}\n",
		"nginx.conf", func(file string) []string { return []string{"-e", "stderr", "-c", file} },
		[]string{"listen 443 ssl;", "listen 127.0.0.1:PORT;"}},
	{"caddy", "    hub.example.com {", "{\nadmin off\nstorage file_system %[1]s\n}\n%[2]s", "Caddyfile",
		func(file string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} },
		[]string{"hub.example.com {", "http://hub.example.com:PORT {"}},
	{"haproxy", "    frontend hub", "# %[1]s\n%[2]s", "haproxy.cfg",
		func(file string) []string { return []string{"-db", "-f", file} },
		[]string{"bind :443 ssl crt /etc/haproxy/hub.pem", "bind 127.0.0.1:PORT"}},
}

// TestDocumentedProxiesOnAnotherPort runs each proxy with the lines of docs/install.md at a port
// other than 443: a form, a page's live stream and AHP sockets work through it, even if nginx drops
// the port from the Host.
func TestDocumentedProxiesOnAnotherPort(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range proxies {
		lines := linesFrom(string(doc), x.block)
		t.Run(x.name, func(t *testing.T) { x.check(t, lines) })
		if x.name == "nginx" {
			t.Run("nginx without the port", func(t *testing.T) {
				without := strings.Replace(lines, "$http_host", "$host", 1)
				if without == lines {
					t.Fatal("the lines do not set the Host by $http_host")
				}
				x.check(t, without)
			})
		}
	}
}

// linesFrom returns the indented lines of a page that start with begin.
func linesFrom(doc, begin string) string {
	_, rest, _ := strings.Cut("\n"+doc, "\n"+begin)
	var b strings.Builder
	for line := range strings.Lines(begin + rest) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "    ") {
			break
		}
		b.WriteString(strings.TrimPrefix(line, "    "))
	}
	return b.String()
}

func (x proxy) check(t *testing.T, lines string) {
	t.Parallel()
	port, behind := freePort(t), "127.0.0.1:"+freePort(t)
	public := "http://hub.example.com:" + port
	p := Start(t, Options{Args: []string{"--listen", behind, "--public-url", public, "--trust-proxy", "127.0.0.1/32"}})
	x.start(t, strings.ReplaceAll(lines, "127.0.0.1:8137", behind), port)
	c := clientThrough(t, port)
	form := func(path string, values url.Values) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, public+path,
			strings.NewReader(values.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", public)
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	_, token, _ := strings.Cut(p.SignIn(), "#")
	res := form("/signin", url.Values{"token": {token}})
	query, err := liveOf(res)
	if err != nil {
		t.Fatalf("the form to sign in: %s: %v", res.Status, err)
	}
	for what, target := range map[string]string{"live stream": "/live?" + query, "AHP socket of a page": "/ahp",
		"AHP socket by token": "/ahp"} {
		client, head := c, http.Header{"Origin": {public}}
		if what == "AHP socket by token" {
			client, head = clientThrough(t, port), http.Header{"Authorization": {"Bearer " + p.Token()}}
		}
		ws, res, err := websocket.Dial(t.Context(), public+target, &websocket.DialOptions{HTTPClient: client,
			HTTPHeader: head})
		if err != nil {
			t.Errorf("the %s: %v %v", what, res, err)
			continue
		}
		if what == "live stream" {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if _, _, err := ws.Read(ctx); err != nil {
				t.Errorf("the live stream says nothing: %v", err)
			}
			cancel()
		}
		_ = ws.CloseNow()
	}
}

// start runs the proxy until the test ends, and waits until it listens.
func (x proxy) start(t *testing.T, lines, port string) {
	t.Helper()
	program, err := exec.LookPath(x.name)
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/" + x.name) // where Debian has it, only for root
	}
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed: make deps installs it", x.name)
	} else if err != nil {
		t.Skipf("%s is not installed: make deps installs it, or says how", x.name)
	}
	lines = strings.ReplaceAll(strings.NewReplacer(x.replace...).Replace(lines), "PORT", port)
	dir := t.TempDir()
	file := filepath.Join(dir, x.file)
	content := fmt.Sprintf(x.around, dir, lines)
	if os.Getuid() != 0 {
		content = strings.Replace(content, "user root;", "", 1)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command(program, x.args(file)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "HOME="+dir), &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(5 * time.Second): // haproxy waits for idle connections
			_ = cmd.Process.Kill()
			<-ended
		}
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			c.Close()
			return
		}
		select {
		case <-tick.C:
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended: %v\n%s\nits file:\n%s", x.name, err, &said, content)
		case <-t.Context().Done():
			t.Fatal("the test ended")
		}
	}
}

// clientThrough returns a client that connects every name to a port of this machine.
func clientThrough(t *testing.T, port string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+port)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport}
}

func freePort(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(loopbacktest.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	return port
}
