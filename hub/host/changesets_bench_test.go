//go:build unix

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/hosttest"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

// BenchmarkManyFiles uses a repository of 100 000 files in 10 000 folders, watched by a host. It
// measures the time from writing one file to the action that shows it, with three changesets open,
// and the idle processor time of the host and its git processes.
func BenchmarkManyFiles(b *testing.B) {
	w := &world{agent: &fake{}, dir: b.TempDir()}
	b.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	b.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	manyFiles(b, w.dir)
	conn, uri := benchHost(b, w)
	var took []float64
	round := 0
	for b.Loop() {
		name := filepath.Join(w.dir, fmt.Sprintf("d%d/s%d/f%d.txt", round%100, round%100*100+7, round%10))
		hosttest.Must(b, os.WriteFile(name, fmt.Appendf(nil, "changed %d\n", round), 0o600))
		began := time.Now()
		awaitFile(b, conn, uri)
		took = append(took, float64(time.Since(began).Microseconds())/1000)
		round++
		<-time.After(500 * time.Millisecond) // a person's or an agent's pace: the pause after the last look is over
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "ms-p50")
	b.ReportMetric(took[len(took)-1], "ms-max")
	b.ReportMetric(idleCPU(5*time.Second), "%core-idle")
	b.ReportMetric(0, "ns/op")
}

func manyFiles(b *testing.B, dir string) {
	b.Helper()
	for i := range 10_000 {
		folder := filepath.Join(dir, fmt.Sprintf("d%d/s%d", i/100, i))
		hosttest.Must(b, os.MkdirAll(folder, 0o755))
		for j := range 10 {
			hosttest.Must(b, os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%d.txt", j)),
				fmt.Appendf(nil, "file %d of folder %d\n", j, i), 0o600))
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=Ana", "-c",
		"user.email=ana@example.org", "commit", "-qm", "all"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}

// benchHost starts a host with a session in the directory and follows its changesets.
func benchHost(b *testing.B, w *world) (*hub.Conn, ahp.URI) {
	b.Helper()
	startBench(b, w)
	who := core.Caller{Principal: owner, ClientID: "ana-1"}
	hosttest.Must(b, w.host.CreateSession(b.Context(), who, ahp.CreateSessionParams{Channel: session}))
	uri := changes.URI(session, "uncommitted", "")
	conn, err := w.hub.Connect(hub.ConnConfig{Principal: owner.ID, ClientID: "ana-2", Audience: owner.Audience()})
	hosttest.Must(b, err)
	b.Cleanup(func() { conn.Close(errors.New("the benchmark is over")) })
	began := time.Now()
	for _, u := range []ahp.URI{uri, changes.URI(session, "session", ""), changes.URI(session, "branch", "")} {
		hosttest.Must(b, w.host.Prepare(b.Context(), who, u))
	}
	conn.Subscribe(nil, hub.Subscription{URI: uri})
	ready := func() bool {
		c, ok := hub.StateOf[*ahp.ChangesetState](w.hub, uri)
		return ok && c.Status == ahp.ChangesetStatusReady
	}
	for !ready() {
		<-time.After(time.Millisecond)
	}
	first := time.Since(began)
	for at := w.host.Changes.Status(session); !at.Watched || at.Busy; at = w.host.Changes.Status(session) {
		<-time.After(10 * time.Millisecond)
	}
	b.Logf("shown for the first time after %s, watched after %s", first, time.Since(began))
	<-time.After(20 * time.Second) // meanwhile the first checkpoint is packed
	return conn, uri
}

func startBench(b *testing.B, w *world) {
	b.Helper()
	data := b.TempDir()
	cfg := Config{Machine: localtest.New(b, data), DataDir: data, DefaultDir: w.dir,
		Agents: map[string]agent.Backend{"fake": w.agent}}
	w.hub = hub.New(hub.Config{Derive: func(tx *hub.Tx, e *hub.Envelope) { w.host.Derive(tx, e) }})
	cfg.Hub = w.hub
	var err error
	w.host, err = New(cfg)
	hosttest.Must(b, err)
	hosttest.Must(b, w.host.Start(b.Context()))
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); _ = w.host.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-over })
}

// awaitFile waits until the changeset shows another file, or another version of one.
func awaitFile(b *testing.B, conn *hub.Conn, uri ahp.URI) {
	b.Helper()
	for {
		items, err := conn.Next(b.Context(), nil)
		hosttest.Must(b, err)
		for _, it := range items {
			if it.Env == nil || it.Env.Channel.URI != uri {
				continue
			}
			if _, ok := it.Env.Action.(*ahp.ChangesetFileSetAction); ok {
				return
			}
		}
	}
}

// idleCPU returns the percentage of a core that the program and its children use while idle.
func idleCPU(d time.Duration) float64 {
	before := processorTime()
	<-time.After(d)
	return 100 * float64(processorTime()-before) / float64(d)
}

func processorTime() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}
