package remote_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/remote"
)

// waiter plays turns that last until they are cancelled, and counts concurrent ones.
type waiter struct {
	agent.Backend
	begun, ended, closed chan struct{}

	mu      sync.Mutex
	playing int
	most    int
}

func newWaiter() *waiter {
	return &waiter{begun: make(chan struct{}, 10), ended: make(chan struct{}, 10), closed: make(chan struct{}, 10)}
}

func (w *waiter) Open(context.Context, agent.Spec) (agent.Session, error) { return w, nil }

func (w *waiter) Prompt(ctx context.Context, _ agent.Turn) error {
	w.mu.Lock()
	w.playing++
	w.most = max(w.most, w.playing)
	w.mu.Unlock()
	w.begun <- struct{}{}
	<-ctx.Done()
	w.mu.Lock()
	w.playing--
	w.mu.Unlock()
	w.ended <- struct{}{}
	return context.Cause(ctx)
}

func (w *waiter) Close() error { w.closed <- struct{}{}; return nil }

// await fails a test if nothing is received in time.
func await[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatalf("%s: nothing happens", what)
	}
	return v
}

// startSleeper starts a program that runs until it is killed, and returns its process id.
func startSleeper(t *testing.T, m machine.Machine) (machine.Terminal, int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	wrote := make(chan struct{})
	once := sync.OnceFunc(func() { close(wrote) })
	p, err := m.Terminals().Start(t.Context(), machine.TerminalSpec{Dir: t.TempDir(), Grace: time.Millisecond,
		Command: []string{"sh", "-c", "echo $$ > '" + file + "'; echo ready; exec sleep 1000"}},
		func([]ahp.Action) { once() })
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the program says something", wrote)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return p, pid
}

func isRunning(pid int) bool { return syscall.Kill(pid, 0) == nil }

func waitForEnd(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); isRunning(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d does not end", pid)
		}
	}
}

func TestCancelReturnsWhileMachineIsOffline(t *testing.T) {
	w := newWaiter()
	l := newLink(t, local.New(local.WithAgents(map[string]agent.Backend{"waiter": w})))
	s, err := l.near.Agents()["waiter"].Open(t.Context(), agent.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	prompt := func() (context.CancelCauseFunc, chan error) {
		ctx, cancel := context.WithCancelCause(t.Context())
		over := make(chan error, 1)
		go func() { over <- s.Prompt(ctx, agent.Turn{ID: "t", Chat: "ahp-chat:/c", Out: newListener()}) }()
		return cancel, over
	}
	stopped := errors.New("stopped by a person")
	cancel, over := prompt()
	await(t, "the turn begins", w.begun)
	l.drop()
	cancel(stopped)
	if err := await(t, "a cancelled turn", over); !errors.Is(err, stopped) {
		t.Errorf("the turn ends with %v", err)
	}
	cancel, over = prompt()
	l.connect()
	await(t, "the cancelled turn ends on the machine", w.ended)
	await(t, "the next turn begins", w.begun)
	cancel(nil)
	await(t, "the next turn", over)
	if w.most != 1 {
		t.Errorf("%d turns of one chat ran at once", w.most)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestCloseAndKillReturnWhileMachineIsOffline(t *testing.T) {
	w := newWaiter()
	l := newLink(t, local.New(local.WithAgents(map[string]agent.Backend{"waiter": w})))
	s, err := l.near.Agents()["waiter"].Open(t.Context(), agent.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	p, pid := startSleeper(t, l.near)
	l.drop()
	closed, killed := make(chan error, 1), make(chan error, 1)
	go func() { closed <- s.Close() }()
	go func() { killed <- p.Kill() }()
	if err := errors.Join(await(t, "closing an agent", closed), await(t, "killing a terminal", killed)); err != nil {
		t.Error(err)
	}
	await(t, "the end of the terminal", p.Done())
	if !isRunning(pid) {
		t.Error("the program ended before the machine came back")
	}
	l.connect()
	await(t, "the agent is closed on the machine", w.closed)
	waitForEnd(t, pid)
}

// A restarted hub first ends everything that its earlier run started on its machines.
func TestRestartedHubEndsWhatItRan(t *testing.T) {
	w := newWaiter()
	l := newLink(t, local.New(local.WithAgents(map[string]agent.Backend{"waiter": w})))
	if _, err := l.near.Agents()["waiter"].Open(t.Context(), agent.Spec{}); err != nil {
		t.Fatal(err)
	}
	_, pid := startSleeper(t, l.near)
	l.drop() // abruptly, like a crash
	crashed := l.near
	defer crashed.Close()
	l.near = remote.New(remote.Config{Log: slog.New(slog.DiscardHandler)})
	l.connect()
	select {
	case <-w.closed:
	default:
		t.Error("the agent of the hub that is gone is still open")
	}
	if isRunning(pid) {
		t.Errorf("the program %d of the hub that is gone still runs", pid)
	}
}

// A hub that reconnects in the same run finds its sessions; an older run that is still active finds nothing.
func TestEarlierRunCannotAttach(t *testing.T) {
	w := newWaiter()
	l := newLink(t, local.New(local.WithAgents(map[string]agent.Backend{"waiter": w})))
	old := l.near
	defer old.Close()
	s, err := old.Agents()["waiter"].Open(t.Context(), agent.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	l.drop()
	l.near = remote.New(remote.Config{Log: slog.New(slog.DiscardHandler)})
	l.connect()
	hub, computer := net.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { _ = l.far.Serve(ctx, computer) })
	wg.Go(func() { _ = old.Serve(ctx, hub) })
	if err := s.Prompt(t.Context(), agent.Turn{ID: "t", Out: newListener()}); err == nil {
		t.Error("a turn is played in a session that ended")
	}
}
