package fleet_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/agenttest"
	"github.com/ahphub/ahphub/hub/agent/shell"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/fence"
	"github.com/ahphub/ahphub/hub/machine/fleet"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/localtest"
	"github.com/ahphub/ahphub/hub/mcp/dial"
)

// newJoined returns a hub's own computer and the member box as it joins: behind its fence, at the other end of a
// connection. Each has a repository with one commit of a file a.txt; the member opens only its own.
func newJoined(t *testing.T) *pair {
	t.Helper()
	p := &pair{here: realTemp(t), there: realTemp(t), data: realTemp(t)}
	for _, dir := range []string{p.here, p.there} {
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		runGit(t, dir, "init", "-q", "-b", "main")
		runGit(t, dir, "add", ".")
		runGit(t, dir, "-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-qm", "first")
	}
	data := realTemp(t)
	g := localtest.NewGuard(t, data)
	g.StayWithin("box2", []string{p.there})
	agents := func() local.Option {
		return local.WithAgents(map[string]agent.Backend{shell.Provider: shell.Backend{}})
	}
	customs := func() local.Option {
		return local.WithCustoms(custom.NewLibrary(custom.Limits{}, slog.New(slog.DiscardHandler)), dial.Dialer{})
	}
	box := fence.New(local.New(agents(), customs(), local.WithData(local.Data{Dir: data, Guard: g})),
		fence.Config{Guard: g, Dirs: []string{p.there}, Data: filepath.Join(data, "agents")})
	p.member = fleet.Member{ID: "box", Name: "box2", Online: true, Machine: localtest.Pipe(t, box)}
	p.Route = fleet.NewRoute(localtest.New(t, p.data, agents(), customs()), p)
	t.Cleanup(p.Route.Close)
	return p
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// routedHost runs an agent's commands in the terminals of all computers.
type routedHost struct {
	agenttest.Host
	p *pair
}

func (h *routedHost) Terminal(ctx context.Context, spec agent.TerminalSpec) (agent.Terminal, error) {
	started, err := h.p.Terminals().Start(ctx, machine.TerminalSpec{Command: spec.Command, Dir: spec.Dir,
		Env: spec.Env},
		func([]ahp.Action) {})
	if err != nil {
		return nil, err
	}
	return routedTerminal{started}, nil
}

type routedTerminal struct{ machine.Terminal }

func (routedTerminal) URI() ahp.URI { return "ahp-terminal:/1" }

func (t routedTerminal) Wait(ctx context.Context) (int, string, error) {
	select {
	case <-t.Done():
		code, _ := t.ExitCode()
		text, err := t.Text(ctx)
		return code, text, err
	case <-ctx.Done():
		return 0, "", ctx.Err()
	}
}

func (t routedTerminal) Kill() { _ = t.Terminal.Kill() } // it is gone

// A session on a member works with the hub's paths: its agent's command, the checkpoints around it, the review of the
// changes, and a person's actions on them.
func TestSessionOnMemberIsReviewed(t *testing.T) {
	p := newJoined(t)
	for name, dir := range map[string]string{"shell": p.here, "shell+box": remote(p.there)} {
		t.Run(name, func(t *testing.T) { reviewSession(t, p, name, dir) })
	}
}

func reviewSession(t *testing.T, p *pair, provider, dir string) {
	ctx, changes, dirs := t.Context(), p.Changes(), []string{dir}
	ws := machine.Workspace{Session: provider + ":/s", Dirs: dirs}
	before, err := changes.Checkpoint(ctx, ws, dirs)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := changes.Watch(ctx, ws, dirs, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	playShell(t, p, provider, dir)
	if said := <-watch.Written(); !slices.ContainsFunc(said.Paths, func(path string) bool {
		return path == dir || strings.HasPrefix(path, dir+"/")
	}) && !said.Whole {
		t.Errorf("the watch tells of %q", said.Paths)
	}
	after, err := changes.Checkpoint(ctx, ws, dirs)
	if err != nil || len(after.Trees) != 1 || after.Trees[0].Dir != dir || after.Trees[0].Top != dir {
		t.Fatalf("the checkpoint is %+v, %v", after, err)
	}
	files, err := changes.Compare(ctx, ws, before, after)
	if err != nil || len(files) != 1 || files[0].Name() != dir+"/a.txt" || files[0].Additions != 1 {
		t.Fatalf("changed are %+v, %v", files, err)
	}
	old, err := changes.Content(ctx, ws, files[0].OldOID)
	kept := changes.Contents(ctx, ws, []string{files[0].NewOID})
	if err != nil || string(old) != "one\n" || string(kept[files[0].NewOID]) != "one\ntwo\n" {
		t.Errorf("its sides are %q, %v, and %q", old, err, kept)
	}
	patch, err := changes.Patch(ctx, ws, before, after)
	if err != nil || !strings.Contains(string(patch), "+two") {
		t.Errorf("the patch is %q, %v", patch, err)
	}
	out, err := changes.CheckedOut(ctx, ws, dir)
	if err != nil || out.Branch != "main" || !changes.IsCurrent(ctx, out.Stamp) {
		t.Errorf("it has %+v, %v", out, err)
	}
	if err := changes.Keep(ctx, ws, after); err != nil {
		t.Error(err)
	}
	actOnReview(t, changes, ws, after, files)
	tracked, err := changes.TrackedFiles(ctx, ws, dirs)
	if err != nil || !slices.Equal(tracked, []string{dir + "/a.txt"}) {
		t.Errorf("tracked are %q, %v", tracked, err)
	}
	if err := changes.Drop(ctx, ws); err != nil {
		t.Error(err)
	}
}

// playShell lets the shell agent append a line to a.txt.
func playShell(t *testing.T, p *pair, provider, dir string) {
	t.Helper()
	s, err := p.Agents()[provider].Open(t.Context(), agent.Spec{Session: provider + ":/s", Dirs: []string{dir},
		Data: realTemp(t), Host: &routedHost{p: p}, Config: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	turn, prompt := agenttest.New(agenttest.User("echo two >> a.txt"))
	if err := s.Prompt(t.Context(), prompt); err != nil {
		t.Fatal(err)
	}
	if said := agenttest.Text(turn.End(nil)); !strings.Contains(said, "Ran") {
		t.Errorf("the agent says %q", said)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// actOnReview reverts, takes the revert back, stages, and commits.
func actOnReview(t *testing.T, changes machine.Changes, ws machine.Workspace, now machine.Checkpoint,
	files []machine.ChangedFile) {
	t.Helper()
	ctx := t.Context()
	revert, err := changes.PlanRevert(ctx, ws, now.Trees, files, nil)
	if err != nil || len(revert.Files) != 1 || revert.Files[0].Top != ws.Dirs[0] {
		t.Fatalf("the plan is %+v, %v", revert, err)
	}
	if err := errors.Join(changes.CarryOut(ctx, ws, revert)); err != nil || !changes.CanTakeBack(ctx, ws, revert) {
		t.Fatalf("it is not carried out: %v", err)
	}
	path := []string{ws.Dirs[0] + "/a.txt"}
	texts, err := changes.Texts(ctx, ws, ws.Dirs, path)
	if err != nil || texts[0].Path != path[0] || string(texts[0].Data) != "one\n" {
		t.Errorf("reverted, it is %+v, %v", texts, err)
	}
	if err := changes.TakeBack(ctx, ws, revert); err != nil {
		t.Fatal(err)
	}
	if n, err := changes.Stage(ctx, ws, now.Trees, files, nil); n != 1 || err != nil {
		t.Errorf("%d files are staged: %v", n, err)
	}
	staging, err := changes.Staging(ctx, ws, ws.Dirs)
	if err != nil || staging.Of(files[0]) != machine.StagedAll {
		t.Errorf("staged is %+v, %v", staging, err)
	}
	done, err := changes.Commit(ctx, ws, now.Trees, files, machine.Commit{Message: "second", Name: "n",
		Email: "e@example.com"})
	if err != nil || done.Branch != "main" || done.Files != 1 {
		t.Errorf("committed is %+v, %v", done, err)
	}
}

func TestChangesOfTwoMachinesAreRefused(t *testing.T) {
	p := newJoined(t)
	ws := machine.Workspace{Session: "s", Dirs: []string{p.here, remote(p.there)}}
	if _, err := p.Changes().Checkpoint(t.Context(), ws, ws.Dirs); err == nil ||
		!strings.Contains(err.Error(), "two machines") {
		t.Errorf("a checkpoint of two computers: %v", err)
	}
	p.member.Online = false
	if _, err := p.Changes().Content(t.Context(), machine.Workspace{Session: "s", Dirs: ws.Dirs[1:]},
		strings.Repeat("0", 40)); !errors.Is(err, machine.ErrOffline) || !strings.Contains(err.Error(),
		"box2 is offline") {
		t.Errorf("content of an offline machine: %v", err)
	}
	p.member.Online, p.member.Machine = true, fence.New(local.New(), fence.Config{})
	if _, err := p.Changes().Checkpoint(t.Context(), ws, ws.Dirs[1:]); err == nil ||
		!strings.Contains(err.Error(), "box2 records no changes") {
		t.Errorf("a checkpoint where none are made: %v", err)
	}
}

// lyingMachine is a member that sends made-up repository contents.
type lyingMachine struct{ machine.Machine }

func (l lyingMachine) Changes() machine.Changes { return lies{l.Machine.Changes()} }

type lies struct{ machine.Changes }

func (lies) Content(context.Context, machine.Workspace, string) ([]byte, error) {
	return []byte("evil"), nil
}

func (lies) Contents(_ context.Context, _ machine.Workspace, oids []string) map[string][]byte {
	return map[string][]byte{oids[0]: []byte("evil")}
}

func (lies) Compare(context.Context, machine.Workspace, machine.Checkpoint, machine.Checkpoint) (
	[]machine.ChangedFile, error,
) {
	return []machine.ChangedFile{{Top: "/", Path: "../../etc/passwd"}}, nil
}

func (lies) Files(context.Context, machine.Workspace, []string, int) ([]string, error) {
	return []string{"/etc/passwd", "relative", "/machines/../etc/passwd"}, nil
}

// Versions are stored by name for all sessions: a machine can neither fake a version that it does not have, nor name
// files of other computers.
func TestMachineCannotMakeUpVersions(t *testing.T) {
	p := newJoined(t)
	p.member.Machine = lyingMachine{p.member.Machine}
	oid := strings.TrimSpace(runGit(t, p.there, "hash-object", "a.txt"))
	ws := machine.Workspace{Session: "s", Dirs: []string{remote(p.there)}}
	if data, err := p.Changes().Content(t.Context(), ws, oid); err == nil {
		t.Errorf("%s is %q", oid, data)
	}
	if got := p.Changes().Contents(t.Context(), ws, []string{oid}); len(got) > 0 {
		t.Errorf("it is %q", got)
	}
	if files, err := p.Changes().Compare(t.Context(), ws, machine.Checkpoint{}, machine.Checkpoint{}); err == nil {
		t.Errorf("changed are %+v", files)
	}
	files, err := p.Changes().Files(t.Context(), ws, ws.Dirs, 10)
	if err != nil || len(files) != 3 {
		t.Fatalf("files are %q, %v", files, err)
	}
	for _, f := range files {
		if !strings.HasPrefix(f, "/machines/box/") {
			t.Errorf("a file of the hub is named: %s", f)
		}
	}
}

// Tasks for an offline member run after it reconnects, without an error in between.
func TestOfflineMachinesForgetLater(t *testing.T) {
	var mu sync.Mutex
	forgot := make(chan string, 10)
	box := &forgetting{said: forgot}
	p := &watched{member: fleet.Member{ID: "box", Name: "box2", Machine: box}, mu: &mu, changed: make(chan struct{}, 1)}
	r := fleet.NewRoute(&forgetful{}, p)
	defer r.Close()
	for _, s := range []string{"one", "two"} {
		if err := r.Forget(s); err != nil {
			t.Fatalf("a machine that is offline causes %v", err)
		}
	}
	select {
	case s := <-forgot:
		t.Fatalf("%s was forgotten offline", s)
	default:
	}
	mu.Lock()
	p.member.Online = true
	mu.Unlock()
	p.changed <- struct{}{}
	for _, want := range []string{"one", "two"} {
		if got := <-forgot; got != want {
			t.Errorf("%s is forgotten instead of %s", got, want)
		}
	}
}

// watched is a member list whose member reconnects.
type watched struct {
	mu      *sync.Mutex
	member  fleet.Member
	changed chan struct{}
}

func (w *watched) Machines() []fleet.Member {
	w.mu.Lock()
	defer w.mu.Unlock()
	return []fleet.Member{w.member}
}

func (w *watched) Watch() (changed <-chan struct{}, cancel func()) { return w.changed, func() {} }

// forgetting reports the sessions that it forgets.
type forgetting struct {
	machine.Machine
	said chan string
}

func (f *forgetting) Forget(session string) error {
	f.said <- session
	return nil
}

// An MCP server that a repository declares is shown, trusted and started on the repository's computer.
func TestCustomizationsAreFoundWhereTheyLie(t *testing.T) {
	p := newJoined(t)
	ids := map[string]bool{}
	for dir, at := range map[string]string{p.here: p.here, remote(p.there): p.there} {
		err := os.WriteFile(filepath.Join(at, ".mcp.json"), []byte(`{"mcpServers":{"tool":{"command":"sh",`+
			`"args":["-c","pwd > where; echo ${workspaceFolder} >> where"]}}}`), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		root := machine.CustomRoot{Dir: dir, Place: machine.WorkspacePlace}
		found := p.Customs().Look(t.Context(), root)
		if len(found.Servers) != 1 || found.Servers[0].Path != dir+"/.mcp.json" || found.Servers[0].Command == nil {
			t.Fatalf("in %s there is %+v", dir, found)
		}
		server := found.Servers[0]
		if server.Command.As != dir || server.Command.Dir != dir || ids[server.ID] {
			t.Errorf("it is %+v with the command %+v", server, server.Command)
		}
		ids[server.ID], ids[server.Command.Digest()] = true, true
		text, _, err := p.Customs().ReadText(t.Context(), root, server.Path, 10)
		if err != nil || text != `{"mcpServe` {
			t.Errorf("it is declared by %q, %v", text, err)
		}
		if _, err := p.Customs().Dial(t.Context(), machine.ServerSpec{Name: "tool",
			Command: *server.Command}); err == nil {
			t.Error("a server that ends at once is started")
		}
		if where, err := os.ReadFile(filepath.Join(at, "where")); string(where) != at+"\n"+at+"\n" {
			t.Errorf("it began in %q, %v", where, err)
		}
	}
	if len(ids) != 4 {
		t.Errorf("two computers share a name or a trusted command: %v", ids)
	}
	closed := machine.CustomRoot{Dir: remote(p.here), Place: machine.WorkspacePlace}
	if found := p.Customs().Look(t.Context(), closed); len(found.Servers) > 0 {
		t.Errorf("outside of what the machine opens there is %+v", found)
	}
	if _, _, err := p.Customs().ReadText(t.Context(), closed, remote(p.here)+"/.mcp.json", 10); err == nil {
		t.Error("outside of what the machine opens a file is read")
	}
}
