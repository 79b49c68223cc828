package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/hosttest"
)

// changing is a host on a real directory, in real time: git is another process, which no bubble can
// contain.
type changing struct {
	*world
	owner core.Caller
}

func newChanging(t *testing.T) *changing {
	t.Helper()
	return newChangingWith(t, Config{})
}

func newChangingWith(t *testing.T, cfg Config) *changing {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	w := newWorld(t, cfg, hub.Config{})
	t.Cleanup(w.stop)
	c := &changing{world: w, owner: core.Caller{Principal: owner, ClientID: "ana-1"}}
	c.git("init", "-q")
	c.write("a.txt", "one\ntwo\n")
	c.git("add", "-A")
	c.git("-c", "user.name=Ana", "-c", "user.email=ana@example.org", "commit", "-qm", "first")
	w.must(w.host.CreateSession(w.t.Context(), c.owner, ahp.CreateSessionParams{Channel: session}))
	c.until("the session is ready", func() bool { return w.session().Lifecycle == ahp.SessionLifecycleReady })
	return c
}

func (c *changing) git(args ...string) {
	c.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = c.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (c *changing) write(name, content string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *changing) read(name string) string {
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		return "(none)"
	}
	return string(data)
}

// until waits for a condition.
func (c *changing) until(what string, ok func() bool) {
	c.t.Helper()
	hosttest.Eventually(c.t, what, ok)
}

func (c *changing) dispatch(channel ahp.URI, a ahp.Action) {
	c.t.Helper()
	o, err := c.host.Dispatch(c.t.Context(), c.owner, channel, 0, a)
	if err != nil || o.Rejected != "" || o.Unknown {
		c.t.Fatalf("%s: %+v, %v", a.ActionType(), o, err)
	}
}

// turn runs a turn that calls do, and returns its id.
func (c *changing) turn(do func()) string {
	c.t.Helper()
	c.agent.prompt = func(context.Context, agent.Turn) error { do(); return nil }
	a := started("go")
	c.dispatch(c.chat(), a)
	c.until("the turn ends", func() bool {
		return core.HasTurn(c.chatState(), a.TurnID) &&
			c.chatState().ActiveTurn == nil
	})
	return a.TurnID
}

func (c *changing) follow(kind, turn string) ahp.URI {
	c.t.Helper()
	uri := changes.URI(session, kind, turn)
	c.must(c.host.Prepare(c.t.Context(), c.owner, uri))
	c.until(uri+" is computed", func() bool { return c.changes(uri).Status == ahp.ChangesetStatusReady })
	return uri
}

func (c *changing) changes(uri ahp.URI) *ahp.ChangesetState {
	state, ok := hub.StateOf[*ahp.ChangesetState](c.hub, uri)
	if !ok {
		return &ahp.ChangesetState{}
	}
	return state
}

// lines returns one line per file: status, name, counts, and marks.
func (c *changing) lines(uri ahp.URI) string {
	var out []string
	for _, f := range c.changes(uri).Files {
		n := changes.ReadFileNote(f.Meta)
		line := fmt.Sprintf("%s %s +%d −%d", n.Status, strings.TrimPrefix(f.ID, core.FileURI(c.dir)+"/"),
			*f.Edit.Diff.Added, *f.Edit.Diff.Removed)
		if *f.Reviewed && n.By != nil {
			line += " reviewed by " + n.By.Name
		}
		if n.Stale {
			line += " stale"
		}
		if n.Outside {
			line += " outside"
		}
		if n.Overlap {
			line += " overlap"
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func (c *changing) shows(uri ahp.URI, want string) {
	c.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for c.lines(uri) != want && time.Now().Before(deadline) {
		<-time.After(5 * time.Millisecond)
	}
	if got := c.lines(uri); got != want {
		c.t.Fatalf("the changeset shows %q, want %q (%+v)", got, want, c.changes(uri).Error)
	}
}

func (c *changing) blob(ref ahp.ContentRef) string {
	c.t.Helper()
	got, err := c.host.Files.ResourceRead(c.t.Context(), c.owner, ahp.ResourceReadParams{URI: ref.URI})
	if err != nil {
		c.t.Fatal(err)
	}
	return got.Data
}
