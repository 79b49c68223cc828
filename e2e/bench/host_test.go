package bench

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

const token = "bench-token-0123456789abcdef"

// host is the real program in a process of its own, with the script agent.
type host struct {
	cmd  *exec.Cmd
	ahp  string
	data string
	err  bytes.Buffer
}

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ahphub-bench")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "ahphub")
	out, err := exec.Command("go", "build", "-o", bin, "github.com/ahphub/ahphub/cmd/ahphub").CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
	}
	return bin, err
})

func startHost(b testing.TB, data string) *host {
	b.Helper()
	bin, err := build()
	if err != nil {
		b.Fatal(err)
	}
	h := &host{cmd: exec.Command(bin, "serve", "--listen", "127.0.0.1:0", "--data", data, "--agent", "script"), data: data}
	h.cmd.Env = append(os.Environ(), "AHPHUB_TOKEN="+token)
	h.cmd.Stderr = &h.err
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(h.stop)
	for s := bufio.NewScanner(out); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "ahp="); ok {
			h.ahp = v
			go drainLines(s)
			return h
		}
	}
	b.Fatalf("the program did not say its address: %s", h.err.String())
	return nil
}

func drainLines(s *bufio.Scanner) {
	for s.Scan() {
	}
}

func (h *host) stop() {
	if h.cmd.ProcessState != nil {
		return
	}
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	_ = h.cmd.Wait()
}

// rss is the program's resident memory in bytes.
func (h *host) rss(b testing.TB) int64 {
	b.Helper()
	raw, err := os.ReadFile(filepath.Join("/proc", pid(h.cmd), "status"))
	if err != nil {
		b.Skip("resident memory is read from /proc, which is not here")
	}
	return kilobytes(string(raw), "VmRSS:") << 10
}

func (h *host) peer(b testing.TB, id string) *peer.Peer {
	b.Helper()
	p, err := peer.Dial(b.Context(), h.ahp, peer.Options{Token: token, ClientID: id})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close() })
	return p
}

// session makes a session and returns it with its default chat, both followed.
func session(b testing.TB, p *peer.Peer) (uri, chat ahp.URI) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 20*time.Second)
	defer cancel()
	uri = "ahp-session:/" + uuid.NewString()
	check(b, p.Call(ctx, "createSession", &ahp.CreateSessionParams{Channel: uri, Provider: "script"}, nil))
	check(b, p.Subscribe(ctx, uri))
	check(b, p.Wait(ctx, func() bool {
		s, ok := p.State(uri).(*ahp.SessionState)
		return ok && s.Lifecycle == ahp.SessionLifecycleReady && s.DefaultChat != ""
	}))
	return uri, p.State(uri).(*ahp.SessionState).DefaultChat
}

func prompt(b testing.TB, p *peer.Peer, chat ahp.URI, text string) {
	b.Helper()
	_, err := p.Dispatch(b.Context(), chat, &ahp.ChatTurnStartedAction{
		TurnID: uuid.NewString(), StartedAt: time.Now().UTC().Format(time.RFC3339Nano),
		Message: ahp.Message{Text: text, Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}},
	})
	check(b, err)
}

// idle waits until the chat's turns are all ended.
func idle(b testing.TB, p *peer.Peer, chat ahp.URI, turns int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	check(b, p.Wait(ctx, func() bool {
		s, ok := p.State(chat).(*ahp.ChatState)
		return ok && s.ActiveTurn == nil && len(s.Turns) >= turns
	}))
}

func check(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
