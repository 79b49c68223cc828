package remote_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/localtest"
	"github.com/ahphub/ahphub/hub/machine/remote"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFilesCrossThePipe(t *testing.T) {
	m := localtest.Pipe(t, local.New())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	reach := machine.FileReach{Roots: []string{dir}}
	got, err := m.Files().Read(t.Context(), reach, "file://"+dir+"/a.txt")
	if err != nil || string(got.Data) != "hello" {
		t.Fatalf("%q, %v", got.Data, err)
	}
	_, err = m.Files().Read(t.Context(), reach, "file://"+dir+"/none.txt")
	if e, ok := errors.AsType[*ahp.Error](err); !ok || e.Code != ahp.CodeNotFound {
		t.Errorf("a missing file is %v", err)
	}
}

// A terminal's output, input, size, viewers and exit cross the connection.
func TestTerminalCrossesThePipe(t *testing.T) {
	m := localtest.Pipe(t, local.New())
	var mu sync.Mutex
	var said strings.Builder
	p, err := m.Terminals().Start(t.Context(),
		machine.TerminalSpec{Command: []string{"sh", "-c", "read x; echo got-$x; exit 3"},
			Dir: t.TempDir()}, func(actions []ahp.Action) {
			mu.Lock()
			defer mu.Unlock()
			for _, a := range actions {
				if d, ok := a.(*ahp.TerminalDataAction); ok {
					said.WriteString(d.Data)
				}
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write([]byte("abc\n")); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if code, ok := p.ExitCode(); code != 3 || !ok {
		t.Errorf("it exits with %d, %v", code, ok)
	}
	mu.Lock()
	if !strings.Contains(said.String(), "got-abc") {
		t.Errorf("it says %q", said.String())
	}
	mu.Unlock()
	v := p.Watch()
	defer v.Close()
	piece, err := v.Next(t.Context())
	if err != nil || !piece.Screen || !strings.Contains(string(piece.Data), "got-abc") {
		t.Errorf("a viewer sees %q, %v", piece.Data, err)
	}
}

// link is a machine whose connection can be cut.
type link struct {
	t    *testing.T
	near *remote.Machine
	far  *remote.Server
	wg   sync.WaitGroup
	cut  context.CancelFunc
}

func newLink(t *testing.T, m machine.Machine) *link {
	log := slog.New(slog.DiscardHandler)
	l := &link{t: t, near: remote.New(remote.Config{Log: log, Turn: 2 << 20}),
		far: remote.NewServer(m, remote.Config{Log: log})}
	t.Cleanup(func() {
		l.near.Close()
		l.cut()
		l.wg.Wait()
		l.far.Close()
	})
	l.connect()
	return l
}

func (l *link) connect() {
	l.t.Helper()
	hub, computer := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	l.cut = cancel
	l.wg.Go(func() { _ = l.far.Serve(ctx, computer) })
	l.wg.Go(func() { _ = l.near.Serve(ctx, hub) })
	ready, stop := context.WithTimeout(l.t.Context(), 30*time.Second)
	defer stop()
	if err := l.near.Ready(ready); err != nil {
		l.t.Fatal(err)
	}
}

func (l *link) drop() {
	l.cut()
	l.wg.Wait()
}

// counter emits letters, many of them.
type counter struct {
	agent.Backend
	most int
}

func (c counter) Open(context.Context, agent.Spec) (agent.Session, error) { return c, nil }
func (c counter) Close() error                                            { return nil }

func (c counter) Prompt(_ context.Context, t agent.Turn) error {
	for n := range c.most {
		if err := t.Out.Emit(&ahp.ChatDeltaAction{PartID: "p", Content: letter(n)}); err != nil {
			return err
		}
	}
	return nil
}

func letter(n int) string { return string(rune('a' + n%26)) }

// listener is an agent.Out that reports how much it received.
type listener struct {
	agent.Out
	mu   sync.Mutex
	news *sync.Cond
	said strings.Builder
}

func newListener() *listener {
	l := &listener{}
	l.news = sync.NewCond(&l.mu)
	return l
}

func (l *listener) Emit(a ahp.Action) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said.WriteString(a.(*ahp.ChatDeltaAction).Content)
	l.news.Broadcast()
	return nil
}

// waitFor waits until n letters were received.
func (l *listener) waitFor(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.said.Len() < n {
		l.news.Wait()
	}
}

// The output of an agent whose connection is cut repeatedly arrives in order, exactly once.
func TestTurnResumesAfterCut(t *testing.T) {
	const most, cuts = 6000, 20
	l := newLink(t, local.New(local.WithAgents(map[string]agent.Backend{"counter": counter{most: most}})))
	s, err := l.near.Agents()["counter"].Open(t.Context(), agent.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	out := newListener()
	ended := make(chan error, 1)
	go func() { ended <- s.Prompt(t.Context(), agent.Turn{ID: "t", Out: out}) }()
	for cut := range cuts {
		out.waitFor(cut * most / (cuts + 1))
		l.drop()
		l.connect()
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for n := range most {
		want.WriteString(letter(n))
	}
	if got := out.said.String(); got != want.String() {
		t.Errorf("%d letters arrived of %d, or others", len(got), want.Len())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// flooder emits more than a turn may hold.
type flooder struct{ counter }

func (f flooder) Open(context.Context, agent.Spec) (agent.Session, error) { return f, nil }

func (flooder) Prompt(_ context.Context, t agent.Turn) error {
	for text := strings.Repeat("x", 90<<10); ; {
		if err := t.Out.Emit(&ahp.ChatDeltaAction{PartID: "p", Content: text}); err != nil {
			return err
		}
	}
}

// A machine that exceeds the limit of a turn ends it, with a reason for people.
func TestMachineCannotSayTooMuch(t *testing.T) {
	l := newLink(t, local.New(local.WithAgents(map[string]agent.Backend{"flooder": flooder{}})))
	s, err := l.near.Agents()["flooder"].Open(t.Context(), agent.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	out := newListener()
	err = s.Prompt(t.Context(), agent.Turn{ID: "t", Out: out})
	if f, ok := errors.AsType[*agent.Failure](err); !ok || !strings.Contains(f.Message, "2 MB") {
		t.Errorf("the turn ends with %v", err)
	}
	if n := out.said.Len(); n > 2<<20 {
		t.Errorf("%d bytes of it reach the hub", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// liar is a computer whose terminals send actions that only agents and people may cause.
type liar struct{ machine.Machine }

func (l liar) Terminals() machine.Terminals { return lies{l.Machine.Terminals()} }

type lies struct{ machine.Terminals }

func (l lies) Start(ctx context.Context, spec machine.TerminalSpec, emit func([]ahp.Action)) (machine.Terminal, error) {
	return l.Terminals.Start(ctx, spec, func(actions []ahp.Action) {
		emit(append([]ahp.Action{&ahp.SessionTitleChangedAction{Title: "mine"}, &ahp.TerminalClaimedAction{}},
			actions...))
	})
}

// A terminal's program can cause only terminal actions.
func TestTerminalCausesOnlyItsActions(t *testing.T) {
	m := localtest.Pipe(t, liar{local.New()})
	var mu sync.Mutex
	var got []ahp.Action
	p, err := m.Terminals().Start(t.Context(), machine.TerminalSpec{Command: []string{"echo", "hello"},
		Dir: t.TempDir()},
		func(actions []ahp.Action) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, actions...)
		})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	runtime.KeepAlive(p)
	mu.Lock()
	defer mu.Unlock()
	for _, a := range got {
		if !strings.HasPrefix(a.ActionType(), "terminal/") || a.ActionType() == "terminal/claimed" {
			t.Errorf("%s is taken from a terminal", a.ActionType())
		}
	}
	if len(got) == 0 {
		t.Error("nothing is taken from it")
	}
}
