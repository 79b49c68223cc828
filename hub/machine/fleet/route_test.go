package fleet_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/fleet"
	"github.com/ahphub/ahphub/hub/machine/localtest"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// pair is a hub's own computer and the member box, which is named box2 and may be offline.
type pair struct {
	*fleet.Route
	here, there string // a directory of each, with a file a.txt
	data        string // of the hub
	reach       machine.FileReach
	member      fleet.Member
	changed     chan struct{}
}

func (p *pair) Machines() []fleet.Member                        { return []fleet.Member{p.member} }
func (p *pair) Watch() (changed <-chan struct{}, cancel func()) { return p.changed, func() {} }

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{here: realTemp(t), there: realTemp(t), data: realTemp(t)}
	p.member = fleet.Member{ID: "box", Name: "box2", Online: true, Machine: localtest.New(t, realTemp(t))}
	p.Route = fleet.NewRoute(localtest.New(t, p.data), p)
	p.reach.Roots = []string{p.here, "/machines/box" + p.there}
	for _, dir := range []string{p.here, p.there} {
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("in "+dir), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// remote returns the hub's spelling of a path of the member.
func remote(path string) string { return "/machines/box" + path }

func TestFilesAreReadWhereTheyLie(t *testing.T) {
	p := newPair(t)
	for _, path := range []string{p.here + "/a.txt", remote(p.there + "/a.txt")} {
		got, err := p.Files().Read(t.Context(), p.reach, "file://"+path)
		dir := strings.TrimPrefix(string(got.Data), "in ")
		if err != nil || got.Path != path || !strings.HasSuffix(path, dir+"/a.txt") {
			t.Errorf("%s is %q at %q, %v", path, got.Data, got.Path, err)
		}
		found, err := p.Files().Resolve(t.Context(), p.reach, "file://"+path, true)
		if err != nil || found.URI != "file://"+path {
			t.Errorf("%s stands for %q, %v", path, found.URI, err)
		}
		looked, err := p.Files().Look(t.Context(), "file://"+path)
		if err != nil || looked.Path != path {
			t.Errorf("%s is found at %q, %v", path, looked.Path, err)
		}
	}
}

// A directory of one computer does not open the same path on another.
func TestReachIsOfOneMachine(t *testing.T) {
	p := newPair(t)
	for _, path := range []string{p.there + "/a.txt", remote(p.here + "/a.txt")} {
		for name, reach := range map[string]machine.FileReach{"roots": p.reach, "grants": {Granted: []machine.FileGrant{
			{Path: p.here, Dir: true}, {Path: remote(p.there), Dir: true}}}} {
			_, err := p.Files().Read(t.Context(), reach, "file://"+path)
			if e, ok := errors.AsType[*ahp.Error](err); !ok || e.Code != ahp.CodePermissionDenied {
				t.Errorf("%s is opened by the %s of the other computer: %v", path, name, err)
			}
		}
	}
}

func TestFilesAreWrittenWhereTheyBelong(t *testing.T) {
	p := newPair(t)
	files, base := p.Files(), "file://"+remote(p.there)
	steps := []error{
		files.CheckOpen(t.Context(), p.reach, base+"/dir", true),
		files.Mkdir(t.Context(), p.reach, base+"/dir"),
		files.Write(t.Context(), p.reach, ahp.ResourceWriteParams{URI: base + "/dir/b", Data: "b", Encoding: "utf-8"}),
		files.Copy(t.Context(), p.reach, ahp.ResourceCopyParams{Source: base + "/dir/b", Destination: base + "/c"}),
		files.Move(t.Context(), p.reach, ahp.ResourceMoveParams{Source: base + "/c", Destination: base + "/d"}),
		files.Delete(t.Context(), p.reach, base+"/dir/b", false),
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	list, err := files.List(t.Context(), p.reach, base)
	var names []string
	for _, e := range list.Entries {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	if err != nil || !slices.Equal(names, []string{"a.txt", "d", "dir"}) {
		t.Errorf("there are %q, %v", names, err)
	}
	if text, err := os.ReadFile(filepath.Join(p.there, "d")); err != nil || string(text) != "b" {
		t.Errorf("the copy holds %q, %v", text, err)
	}
}

func TestCallsAboutTwoMachinesAreRefused(t *testing.T) {
	p := newPair(t)
	here, there := "file://"+p.here, "file://"+remote(p.there)
	_, started := p.Terminals().Start(t.Context(), machine.TerminalSpec{Command: []string{"true"},
		Dir: remote(p.there), Sandbox: &sandbox.Policy{Write: []string{p.here}}}, func([]ahp.Action) {})
	for name, err := range map[string]error{
		"copy": p.Files().Copy(t.Context(), p.reach,
			ahp.ResourceCopyParams{Source: here + "/a.txt", Destination: there + "/b"}),
		"move": p.Files().Move(t.Context(), p.reach,
			ahp.ResourceMoveParams{Source: there + "/a.txt", Destination: here + "/b"}),
		"sandbox":  p.CheckSandbox(&sandbox.Policy{Write: []string{p.here}, Read: []string{remote(p.there)}}),
		"terminal": started,
	} {
		if e, ok := errors.AsType[*ahp.Error](err); !ok || e.Code != ahp.CodeInvalidParams ||
			!strings.Contains(e.Message, "two machines") {
			t.Errorf("%s is refused with %v", name, err)
		}
	}
}

func TestErrorsSpellPathsAsTheHubDoes(t *testing.T) {
	p := newPair(t)
	uri := "file://" + remote(p.there+"/none.txt")
	_, err := p.Files().Read(t.Context(), p.reach, uri)
	e, ok := errors.AsType[*ahp.Error](err)
	if !ok || e.Code != ahp.CodeNotFound || !strings.Contains(e.Message, uri) ||
		strings.Count(e.Message, p.there) != strings.Count(e.Message, remote(p.there)) {
		t.Errorf("a missing file is %v", err)
	}
}

func TestMachinesThatAreAwayAreNamed(t *testing.T) {
	p := newPair(t)
	uri := "file://" + remote(p.there) + "/a.txt"
	if _, err := p.Files().Read(t.Context(), p.reach, "file:///machines/gone/a.txt"); err == nil ||
		!strings.Contains(err.Error(), "no machine gone") {
		t.Errorf("a revoked machine is %v", err)
	}
	p.member.Online = false
	_, read := p.Files().Read(t.Context(), p.reach, uri)
	_, start := p.Terminals().Start(t.Context(), machine.TerminalSpec{Dir: remote(p.there)}, func([]ahp.Action) {})
	for name, err := range map[string]error{"read": read, "start": start,
		"check": p.CheckSandbox(&sandbox.Policy{Write: []string{remote(p.there)}})} {
		if !errors.Is(err, machine.ErrOffline) || !strings.Contains(err.Error(), "box2 is offline") {
			t.Errorf("%s of a machine that is offline is %v", name, err)
		}
	}
	if !p.Files().IsWide(t.Context(), []string{remote(p.there)}) {
		t.Error("a directory of which nothing is known is taken for a narrow one")
	}
	places := p.Files().Places(t.Context(), []string{remote(p.there)}, nil)
	if !strings.Contains(places[0].Closed, "box2") {
		t.Errorf("it is %+v", places[0])
	}
	if _, err := p.Files().Read(t.Context(), p.reach, "file://"+p.here+"/a.txt"); err != nil {
		t.Errorf("the hub's own computer: %v", err)
	}
}

func TestPathsOfSeveralMachinesKeepTheirOrder(t *testing.T) {
	p := newPair(t)
	if err := os.Symlink(p.there, filepath.Join(p.there, "link")); err != nil {
		t.Fatal(err)
	}
	asked := []string{remote(p.there + "/link"), p.here, "/machines/gone/a", remote(p.data), p.data}
	got := p.Files().RealPaths(t.Context(), asked)
	if want := []string{remote(p.there), p.here, "", remote(p.data), p.data}; !slices.Equal(got, want) {
		t.Errorf("they are %q, want %q", got, want)
	}
	places := p.Files().Places(t.Context(), asked, nil)
	for i, exists := range []bool{true, true, false, true, true} {
		if places[i].Exists != exists || (places[i].Closed != "") != (i == 2 || i == 4) { // each computer closes its own data
			t.Errorf("%s is %+v", asked[i], places[i])
		}
	}
	if p.Files().IsWide(t.Context(), []string{p.here, remote(p.there)}) ||
		!p.Files().IsWide(t.Context(), []string{p.here, remote("/")}) {
		t.Error("the root of another computer is not told from a directory")
	}
}

func TestWatchesSpellPathsAsTheHubDoes(t *testing.T) {
	p := newPair(t)
	w, err := p.Files().Watch(t.Context(), p.reach, ahp.CreateResourceWatchParams{URI: "file://" + remote(p.there)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	changes := make(chan ahp.ResourceChange, 100)
	var wg sync.WaitGroup
	wg.Go(func() {
		w.Run(ctx, func(list []ahp.ResourceChange) {
			for _, c := range list {
				select {
				case changes <- c:
				default:
				}
			}
		})
	})
	if err := os.WriteFile(filepath.Join(p.there, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if c := <-changes; c.URI != "file://"+remote(p.there+"/new") {
		t.Errorf("it tells of %s", c.URI)
	}
	cancel()
	wg.Wait()
}

func TestTerminalsRunWhereTheirDirectoryIs(t *testing.T) {
	p := newPair(t)
	for _, dir := range []string{p.here, remote(p.there)} {
		var mu sync.Mutex
		var said strings.Builder
		var cwd []string
		started, err := p.Terminals().Start(t.Context(), machine.TerminalSpec{Dir: dir, Command: []string{"sh", "-c",
			`cat a.txt; printf '\033]7;file://%s/sub\007' "$(pwd)"`}}, func(actions []ahp.Action) {
			mu.Lock()
			defer mu.Unlock()
			for _, a := range actions {
				switch a := a.(type) {
				case *ahp.TerminalDataAction:
					said.WriteString(a.Data)
				case *ahp.TerminalCwdChangedAction:
					cwd = append(cwd, a.Cwd)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		<-started.Done()
		runtime.KeepAlive(started)
		mu.Lock()
		if !strings.Contains(said.String(), "in "+strings.TrimPrefix(dir, "/machines/box")) ||
			!slices.Contains(cwd, "file://"+dir+"/sub") {
			t.Errorf("in %s it says %q and is in %q", dir, said.String(), cwd)
		}
		mu.Unlock()
	}
	if p.Terminals().DrawText("a\r\n", 80, 24) == "" || len(p.Terminals().Shells()) == 0 {
		t.Error("there are no shells, or nothing is drawn")
	}
}

// forgetful records the sessions that it forgets.
type forgetful struct {
	machine.Machine
	sessions []string
	err      error
}

func (f *forgetful) Forget(session string) error {
	f.sessions = append(f.sessions, session)
	return f.err
}

func TestSessionsAreForgottenOnAllMachines(t *testing.T) {
	own, box := &forgetful{}, &forgetful{}
	p := &pair{member: fleet.Member{ID: "box", Name: "box2", Online: true, Machine: box}}
	r := fleet.NewRoute(own, p)
	defer r.Close()
	if err := r.Forget("s"); err != nil || !slices.Equal(own.sessions, []string{"s"}) ||
		!slices.Equal(box.sessions, []string{"s"}) {
		t.Errorf("own forgets %q and box2 %q: %v", own.sessions, box.sessions, err)
	}
	box.err = errors.New("disk error")
	if err := r.Forget("s"); !errors.Is(err, box.err) || !strings.Contains(err.Error(), "box2") {
		t.Errorf("a failure is told as %v", err)
	}
	p.member.Online = false
	if err := r.Forget("s"); err != nil || len(own.sessions) != 3 || len(box.sessions) != 2 {
		t.Errorf("own forgets %q and box2 %q, which is offline: %v", own.sessions, box.sessions, err)
	}
}

// Directories that the hub opens on its own computer for all programs, such as installed agents, do not prevent
// sessions on other computers.
func TestOwnDirectoriesOfTheHubStayOutOfSandboxesElsewhere(t *testing.T) {
	p := newPair(t)
	err := p.CheckSandbox(&sandbox.Policy{Write: []string{remote(p.there)}, Read: []string{p.here}})
	if err != nil && strings.Contains(err.Error(), "two machines") {
		t.Error(err)
	}
}
