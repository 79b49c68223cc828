package e2e

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// signIn exchanges a printed address for a cookie, like the page's script.
func signIn(t *testing.T, address string) (*http.Client, int) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Timeout: patience}
	token := u.Fragment
	u.Fragment = ""
	res, err := c.PostForm(u.String(), url.Values{"token": {token}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return c, res.StatusCode
}

func status(t *testing.T, c *http.Client, address string) int {
	t.Helper()
	res, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// codingOf returns the compression of a page for a browser that accepts some encodings.
func codingOf(t *testing.T, c *http.Client, address, accept string) string {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", accept)
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.Header.Get("Content-Encoding")
}

func TestStartSignInStop(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{})
	for _, path := range []string{"/healthz", "/readyz", "/signin", "/j"} {
		if code, body := p.Get(path); code != 200 {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _ := p.Get("/metrics"); code != 401 {
		t.Errorf("the figures are shown to everybody: %d", code)
	}
	c, code := signIn(t, p.Lines["sign_in"])
	if code != 200 || status(t, c, p.URL+"/") != 200 {
		t.Fatalf("the printed address does not sign in: %d", code)
	}
	if coding := codingOf(t, c, p.URL+"/new", "gzip, zstd"); coding != "zstd" {
		t.Errorf("a page is sent as %q", coding)
	}
	if _, code := signIn(t, p.Lines["sign_in"]); code != 403 {
		t.Errorf("the printed address works twice: %d", code)
	}
	other, code := signIn(t, p.SignIn())
	if code != 200 {
		t.Errorf("the address of ahphub link does not sign in: %d", code)
	}
	for _, key := range []string{"token_file", "key_file"} {
		info, err := os.Stat(p.Lines[key])
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", key, info, err)
		}
	}
	privateTree(t, p.Data)

	p.Stop()
	p.Restart()
	if a, b := status(t, c, p.URL+"/"), status(t, other, p.URL+"/"); a != 200 || b != 200 {
		t.Errorf("a restart signed people out: %d, %d", a, b)
	}
	if log := p.Log(); strings.Contains(log, fragment(p.Lines["sign_in"])) || strings.Contains(log, p.Token()) {
		t.Error("a token is in the log")
	}
}

func fragment(address string) string {
	_, f, _ := strings.Cut(address, "#")
	return f
}

// privateTree checks that other users of the machine cannot read the data directory.
func privateTree(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestKilledAndStartedAgain(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--agent", "script"}})
	c, _ := signIn(t, p.Lines["sign_in"])
	p.Kill9()
	p.Restart()
	if code := status(t, c, p.URL+"/"); code != 200 {
		t.Errorf("after a crash the cookie is worth nothing: %d", code)
	}
	if code, body := p.Get("/readyz"); code != 200 {
		t.Errorf("after a crash: %d %s", code, body)
	}
}

func TestTwoProgramsOneDirectory(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{})
	out, err := p.Command("serve", "--listen", "127.0.0.1:0", "--data", p.Data)
	if err == nil || !strings.Contains(out, "in use") {
		t.Errorf("a second program took the directory: %v\n%s", err, out)
	}
	if code, _ := p.Get("/readyz"); code != 200 {
		t.Errorf("the first one suffered: %d", code)
	}
}

func TestDoctorKnowsARunningProgram(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{})
	u, _ := url.Parse(p.URL)
	out, err := p.Command("doctor", "--listen", u.Host, "--data", p.Data)
	if err != nil || !strings.Contains(out, "is serving at "+p.URL) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestBackupWhileServing(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{})
	dir := t.TempDir()
	out, err := p.Command("backup", "--data", p.Data, filepath.Join(dir, "ahphub.db"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	again := Start(t, Options{Data: dir})
	if code, body := again.Get("/readyz"); code != 200 {
		t.Errorf("from the backup: %d %s", code, body)
	}
}

func TestPublicAddressAndJSONLog(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--log-format", "json", "--public-url", "http://hub.example.com:8137"}})
	if p.URL != "http://hub.example.com:8137" || p.AHP != "ws://hub.example.com:8137/ahp" ||
		!strings.HasPrefix(p.Lines["sign_in"], p.URL+"/signin#") {
		t.Errorf("printed %v", p.Lines)
	}
	for line := range strings.Lines(p.Log()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the log says %q", line)
		}
	}
}

func TestSignInInABrowser(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{})
	page := OpenBrowser(t).Page()
	page.SignIn(p)
	page.Shot("inbox")
	if hash := Eval[string](page, "location.hash"); hash != "" {
		t.Errorf("the token is still in the address: %s", hash)
	}
	page.Allow(`403 \(Forbidden\)`)
	page.Open(p.Lines["sign_in"] + "x")
	page.WaitText("main", "has already been used")
	page.Shot("refused")
}
