package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// run stops what it started within five seconds, and serves at the addresses it printed.
func TestRunStopsEverything(t *testing.T) {
	data := isolate(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	defer http.DefaultClient.CloseIdleConnections()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, Config{Listen: "127.0.0.1:0", Data: data, Agent: "shell", LogFormat: "text", LogLevel: "error"},
			w, os.Stderr)
		w.Close()
		ended <- err
	}()
	lines := map[string]string{}
	scan := bufio.NewScanner(r)
	for scan.Scan() && lines["key_file"] == "" {
		k, v, _ := strings.Cut(scan.Text(), "=")
		lines[k] = v
		if k == "key_file" {
			break
		}
	}
	for _, key := range []string{"url", "sign_in", "ahp", "data", "token_file", "key_file"} {
		if lines[key] == "" {
			t.Errorf("%s was not printed: %v", key, lines)
		}
	}
	res, err := http.Get(lines["url"] + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("ready: %s", res.Status)
	}
	start := time.Now()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("stopping took %v", took)
	}
}
