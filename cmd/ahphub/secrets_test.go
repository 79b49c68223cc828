package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/hosttest"
	"github.com/ahphub/ahphub/hub/secret"
	"github.com/ahphub/ahphub/hub/store"
)

// runOnce starts the program, waits until it serves, stops it and returns its log.
func runOnce(t *testing.T, cfg Config) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	var log bytes.Buffer
	cfg.Listen, cfg.Agent, cfg.LogFormat, cfg.LogLevel = "127.0.0.1:0", "shell", "text", "info"
	cfg.Sandbox.Sandbox = "none"
	go func() {
		err := run(ctx, cfg, w, &log)
		w.Close()
		ended <- err
	}()
	scan := bufio.NewScanner(r)
	for scan.Scan() && !strings.HasPrefix(scan.Text(), "key_file=") {
	}
	stop()
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return log.String()
}

// plantHook writes a webhook in plain text, several times, as earlier versions did.
func plantHook(t *testing.T, data string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 20 {
		raw, _ := json.Marshal(map[string]string{"id": "0011", "owner": "owner", "url": "https://hooks.example.com/PLAINADDRESS",
			"secret": "whsec_PLAINSECRET", "gone": strings.Repeat("x", i*200)})
		b, err := store.Encode(hub.Batch{Seq: int64(i + 1), Writes: []hub.Write{{Record: &hub.Record{Bucket: "notify-hook",
			Key: "0011", Value: raw}}}}, 0)
		if err == nil {
			err = s.Apply(int64(i+1), b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// filesWith returns the files below a directory that contain a text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPlainSecretsOfEarlierProgramsAreSealedAndErased(t *testing.T) {
	data := isolate(t)
	plantHook(t, data)
	if len(filesWith(t, data, "PLAINSECRET")) == 0 {
		t.Fatal("nothing was planted")
	}
	log := runOnce(t, Config{Data: data})
	for _, text := range []string{"PLAINSECRET", "PLAINADDRESS"} {
		if found := filesWith(t, data, text); len(found) > 0 {
			t.Errorf("%s is in %v", text, found)
		}
	}
	key, err := os.ReadFile(filepath.Join(data, secret.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.TrimSpace(key[bytes.LastIndexByte(bytes.TrimSpace(key), '\n')+1:])
	if !strings.Contains(log, "secrets were sealed") || strings.Contains(log, string(last)) {
		t.Errorf("the log is %s", log)
	}
}

func TestLostKeyIsSaidAndStartGoesOn(t *testing.T) {
	data := isolate(t)
	plantHook(t, data)
	runOnce(t, Config{Data: data})
	kept, err := os.ReadFile(filepath.Join(data, secret.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(data, secret.KeyFile)); err != nil {
		t.Fatal(err)
	}
	// the webhook, and the key of push messages
	if log := runOnce(t, Config{Data: data}); !strings.Contains(log, "2 secrets are locked") ||
		!strings.Contains(log, "Restore that key") {
		t.Errorf("without its key the log is %s", log)
	}
	if err := os.WriteFile(filepath.Join(data, secret.KeyFile), kept, 0o600); err != nil {
		t.Fatal(err)
	}
	if log := runOnce(t, Config{Data: data}); strings.Contains(log, "locked") {
		t.Errorf("with its key the log is %s", log)
	}
}

func TestBackupHasNoKey(t *testing.T) {
	data := isolate(t)
	plantHook(t, data)
	runOnce(t, Config{Data: data})
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := (backupCommand{Data: data, Path: copied}).Run(&environment{t.Context(), io.Discard, io.Discard}); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(data, secret.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(key)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && len(filesWith(t, filepath.Dir(copied), line)) > 0 {
			t.Error("the backup has the key")
		}
	}
}

func TestKeyOfSecretsComesFromFileOrCredential(t *testing.T) {
	data, credentials := isolate(t), t.TempDir()
	path := filepath.Join(credentials, credentialName)
	if err := os.WriteFile(path, []byte(strings.Repeat("ab", 32)+"\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", credentials)
	runOnce(t, Config{Data: data})
	if _, err := os.Stat(filepath.Join(data, secret.KeyFile)); !os.IsNotExist(err) {
		t.Error("with a credential there is a key in the data directory", err)
	}
	bad := filepath.Join(credentials, "bad")
	if err := os.WriteFile(bad, []byte("hunter2hunter2\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	_, err := Config{Listen: "127.0.0.1:0", Data: data, Agent: "shell", LogFormat: "text", LogLevel: "info",
		Secrets: secretsConfig{SecretsKeyFile: bad}}.check()
	if err == nil || !strings.Contains(err.Error(), "--secrets-key-file") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a wrong key file: %v", err)
	}
}

const canaryNamed = "canary-named-0123456789abcdef"

// nameSecret gives a session a secret, and has the owner's terminal print it. It returns the value
// and the terminal's page.
func (h *hardened) nameSecret(short string) (value, terminal string) {
	h.t.Helper()
	form := url.Values{"name": {"CANARY"}, "secret": {canaryNamed}, "session": {short}}
	if res := h.do("POST", "/settings/secrets", h.owner, form.Encode()); res.StatusCode != 303 {
		h.t.Fatalf("saving a secret: %s", read(res))
	}
	res := h.do("POST", "/s/"+short+"/t", h.owner, "x=y")
	terminal = res.Header.Get("Location")
	if res.StatusCode != 303 || terminal == "" {
		h.t.Fatalf("opening a terminal: %s", res.Status)
	}
	h.do("POST", terminal+"/input", h.owner, "line="+url.QueryEscape(`echo is:${#CANARY}: "$CANARY"; printf '\033]0;%s\007' "$CANARY"`))
	hosttest.Eventually(h.t, "the terminal's output", func() bool {
		root, ok := hub.StateOf[*ahp.RootState](h.hub, ahp.RootURI)
		return ok && slices.ContainsFunc(root.Terminals, func(t ahp.TerminalInfo) bool {
			text := h.host.Terminals.ScreenText(h.t.Context(), t.Resource, "")
			return strings.Contains(text, "is:29: [secret CANARY]")
		})
	})
	return canaryNamed, terminal
}

// runCommand runs the program with arguments and input.
func (h *hardened) runCommand(input string, args ...string) (string, error) {
	h.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	_, err = w.WriteString(input)
	if err = errors.Join(err, w.Close()); err != nil {
		h.t.Fatal(err)
	}
	old := os.Stdin
	os.Stdin = r
	defer func() { os.Stdin = old; r.Close() }()
	var out bytes.Buffer
	err = command(h.t.Context(), append(args, "--data", h.cfg.Data), &out, io.Discard)
	return out.String(), err
}

func TestSecretsCommand(t *testing.T) {
	h := harden(t)
	key, err := os.ReadFile(filepath.Join(h.cfg.Data, secret.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		input string
		args  []string
		want  string // in the output, or in the error after "!"
	}{
		{"ghp_0123456789\n", []string{"secrets", "set", "TOKEN", "--dir", "/src/app"}, ""},
		{"ghp_9876543210\n", []string{"secrets", "set", "TOKEN", "--dir", "/src/other"}, ""},
		{"", []string{"secrets", "list"}, "TOKEN  /src/app  /src/other\n"},
		{"x", []string{"secrets", "set", "TOKEN"}, "!at least 6 characters"},
		{"ghp_0123456789", []string{"secrets", "set", "PATH"}, "!meaning"},
		{"", []string{"secrets", "rotate"}, ""},
		{"", []string{"secrets", "rm", "OTHER"}, "!no secret of this name"},
	} {
		got, err := h.runCommand(step.input, step.args...)
		if want, fails := strings.CutPrefix(step.want, "!"); fails != (err != nil) || fails && !strings.Contains(err.Error(), want) ||
			!fails && got != want {
			t.Errorf("%v prints %q (%v)", step.args, got, err)
		}
	}
	if list, err := h.secrets.For("", []string{"/src/other"}); err != nil || len(list) != 1 || list[0].Value != "ghp_9876543210" {
		t.Errorf("after the rotation there is %+v (%v)", list, err)
	}
	if now, err := os.ReadFile(filepath.Join(h.cfg.Data, secret.KeyFile)); err != nil || bytes.Equal(now, key) {
		t.Error("the key is the same", err)
	}
	if _, err := h.runCommand("", "secrets", "rm", "TOKEN"); err != nil || len(h.secrets.List("owner")) != 0 {
		t.Error("it is not removed", err)
	}
}

func TestGuestsReachNoSecrets(t *testing.T) {
	h := harden(t)
	h.invite(h.shorts()[0])
	for _, path := range []string{"/settings/secrets", "/settings/secrets.json"} {
		if res := h.do("GET", path, h.guest); res.StatusCode != 403 {
			t.Errorf("%s answers a guest %s", path, res.Status)
		}
	}
	for _, path := range []string{"/settings/secrets", "/settings/secrets/rotate", "/settings/secrets/TOKEN/grant",
		"/settings/secrets/TOKEN/remove"} {
		if res := h.do("POST", path, h.guest, "name=TOKEN&secret=0123456789"); res.StatusCode != 403 {
			t.Errorf("%s answers a guest %s", path, res.Status)
		}
	}
	if n := len(h.secrets.List("owner")); n != 0 {
		t.Errorf("there are %d secrets", n)
	}
}
