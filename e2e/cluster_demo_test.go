package e2e

import (
	"bufio"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The demo's instructions work: after the leader is killed, a session continues on another node.
func TestClusterDemo(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(Binary(t), "demo", "--cluster", "--listen", "127.0.0.1:0")
	cmd.Env, cmd.Stderr = clean(os.Environ()), os.Stderr
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	ended := make(chan error, 1)
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has exited unless the test failed
	said := map[string]string{}
	lines := bufio.NewScanner(stdout)
	for said["try"] == "" && lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "=")
		said[name] = value
	}
	go func() {
		for lines.Scan() {
		}
		ended <- cmd.Wait()
	}()
	urls, pids := map[string]string{}, map[string]int{}
	for _, name := range []string{"n1", "n2", "n3"} {
		m := regexp.MustCompile(`^(\S+) \(process (\d+)\)$`).FindStringSubmatch(said[name])
		if m == nil {
			t.Fatalf("the demo printed %q", said)
		}
		urls[name] = m[1]
		pids[name], _ = strconv.Atoi(m[2])
	}
	c, status := signIn(t, said["sign_in"])
	if status != http.StatusOK {
		t.Fatalf("signing in answered %d", status)
	}
	_, res := sendForm(t, c, urls["n2"]+"/new", url.Values{"message": {"say hello"}, "dir": {t.TempDir()}})
	path := strings.Join(strings.Split(res.Request.URL.Path, "/")[:3], "/")
	waitForPage(t, c, urls["n2"]+path, "hello")

	m := regexp.MustCompile(`^kill -9 (\d+) kills n1, the leader`).FindStringSubmatch(said["try"])
	if m == nil || m[1] != strconv.Itoa(pids["n1"]) {
		t.Fatalf("the demo's suggestion is %q", said["try"])
	}
	must(t, syscall.Kill(pids["n1"], syscall.SIGKILL))
	page := waitForPage(t, c, urls["n3"]+path, "hello")
	chat := regexp.MustCompile(path + `/c/[^/"#?]+`).FindString(page)
	sendForm(t, c, urls["n3"]+chat+"/message", url.Values{"text": {"say goodbye"}})
	waitForPage(t, c, urls["n2"]+path, "goodbye")

	must(t, cmd.Process.Signal(os.Interrupt))
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the demo exited with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the demo did not exit")
	}
	for _, name := range []string{"n2", "n3"} {
		if err := syscall.Kill(pids[name], 0); err == nil {
			t.Errorf("the process of %s is still running", name)
		}
	}
}
