package fence_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/fence"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

// asker records the specs of its sessions.
type asker struct {
	agent.Backend
	spec agent.Spec
}

func (a *asker) Open(_ context.Context, spec agent.Spec) (agent.Session, error) {
	a.spec = spec
	return session{}, nil
}

type session struct{ agent.Session }

func (session) Close() error { return nil }

// world is a machine that opens one directory, as its hub reaches it.
type world struct {
	machine.Machine
	open, closed, data string
	agent              *asker
	guard              *guard.Guard
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{open: filepath.Join(home, "src"), closed: filepath.Join(home, "src-private"),
		data: filepath.Join(home, "data"), agent: &asker{}}
	for _, dir := range []string{filepath.Join(w.open, "repo"), w.closed, w.data} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{filepath.Join(w.open, "repo"), w.closed, w.data} {
		if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("secret of "+filepath.Base(dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := localtest.NewGuard(t, w.data)
	w.guard = g
	g.StayWithin("box2", []string{w.open})
	w.Machine = localtest.Pipe(t, fence.New(local.New(local.WithData(local.Data{Dir: w.data, Guard: g}),
		local.WithAgents(map[string]agent.Backend{"asker": w.agent})),
		fence.Config{Guard: g, Dirs: []string{w.open}, Data: filepath.Join(w.data, "agents")}))
	return w
}

func (w *world) link(t *testing.T, to, at string) string {
	t.Helper()
	path := filepath.Join(w.open, at)
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func uriOf(path string) ahp.URI { return ahp.URI("file://" + path) }

// checkRefused checks that an error refuses a place, and names the machine and the option.
func checkRefused(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "box2") || !strings.Contains(err.Error(), "--dir") {
		t.Errorf("%s: %v", what, err)
	}
}

func TestMachineOpensItsDirectoriesAlone(t *testing.T) {
	w := newWorld(t)
	all := machine.FileReach{Roots: []string{"/"}} // from a hostile hub
	got, err := w.Files().Read(t.Context(), all, uriOf(w.open+"/repo/note.txt"))
	_ = err // the root itself is refused
	if len(got.Data) > 0 {
		t.Errorf("through the root %q is read", got.Data)
	}
	got, err = w.Files().Read(t.Context(), machine.FileReach{Roots: []string{w.open}}, uriOf(w.open+"/repo/note.txt"))
	if err != nil || string(got.Data) != "secret of repo" {
		t.Fatalf("what is open: %q, %v", got.Data, err)
	}
	outward := w.link(t, w.closed, "outward")
	for what, path := range map[string]string{"a neighbour": w.closed, "a link": outward,
		"dots": w.open + "/../src-private", "the data": w.data} {
		for name, reach := range map[string]machine.FileReach{"root": {Roots: []string{path}}, "all": all,
			"grant": {Granted: []machine.FileGrant{{Path: w.closed, Dir: true, Write: true}}}} {
			files, uri := w.Files(), uriOf(path+"/note.txt")
			if got, err := files.Read(t.Context(), reach, uri); err == nil {
				t.Errorf("%s by %s: %q is read", what, name, got.Data)
			}
			if _, err := files.List(t.Context(), reach, uriOf(path)); err == nil {
				t.Errorf("%s by %s: it is listed", what, name)
			}
			if err := files.Mkdir(t.Context(), reach, uriOf(path+"/made")); err == nil {
				t.Errorf("%s by %s: a directory is made", what, name)
			}
			if err := files.Delete(t.Context(), reach, uri, false); err == nil {
				t.Errorf("%s by %s: it is deleted", what, name)
			}
		}
	}
	_, err = w.Files().Read(t.Context(), machine.FileReach{Roots: []string{w.closed}}, uriOf(w.closed+"/note.txt"))
	checkRefused(t, "reading", err)
	if real := w.Files().RealPaths(t.Context(), []string{w.closed, outward, w.open}); real[0] != "" || real[1] != "" ||
		real[2] != w.open {
		t.Errorf("paths are %q", real)
	}
	if p := w.Files().Places(t.Context(), []string{w.closed, w.open}, nil); p[0].Exists || !p[1].Exists {
		t.Errorf("places are %+v", p)
	}
}

// A directory that is repeatedly replaced by a link while it is read reveals nothing outside.
func TestReplacedDirectoryStaysInside(t *testing.T) {
	w := newWorld(t)
	place, aside := filepath.Join(w.open, "repo"), filepath.Join(w.open, "aside")
	stop := make(chan struct{})
	var reads atomic.Int64
	await := func() { // until the reader has read once more
		for n := reads.Load(); reads.Load() == n; runtime.Gosched() {
			select {
			case <-stop:
				return
			default:
			}
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(place, aside) // whatever the reader sees
			_ = os.Symlink(w.closed, place)
			await()
			_ = os.Remove(place)
			_ = os.Rename(aside, place)
			await()
		}
	})
	for range 300 {
		got, err := w.Files().Read(t.Context(), machine.FileReach{Roots: []string{place}}, uriOf(place+"/note.txt"))
		if err == nil && string(got.Data) != "secret of repo" {
			t.Errorf("%q is read", got.Data)
		}
		reads.Add(1)
	}
	close(stop)
	wg.Wait()
}

func TestProgramsBeginInsideTheMachinesDirectories(t *testing.T) {
	w := newWorld(t)
	outward := w.link(t, w.closed, "outward")
	for _, dir := range []string{w.closed, outward, w.open + "/../src-private", w.data, "/"} {
		_, err := w.Terminals().Start(t.Context(), machine.TerminalSpec{Command: []string{"true"}, Dir: dir},
			func([]ahp.Action) {})
		checkRefused(t, "a terminal in "+dir, err)
		_, err = w.Agents()["asker"].Open(t.Context(), agent.Spec{Dirs: []string{w.open, dir}, Log: slog.Default()})
		checkRefused(t, "an agent in "+dir, err)
	}
	p, err := w.Terminals().Start(t.Context(), machine.TerminalSpec{Command: []string{"true"}}, func([]ahp.Action) {})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
}

func TestMachineChoosesTheAgentsDirectories(t *testing.T) {
	w := newWorld(t)
	s, err := w.Agents()["asker"].Open(t.Context(), agent.Spec{Session: "ahp-session:/../../x", Dirs: []string{w.open},
		Data: w.closed, Sent: w.closed, Work: w.closed, Worktrees: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	spec := w.agent.spec
	for _, dir := range []string{spec.Data, spec.Sent, spec.Work} {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || !strings.HasPrefix(dir, w.data+"/agents/") {
			t.Errorf("the agent has %s, %v", dir, err)
		}
	}
	if len(spec.Worktrees) > 0 {
		t.Errorf("the hub opens the worktrees %q", spec.Worktrees)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if !guard.IsRefusal(&guard.OutsideError{Machine: "box2"}) {
		t.Error("being outside is no refusal")
	}
}

func TestRefusalsNameTheMachineAsItIsCalledNow(t *testing.T) {
	w := newWorld(t)
	w.guard.Rename("builder")
	_, err := w.Files().Read(t.Context(), machine.FileReach{Roots: []string{w.closed}}, uriOf(w.closed+"/note.txt"))
	if err == nil || !strings.Contains(err.Error(), "builder") || strings.Contains(err.Error(), "box2") {
		t.Errorf("it is refused with %v", err)
	}
}
