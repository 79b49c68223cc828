package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// servers builds, once each, the third-party servers for tests: e2e/testdata/servers.
var servers sync.Map // package → func() (string, error)

func server(t *testing.T, pkg string) string {
	t.Helper()
	build, _ := servers.LoadOrStore(pkg, sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", "ahphub-servers-*")
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, filepath.Base(pkg))
		cmd := exec.Command("go", "build", "-o", path, pkg)
		cmd.Dir = filepath.Join("testdata", "servers")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", &exec.Error{Name: strings.TrimSpace(string(out)), Err: err}
		}
		return path, nil
	}))
	path, err := build.(func() (string, error))()
	if err != nil {
		t.Fatalf("%s does not build: %v", pkg, err)
	}
	return path
}

// runServer starts a server, and returns its log and its first output line with a mark.
func runServer(t *testing.T, mark, pkg string, env []string, args ...string) (line string, output *log) {
	t.Helper()
	cmd := exec.Command(server(t, pkg), args...)
	cmd.Env = append(os.Environ(), env...)
	output = &log{}
	cmd.Stderr = output
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		scan, found := bufio.NewScanner(stdout), false
		for scan.Scan() {
			_, _ = output.Write(append(scan.Bytes(), '\n'))
			if !found && strings.Contains(scan.Text(), mark) {
				found = true
				lines <- scan.Text()
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", pkg, output.tail())
		}
	})
	select {
	case line = <-lines:
	case <-done:
		t.Fatalf("%s ended:\n%s", pkg, output.tail())
	case <-time.After(patience):
		t.Fatalf("%s did not start:\n%s", pkg, output.tail())
	}
	return line, output
}
