package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
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

// plantHook writes a webhook as programs did that stored it in plain text, several times over.
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

// filesWith returns the files below a directory that hold a text.
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
	if log := runOnce(t, Config{Data: data}); !strings.Contains(log, "1 secrets are locked") ||
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
