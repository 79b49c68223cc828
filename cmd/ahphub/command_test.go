package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// isolate shields tests from the user's settings.
func isolate(t *testing.T) (data string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "share"))
	t.Setenv("AHPHUB_TOKEN", "")
	return filepath.Join(dir, "data")
}

func do(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, log bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err = command(ctx, args, &out, &log)
	return out.String(), log.String(), err
}

func TestWrongValuesAreNamed(t *testing.T) {
	data := isolate(t)
	file := filepath.Join(t.TempDir(), "config.toml")
	scenario := filepath.Join(t.TempDir(), "broken.toml")
	os.WriteFile(scenario, []byte("[[turn]]\nsteps = 1"), 0o600)
	readable := filepath.Join(t.TempDir(), "secret")
	os.WriteFile(readable, []byte("secret"), 0o644)
	os.Chmod(readable, 0o644) // whatever the umask
	for _, test := range []struct {
		name string
		args []string
		env  string
		file string
		want []string
	}{
		{"listen", []string{"--listen", "nonsense"}, "", "", []string{"--listen", `"nonsense"`, "host:port"}},
		{"port", []string{"--listen", "127.0.0.1:99999"}, "", "", []string{"--listen", "99999", "65535"}},
		{"agent", []string{"--agent", "hal"}, "", "", []string{"--agent", `"hal"`, "shell or script"}},
		{"scenario without script", []string{"--scenario", "x"}, "", "", []string{"--scenario", "--agent script"}},
		{"scenario absent", []string{"--agent", "script", "--scenario", "/absent"}, "", "",
			[]string{"--scenario", "/absent"}},
		{"scenario broken", []string{"--agent", "script", "--scenario", scenario}, "", "", []string{scenario}},
		{"public url", []string{"--public-url", "hub.example.com"}, "", "",
			[]string{"--public-url", "hub.example.com", "https://"}},
		{"public path", []string{"--public-url", "https://hub.example.com/x"}, "", "", []string{"no path"}},
		{"allow host", []string{"--allow-host", "http://x"}, "", "", []string{"--allow-host", "without scheme"}},
		{"sandbox", []string{"--sandbox", "jail"}, "", "", []string{"--sandbox", "jail", "auto, none, namespace, landlock or container"}},
		{"its network", []string{"--sandbox-network", "lan"}, "", "", []string{"--sandbox-network", "lan", "open, list or none"}},
		{"its ports", []string{"--sandbox-loopback", "192.0.2.1:80"}, "", "", []string{"--sandbox-loopback", "loopback address"}},
		{"its directories", []string{"--sandbox-read", "src"}, "", "", []string{"--sandbox-read", "from the root on"}},
		{"filters", []string{"--trust-filters", "src"}, "", "", []string{"--trust-filters", "src", "from the root on"}},
		{"hooks", []string{"--trust-hooks", "src"}, "", "", []string{"--trust-hooks", "src", "from the root on"}},
		{"proxy", []string{"--trust-proxy", "nginx"}, "", "", []string{"--trust-proxy", "nginx", "127.0.0.1/32"}},
		{"certificate without key", []string{"--tls-cert", "/absent"}, "", "",
			[]string{"--tls-cert", "both --tls-cert and --tls-key"}},
		{"certificate absent", []string{"--tls-cert", "/absent", "--tls-key", "/absent"}, "", "", []string{"/absent"}},
		{"two certificates", []string{"--tls-cert", "x", "--tls-key", "x", "--acme", "hub.example.com"}, "", "",
			[]string{"--acme", "leave out one"}},
		{"certificate for an address", []string{"--acme", "203.0.113.9"}, "", "",
			[]string{"--acme", "203.0.113.9", "hub.example.com"}},
		{"authority in the clear", []string{"--acme", "hub.example.com", "--acme-directory", "http://ca.example.com"},
			"", "", []string{"--acme-directory", "https"}},
		{"redirect without TLS", []string{"--http-redirect", ":80"}, "", "",
			[]string{"--http-redirect", "--acme or --tls-cert"}},
		{"http address with TLS", []string{"--acme", "hub.example.com", "--public-url", "http://hub.example.com"}, "",
			"", []string{"--public-url", "https://"}},
		{"provider in the clear", []string{"--oidc-issuer", "http://id.example.com", "--oidc-client-id", "x",
			"--oidc-allow", "anyone=viewer"}, "", "", []string{"--oidc-issuer", "unencrypted"}},
		{"provider for nobody", []string{"--oidc-issuer", "https://id.example.com", "--oidc-client-id", "x"}, "", "",
			[]string{"--oidc-allow", "By default no one can"}},
		{"rule without a role", []string{"--oidc-issuer", "https://id.example.com", "--oidc-client-id", "x",
			"--oidc-allow", "domain:example.com"}, "", "", []string{"--oidc-allow", "names no role"}},
		{"rule with a wrong role", nil, "",
			"oidc-issuer = \"https://id.example.com\"\noidc-client-id = \"x\"\noidc-allow = [\"anyone=viewer\", " +
				"\"group:devs=admin\"]", []string{"--oidc-allow", `"admin" is not a role`}},
		{"secret that everybody reads", []string{"--oidc-issuer", "https://id.example.com", "--oidc-client-id", "x",
			"--oidc-allow", "anyone=viewer", "--oidc-client-secret-file", readable}, "", "",
			[]string{"--oidc-client-secret-file", "chmod o="}},
		{"log format", []string{"--log-format", "xml"}, "", "", []string{"--log-format", "xml", "text or json"}},
		{"log level", []string{"--log-level", "loud"}, "", "", []string{"--log-level", "loud", "debug"}},
		{"dir", []string{"--dir", "/absent"}, "", "", []string{"--dir", "/absent", "existing directory"}},
		{"environment", nil, "AHPHUB_LOG_FORMAT=xml", "", []string{"AHPHUB_LOG_FORMAT", "xml"}},
		{"file", nil, "", `log-format = "xml"`, []string{"--log-format", "xml"}},
		{"key of the file", nil, "", `logformat = "json"`, []string{"logformat", file}},
		{"file that is no TOML", nil, "", "= =", []string{file}},
		{"several", []string{"--log-format", "xml", "--agent", "hal"}, "", "", []string{"--log-format", "--agent"}},
		{"flag", []string{"--bogus"}, "", "", []string{"--bogus", "--help"}},
		{"command", []string{"bogus"}, "", "", []string{"bogus"}},
		{"token", nil, "AHPHUB_TOKEN=short", "", []string{"AHPHUB_TOKEN", "16"}},
		{"token file", []string{"--token-file", "/absent"}, "", "", []string{"/absent"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			args := append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data}, test.args...)
			if test.name == "command" {
				args = test.args
			}
			if k, v, ok := strings.Cut(test.env, "="); ok {
				t.Setenv(k, v)
			}
			if test.file != "" {
				os.WriteFile(file, []byte(test.file), 0o600)
				args = append(args, "--config", file)
			}
			_, _, err := do(t, args...)
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q misses %q", err, want)
				}
			}
		})
	}
}

func TestOrderOfSettings(t *testing.T) {
	isolate(t)
	file := filepath.Join(t.TempDir(), "config.toml")
	os.WriteFile(file, []byte(
		"log-format = \"json\"\nallow-host = [\"a.example\", \"b.example\"]\nowner-name = \"File\"\n"), 0o600)
	t.Setenv("AHPHUB_CONFIG", file)
	parse := func(args ...string) Config {
		t.Helper()
		var c cli
		if _, err := parse(&c, append([]string{"serve"}, args...), io.Discard); err != nil {
			t.Fatal(err)
		}
		return c.Serve.Config
	}
	if c := parse(); c.LogFormat != "json" || len(c.AllowHost) != 2 || c.Listen != "127.0.0.1:8137" {
		t.Errorf("from the file: %+v", c)
	}
	t.Setenv("AHPHUB_OWNER_NAME", "Environment")
	if c := parse(); c.OwnerName != "Environment" {
		t.Errorf("the environment must win over the file: %q", c.OwnerName)
	}
	if c := parse("--owner-name", "Flag"); c.OwnerName != "Flag" {
		t.Errorf("a flag must win: %q", c.OwnerName)
	}
}

func TestPortInUseTouchesNothing(t *testing.T) {
	data := isolate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, _, err = do(t, "--listen", l.Addr().String(), "--data", data)
	if err == nil || !strings.Contains(err.Error(), "in use") || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data directory was made: %v", err)
	}
}

func TestDataDirectories(t *testing.T) {
	data := isolate(t)
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, []byte("x"), 0o600)
	if _, _, err := do(t, "--listen", "127.0.0.1:0", "--data", filepath.Join(file, "data")); err == nil ||
		!strings.Contains(err.Error(), file) {
		t.Errorf("a data directory that cannot be made: %v", err)
	}
	os.MkdirAll(data, 0o700)
	db := filepath.Join(data, "ahphub.db")
	os.WriteFile(db, []byte("this is no database of anybody"), 0o600)
	if _, _, err := do(t, "--listen", "127.0.0.1:0", "--data", data); err == nil || !strings.Contains(err.Error(), db) {
		t.Errorf("a database of somebody else: %v", err)
	}
	if entries, _ := os.ReadDir(data); len(entries) != 1 {
		t.Errorf("something was written beside it: %v", entries)
	}
}

func TestLinkNeedsServer(t *testing.T) {
	data := isolate(t)
	_, _, err := do(t, "link", "--data", data)
	if err == nil || !strings.Contains(err.Error(), data) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("link made a data directory")
	}
}

func TestVersionAndHelp(t *testing.T) {
	isolate(t)
	if out, _, err := do(t, "version"); err != nil || !strings.HasPrefix(out, "ahphub ") {
		t.Errorf("version: %q, %v", out, err)
	}
	out, _, err := do(t, "serve", "--help")
	for _, want := range []string{"--listen", "127.0.0.1:8137", "AHPHUB_LISTEN", "--public-url", "--data"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("help misses %q (%v):\n%s", want, err, out)
		}
	}
	out, _, _ = do(t, "--help")
	for _, want := range []string{"serve", "demo", "link", "doctor", "backup", "version"} {
		if !strings.Contains(out, want) {
			t.Errorf("help misses %q:\n%s", want, out)
		}
	}
}

func TestDoctor(t *testing.T) {
	data := isolate(t)
	out, _, err := do(t, "doctor", "--listen", "127.0.0.1:0", "--data", data)
	if err != nil || !strings.Contains(out, "git version") || !strings.Contains(out, "will be created") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("the doctor made the data directory")
	}
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	defer l.Close()
	t.Setenv("PATH", t.TempDir())
	out, _, err = do(t, "doctor", "--listen", l.Addr().String(), "--data", data, "--log-format", "xml")
	for _, want := range []string{"FAIL  git", "apt-get install git", "FAIL  the address", "--listen", "text or json",
		"note  no agent program"} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%v, the report misses %q:\n%s", err, want, out)
		}
	}
}

func TestSampleRepository(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "greeter")
	if err := sampleRepository(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".git", "HEAD")); err != nil {
		t.Error(err)
	}
}

func TestDoctorSaysWhenGitIsTooOld(t *testing.T) {
	for printed, good := range map[string]bool{
		"git version 2.39.5": true, "git version 2.36.0": true, "git version 3.0.1 (Apple Git-200)": true,
		"git version 2.50.1.windows.1": true, "git version 2.35.8": false, "git version 1.8.3.1": false,
		"something else": true,
	} {
		if f := judgeGit(printed); f.good != good || !strings.Contains(f.text, printed) {
			t.Errorf("%s: %+v", printed, f)
		}
	}
}

// A token of the owner in the environment is not used for joining.
func TestJoinHasATokenVariableOfItsOwn(t *testing.T) {
	t.Setenv("AHPHUB_TOKEN", "the owner's token, which joins nothing")
	t.Setenv("AHPHUB_JOIN_TOKEN", "ahj1.x")
	var c cli
	if _, err := parse(&c, []string{"join", "https://hub.example.com"}, io.Discard); err != nil || c.Join.Token != "ahj1.x" {
		t.Errorf("the token is %q, %v", c.Join.Token, err)
	}
}
