package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
)

var (
	faults  = flag.Int("machine-faults", 0, "kills of a machine and of its hub, and cuts between them; 0 is none, 3 the short form")
	longCut = flag.Duration("machine-cut", time.Second, "the longest cut")
)

// counter is an agent that counts to 100 in about two seconds.
const counter = `#!/bin/sh
while read -r line; do
	id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
	case $line in
	*'"initialize"'*) answer='{"protocolVersion":1,"agentInfo":{"name":"opencode","version":"1"}}' ;;
	*'"session/new"'*) answer='{"sessionId":"s1"}' ;;
	*'"session/prompt"'*)
		echo $$ >"$HOME/src/counting"
		n=0
		while [ $n -lt 100 ]; do
			n=$((n + 1))
			echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"<'$n'>"}}}}' || exit 1
			sleep 0.02
		done
		answer='{"stopReason":"end_turn"}' ;;
	*) continue ;;
	esac
	echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$answer}"
done
`

// counted returns how far a turn counted; false if a number is missing or repeated.
func counted(turn string) (n int, whole bool) {
	text, _, _ := strings.Cut(strings.TrimPrefix(turn, "markdown "), "\n")
	for {
		next := "<" + strconv.Itoa(n+1) + ">"
		rest, ok := strings.CutPrefix(strings.TrimSpace(text), next)
		if !ok {
			return n, strings.TrimSpace(text) == ""
		}
		text = rest
		n++
	}
}

// flakyLink forwards connections to an address, and can cut them.
type flakyLink struct {
	net.Listener
	to string

	mu    sync.Mutex
	conns map[net.Conn]bool
	deaf  [2]bool // to the hub, to the machine: data is dropped
	down  bool    // refuses connections and data
}

func newFlakyLink(t *testing.T, to string) *flakyLink {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &flakyLink{Listener: listener, to: to, conns: map[net.Conn]bool{}}
	t.Cleanup(func() { listener.Close(); l.cut() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go l.carry(c)
		}
	}()
	return l
}

func (l *flakyLink) carry(c net.Conn) {
	defer c.Close()
	far, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer far.Close()
	l.mu.Lock()
	down := l.down
	l.conns[c], l.conns[far] = true, true
	l.mu.Unlock()
	if down {
		return
	}
	go func() { l.copy(c, far, 1); c.Close() }()
	l.copy(far, c, 0)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	delete(l.conns, far)
}

// isUsed reports whether a connection is open.
func (l *flakyLink) isUsed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns) > 0
}

func (l *flakyLink) copy(to io.Writer, from io.Reader, way int) {
	for buffer := make([]byte, 4<<10); ; {
		n, err := from.Read(buffer)
		l.mu.Lock()
		deaf := l.deaf[way]
		l.mu.Unlock()
		if err != nil {
			return
		}
		if deaf {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// cut ends all connections.
func (l *flakyLink) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.Close()
	}
	clear(l.conns)
}

// fail makes the link fail for a time: in both directions, or dropping data in one.
func (l *flakyLink) fail(kind int, lasts time.Duration) {
	l.mu.Lock()
	switch kind % 3 {
	case 0:
		l.down = true
	default:
		l.deaf[kind%3-1] = true
	}
	l.mu.Unlock()
	if kind%3 == 0 {
		l.cut()
	}
	time.Sleep(lasts) // the duration of the failure
	l.cut()
	l.mu.Lock()
	l.down, l.deaf = false, [2]bool{}
	l.mu.Unlock()
}

// faultWorld is a hub and a machine, each a process, and the link between them.
type faultWorld struct {
	*testing.T
	data, address string
	link          *flakyLink

	hub    *exec.Cmd
	input  io.WriteCloser
	events chan hubEvent

	machine *exec.Cmd
	exited  chan error
	said    *bytes.Buffer
}

func newFaultWorld(t *testing.T) *faultWorld {
	t.Helper()
	w := &faultWorld{T: t, data: t.TempDir(), address: loopbacktest.Address(t)}
	bin := filepath.Join(w.data, ".local", "bin")
	for _, dir := range []string{bin, filepath.Join(w.data, "src")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "opencode"), []byte(counter), 0o700); err != nil {
		t.Fatal(err)
	}
	w.link = newFlakyLink(t, w.address)
	w.startHub()
	w.tell("token")
	w.join("--token", w.wait("token").Text, "--name", "box2")
	w.wait("online")
	return w
}

// startHub starts the hub process.
func (w *faultWorld) startHub() {
	w.Helper()
	cmd := exec.Command(os.Args[0], hubArgument, w.data, w.address)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	input, err := cmd.StdinPipe()
	if err != nil {
		w.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	events := make(chan hubEvent, 1<<16)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for scan := bufio.NewScanner(output); scan.Scan(); {
			var e hubEvent
			if json.Unmarshal(scan.Bytes(), &e) == nil {
				events <- e
			}
		}
	}()
	w.hub, w.input, w.events = cmd, input, events
	w.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = cmd.Wait() // it was killed
	})
}

func (w *faultWorld) tell(line string) {
	w.Helper()
	if _, err := fmt.Fprintln(w.input, line); err != nil {
		w.Fatal(err)
	}
}

// wait waits for an event of the hub.
func (w *faultWorld) wait(event string) hubEvent {
	w.Helper()
	for {
		if e := w.next(event); e.Event == event {
			return e
		}
	}
}

// next returns the hub's next event.
func (w *faultWorld) next(wanted string) hubEvent {
	w.Helper()
	select {
	case e := <-w.events:
		return e
	case <-time.After(2*time.Minute + *longCut):
		w.Fatalf("the hub does not say %s; the machine says\n%s", wanted, w.said)
		return hubEvent{}
	}
}

// join starts the machine process.
func (w *faultWorld) join(args ...string) {
	w.Helper()
	w.said, w.exited = new(bytes.Buffer), make(chan error, 1)
	cmd := exec.Command(os.Args[0], append([]string{"join", "http://" + w.link.Addr().String(), "--sandbox", "none",
		"--dir", filepath.Join(w.data, "src"), "--data", filepath.Join(w.data, "machine-data")}, args...)...)
	cmd.Env = []string{"HOME=" + w.data, "PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = w.said, w.said
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	exited := w.exited
	w.machine = cmd
	go func() { exited <- cmd.Wait(); close(exited) }()
	w.Cleanup(func() { _ = cmd.Process.Kill(); <-exited })
}

// killMachine kills the machine process.
func (w *faultWorld) killMachine() {
	_ = w.machine.Process.Kill()
	<-w.exited
}

// begin starts a turn, and returns once some of it has arrived.
func (w *faultWorld) begin() {
	w.Helper()
	_ = os.Remove(filepath.Join(w.data, "src", "counting"))
	w.tell("prompt")
	for some := 5 + rand.IntN(20); some > 0; {
		switch e := w.next("part of a turn"); {
		case e.Event == "part":
			some--
		case e.Event == "end" && strings.Contains(e.Err, "offline"): // the previous turn ended during the failure
			time.Sleep(100 * time.Millisecond)
			w.tell("prompt")
		case e.Event == "end":
			w.Fatalf("a turn does not begin: %s", e.Err)
		}
	}
}

// counterEnds waits until the counting program has ended.
func (w *faultWorld) counterEnds() {
	w.Helper()
	raw, err := os.ReadFile(filepath.Join(w.data, "src", "counting"))
	if err != nil {
		w.Fatal(err)
	}
	waitUntil(w.T, "the program of a lost turn ends", func() bool {
		cmdline, err := os.ReadFile("/proc/" + strings.TrimSpace(string(raw)) + "/cmdline")
		return err != nil || !strings.Contains(string(cmdline), "opencode")
	})
}

// checkWhole checks that a turn finished, with each number once.
func (w *faultWorld) checkWhole(what string) {
	w.Helper()
	end := w.wait("end")
	if n, whole := counted(end.Text); end.Err != "" || n != 100 || !whole {
		w.Errorf("%s: the turn ends with %q after %d of 100, whole %v:\n%s", what, end.Err, n, whole, end.Text)
	}
}

// Cuts, and kills of the machine and the hub, in the middle of turns, with separate processes:
// turns continue after cuts with everything once, and otherwise end with a clear error.
func TestMachineFaults(t *testing.T) {
	if *faults == 0 {
		t.Skip("see make test-machines-faults")
	}
	t.Run("cuts", func(t *testing.T) {
		t.Parallel()
		w := newFaultWorld(t)
		for i := range *faults {
			w.begin()
			w.link.fail(i, time.Duration(1+rand.Int64N(int64(*longCut))))
			w.checkWhole(fmt.Sprintf("cut %d", i))
		}
	})
	t.Run("kills of the machine", func(t *testing.T) {
		t.Parallel()
		w := newFaultWorld(t)
		for i := range *faults {
			w.begin()
			w.killMachine()
			w.wait("offline")
			w.join()
			end := w.wait("end")
			n, whole := counted(end.Text)
			if n == 100 || !whole || !strings.Contains(end.Err, "was started again") {
				t.Errorf("kill %d: the turn ends with %q after %d, whole %v", i, end.Err, n, whole)
			}
			w.counterEnds()
			w.begin()
			w.checkWhole(fmt.Sprintf("after kill %d", i))
		}
	})
	t.Run("kills of the hub", func(t *testing.T) {
		t.Parallel()
		w := newFaultWorld(t)
		for i := range *faults {
			w.begin()
			_ = w.hub.Process.Kill()
			w.startHub()
			w.wait("online")
			w.counterEnds()
			w.begin()
			w.checkWhole(fmt.Sprintf("after kill %d", i))
		}
	})
	t.Run("revoked", func(t *testing.T) {
		t.Parallel()
		w := newFaultWorld(t)
		w.begin()
		began := time.Now()
		w.tell("revoke")
		waitUntil(t, "the connection of a revoked machine ends", func() bool { return !w.link.isUsed() })
		took := time.Since(began)
		t.Logf("a revoked machine is thrown out in %v", took)
		if took > 2*time.Second {
			t.Errorf("throwing a machine out took %v, and 2 s are promised", took)
		}
		select {
		case err := <-w.exited:
			if err == nil || !strings.Contains(w.said.String(), "this machine was revoked") {
				t.Errorf("it ends with %v:\n%s", err, w.said)
			}
		case <-time.After(time.Minute):
			t.Fatal("a revoked machine goes on")
		}
		w.counterEnds()
		if end := w.wait("end"); end.Err == "" {
			t.Errorf("the turn of a revoked machine ends as %+v", end)
		}
	})
	t.Run("stolen token", func(t *testing.T) {
		t.Parallel()
		w := newFaultWorld(t)
		w.tell("token")
		token := w.wait("token").Text
		w.killMachine()
		if err := os.RemoveAll(filepath.Join(w.data, "machine-data")); err != nil {
			t.Fatal(err)
		}
		w.join("--token", token, "--name", "box3")
		w.wait("online")
		w.killMachine()
		if err := os.RemoveAll(filepath.Join(w.data, "machine-data")); err != nil {
			t.Fatal(err)
		}
		w.join("--token", token, "--name", "thief")
		select {
		case err := <-w.exited:
			if err == nil || !strings.Contains(w.said.String(), "this token is not valid: it was used") {
				t.Errorf("with a used token it ends with %v:\n%s", err, w.said)
			}
		case <-time.After(time.Minute):
			t.Fatal("a used token is not refused")
		}
	})
}
