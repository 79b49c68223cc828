package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// machine is `ahphub join` as on another computer, with its own home and data directory.
type machine struct {
	t       *testing.T
	home    string
	program string // "": the program under test
	cmd     *exec.Cmd
	out     *lockedBuffer
	exited  chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newMachine(t *testing.T) *machine { return &machine{t: t, home: t.TempDir()} }

// loggedOut is an agent that requires a login.
const loggedOut = `#!/bin/sh
while read -r line; do
	id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
	case $line in
	*'"initialize"'*) answer='"result":{"protocolVersion":1,"agentInfo":{"name":"opencode","version":"9.9"}}' ;;
	*'"session/new"'*) answer='"error":{"code":-32000,"message":"Authentication required"}' ;;
	*) continue ;;
	esac
	echo '{"jsonrpc":"2.0","id":'"$id,$answer}"
done
`

// install installs a program where the machine finds agents.
func (m *machine) install(name, script string) {
	m.t.Helper()
	dir := filepath.Join(m.home, ".local", "bin")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
		m.t.Fatal(err)
	}
}

// join runs the command that the page shows, or part of it.
func (m *machine) join(args ...string) {
	m.t.Helper()
	m.out, m.exited = &lockedBuffer{}, make(chan error, 1)
	m.cmd = exec.Command(cmp.Or(m.program, Binary(m.t)), append([]string{"join", "--dir", m.home}, args...)...)
	m.cmd.Env = append(clean(os.Environ()), "PATH="+filepath.Join(m.home, ".local", "bin")+":"+os.Getenv("PATH"),
		"HOME="+m.home, "XDG_DATA_HOME="+filepath.Join(m.home, "data"))
	m.cmd.Stdout, m.cmd.Stderr = m.out, m.out
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	cmd, exited := m.cmd, m.exited
	go func() { exited <- cmd.Wait(); close(exited) }()
	m.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
	})
}

// ends waits until the command ends and returns its output.
func (m *machine) ends() (string, error) {
	m.t.Helper()
	select {
	case err := <-m.exited:
		return m.out.String(), err
	case <-time.After(patience):
		m.t.Fatalf("ahphub join goes on:\n%s", m.out)
		return "", nil
	}
}

// card returns an expression that is true once the page shows a machine with all words.
func card(name string, words ...string) string {
	all := ""
	for _, w := range words {
		all += fmt.Sprintf("%q,", w)
	}
	return fmt.Sprintf(`[...document.querySelectorAll('#machines .card')].some(c =>
		c.querySelector('b')?.textContent === %q && [%s].every(w => c.textContent.includes(w)))`, name, all)
}

// isKnown waits until /metrics and the doctor report the machine's state.
func (m *machine) isKnown(prog *Program, metric, doctor string) {
	m.t.Helper()
	if all := scrape(m.t, prog); !strings.Contains(all, metric+"\n") {
		m.t.Errorf("/metrics has no %s", metric)
	}
	for end := time.Now().Add(patience); ; {
		out, _ := prog.Command("doctor", "--data", prog.Data, "--listen", strings.TrimPrefix(prog.URL, "http://"))
		if strings.Contains(out, doctor) {
			return
		}
		if time.Now().After(end) {
			m.t.Fatalf("the doctor says\n%s", out)
		}
	}
}

func TestMachineJoinsComesBackAndIsRevoked(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{})
	p := OpenBrowser(t).Page()
	p.SignIn(prog)
	p.Open(prog.URL + "/machines")
	p.Wait(`document.querySelector('#machines').textContent.includes('No machines yet')`)
	Eval[any](p, `document.querySelector('form[action="/machines/tokens"] button').click()`)
	p.Wait(`document.querySelector('#made')?.value.startsWith('ahphub join ')`)
	command := strings.Fields(Eval[string](p, `document.querySelector('#made').value`))[2:] // URL --token TOKEN
	p.Shot("machines-token")

	box := newMachine(t)
	box.install("opencode", loggedOut)
	box.join(append(command, "--name", "box2", "--sandbox", "none")...)
	p.Wait(card("box2", "Online", box.home, " free)", ", load ", "Not sandboxed"))
	p.Wait(card("box2", "opencode 9.9", "Needs a login", "opencode auth login on the machine"))
	p.Wait(`!document.querySelector('#machines').textContent.includes('Unused tokens')`)
	identity := filepath.Join(box.home, "data", "ahphub", "machine", strings.ReplaceAll(strings.TrimPrefix(prog.URL, "http://"), ":", "_")+".json")
	if info, err := os.Stat(identity); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the identity has the mode %v, %v", info, err)
	}
	for _, l := range looks {
		p.look(l.width, l.height, l.scheme)
		p.Shot("machines-" + l.name)
	}

	box.isKnown(prog, `ahphub_machine_connected{machine="box2"} 1`, "machine box2 is connected")

	// A copied token is useless.
	thief := newMachine(t)
	thief.join(append(command, "--name", "box3")...)
	if out, err := thief.ends(); err == nil || !strings.Contains(out, "this token is not valid: it was used") {
		t.Errorf("a used token: %v\n%s", err, out)
	}
	thief.join(command[0])
	if out, err := thief.ends(); err == nil || !strings.Contains(out, "not a machine of this hub") {
		t.Errorf("without a token: %v\n%s", err, out)
	}

	// It reconnects by itself after a restart of the hub, and with its identity after being
	// stopped.
	p.Allow("ERR_CONNECTION_|WebSocket") // while the hub is away
	prog.Kill9()
	prog.Restart()
	p.Open(prog.URL + "/machines")
	p.Wait(card("box2", "Online"))
	_ = box.cmd.Process.Signal(syscall.SIGTERM)
	if out, err := box.ends(); err != nil {
		t.Errorf("stopped: %v\n%s", err, out)
	}
	p.Wait(card("box2", "Offline since"))
	box.isKnown(prog, `ahphub_machine_connected{machine="box2"} 0`, "machine box2 is offline since")
	box.join(command[0])
	p.Wait(card("box2", "Online"))

	Eval[any](p, `(() => { const f = document.querySelector('#machines form[action$="/rename"]');
		f.elements.name.value = 'builder'; f.requestSubmit() })()`)
	p.Wait(card("builder", "Online"))

	start := time.Now()
	Eval[any](p, `document.querySelector('#machines form[action$="/revoke"] button').click()`)
	out, err := box.ends()
	checkPrompt(t, "throwing a machine out", start)
	if err == nil || !strings.Contains(out, "this machine was revoked") {
		t.Errorf("revoked: %v\n%s", err, out)
	}
	p.Wait(`document.querySelector('#machines').textContent.includes('No machines yet')`)
	box.join(command[0])
	if out, err := box.ends(); err == nil || !strings.Contains(out, "not a machine of this hub") {
		t.Errorf("revoked, it came back: %v\n%s", err, out)
	}

	p.Open(prog.URL + "/audit")
	for _, words := range []string{"added a machine: box2", "renamed a machine: builder", "revoked a machine: builder"} {
		p.WaitText("main", words)
	}
	if log := prog.Log(); strings.Contains(log, strings.TrimPrefix(command[2], "ahj1.")) {
		t.Error("the token is in the log")
	}
}
