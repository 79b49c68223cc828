package box

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/proxy"
	"github.com/ahphub/ahphub/hub/sandbox/proxy/proxytest"
)

// listed returns a world with a list of hosts, whose proxy takes 127.0.0.1 for the Internet.
func listed(t *testing.T, names map[string]string, hosts ...string) (*world, *proxy.Proxy) {
	t.Helper()
	p := proxy.New(proxy.Config{Log: slog.New(slog.DiscardHandler), Resolver: proxytest.New(t, names).Resolver,
		IsPublic: func(ip netip.Addr) bool { return ip == netip.MustParseAddr("127.0.0.1") }})
	t.Cleanup(p.Close)
	w := newWorld(t, func(c *Config) {
		c.Services = map[string]func(*sandbox.Policy, net.Conn){sandbox.ProxyService: p.Serve}
	})
	if err := (sandbox.Rules{Network: sandbox.List}).Connect(w.policy, "", hosts); err != nil {
		t.Fatal(err)
	}
	return w, p
}

// registry serves an npm package, a Go module and a git repository.
func registry(t *testing.T) (port string) {
	t.Helper()
	repo := filepath.Join(t.TempDir(), "repo.git")
	for _, args := range [][]string{{"init", "-q", "--bare", repo}, {"-C", repo, "config", "http.receivepack",
		"true"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	backend, _ := exec.Command("git", "--exec-path").Output()
	mux := http.NewServeMux()
	mux.Handle("/git/", &cgi.Handler{Path: strings.TrimSpace(string(backend)) + "/git-http-backend", Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(repo), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=a"}})
	mux.HandleFunc("/small", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"name":"small","dist-tags":{"latest":"1.2.3"},`+
			`"versions":{"1.2.3":{"name":"small","version":"1.2.3"}}}`)
	})
	for name, content := range map[string]string{"list": "v1.4.2\n", "v1.4.2.info": `{"Version":"v1.4.2"}`,
		"v1.4.2.mod": "module mod.example/m\n"} {
		mux.HandleFunc("/go/mod.example/m/@v/"+name, func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w,
				content)
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	_, port, _ = net.SplitHostPort(server.Listener.Addr().String())
	return port
}

// Common programs find the proxy by their environment, and reach listed hosts through it.
func TestProgramsReachListedHostsByProxy(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"curl", "git", "npm", "go"} {
		if _, err := exec.LookPath(name); err != nil {
			unless(t, name+" is not installed")
		}
	}
	port := registry(t)
	w, p := listed(t, map[string]string{"good.example": "127.0.0.1", "loop.example": "127.0.0.2"}, "good.example:"+port,
		"loop.example:"+port)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w,
			"secure")
	}))
	t.Cleanup(secure.Close)
	_, tls, _ := net.SplitHostPort(secure.Listener.Addr().String())
	w.policy.Allow = append(w.policy.Allow, "good.example:"+tls)
	at := "http://good.example:" + port
	for _, test := range []struct{ name, script, want string }{
		{"curl", "curl -sS " + at + "/go/mod.example/m/@v/list", "v1.4.2"},
		{"curl by CONNECT", "curl -sSk https://good.example:" + tls, "secure"},
		{"git", "git clone -q " + at + "/git/repo.git c 2>&1; cd c && git -c user.name=a -c user.email=a@b commit -q " +
			"--allow-empty -m one && git push -q origin HEAD:main && git ls-remote origin | cut -f2 | tail -1",
			"refs/heads/main"},
		{"npm", "npm view small version --registry " + at, "1.2.3"},
		{"go", "mkdir -p m && cd m && GOFLAGS=-mod=mod GOPROXY=" + at +
			"/go GONOSUMDB=* go list -m -versions mod.example/m", "mod.example/m v1.4.2"},
		{"a host that is not listed", "curl -sS http://bad.example/", "--sandbox-allow bad.example"},
		{"one by CONNECT", "curl -sSv https://bad.example/ 2>&1 || true", "--sandbox-allow bad.example"},
		{"go of one", "cd m; GOPROXY=https://bad.example go list -m -versions mod.example/m 2>&1 || true",
			"--sandbox-allow bad.example"},
		{"a name of loopback", "curl -sS http://loop.example:" + port + "/small", "private network"},
		{"no proxy", "curl -sS --noproxy '*' http://good.example:" + port + " 2>&1 || echo none", "none"},
	} {
		if got := w.run(test.script); !strings.Contains(got, test.want) || strings.HasSuffix(test.want, "none") &&
			!strings.HasSuffix(got, "none") {
			t.Errorf("%s prints %q, and not %q", test.name, got, test.want)
		}
	}
	seen := map[string]string{}
	for _, c := range p.Contacts("s1") {
		seen[c.String()] = c.Reason
	}
	for host, want := range map[string]string{"good.example:" + port: "", "good.example:" + tls: "",
		"bad.example:80": "not on the list", "bad.example:443": "not on the list", "loop.example:" +
			port: "leads to 127.0.0.2"} {
		if got, ok := seen[host]; !ok || !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("of %s the owner is shown %q, %t", host, got, ok)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "c", ".git")); err != nil {
		t.Error(err)
	}
}
