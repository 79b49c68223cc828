package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/agenttest"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine/fleet"
)

const (
	slowDelay = 20 * time.Millisecond // of each chunk, each way
	slowStall = 200 * time.Millisecond
	stallsOf  = 100 // one chunk in this many stalls, and delays those after it

	busyMachines = 100
	busySessions = 3  // of each machine
	busyRate     = 30 // deltas a second of a session
	busyFor      = 60 * time.Second
)

// slowLink forwards connections to an address slowly, in order.
func slowLink(b *testing.B, to *url.URL) *url.URL {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to.Host)
			if err != nil {
				near.Close()
				continue
			}
			go carrySlowly(near, far)
			go carrySlowly(far, near)
		}
	}()
	return &url.URL{Scheme: "http", Host: listener.Addr().String()}
}

// carrySlowly forwards chunks after the delay, in order.
func carrySlowly(to, from net.Conn) {
	type chunk struct {
		data []byte
		due  time.Time
	}
	chunks := make(chan chunk, 1<<16)
	go func() {
		defer to.Close()
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			if _, err := to.Write(c.data); err != nil {
				from.Close()
			}
		}
	}()
	defer close(chunks)
	for last := time.Now(); ; {
		buffer := make([]byte, 16<<10)
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		due := time.Now().Add(slowDelay)
		if rand.N(stallsOf) == 0 {
			due = due.Add(slowStall)
		}
		if due.Before(last) {
			due = last
		}
		last = due
		chunks <- chunk{buffer[:n], due}
	}
}

// steadyAgent prints numbers at a steady rate.
type steadyAgent struct{}

func (steadyAgent) Describe(context.Context) (ahp.AgentInfo, error) {
	return ahp.AgentInfo{Provider: "steady", DisplayName: "Steady", Models: []ahp.SessionModelInfo{}}, nil
}
func (steadyAgent) Config() ahp.SessionConfigSchema                           { return agent.ApprovalConfig() }
func (s steadyAgent) Open(context.Context, agent.Spec) (agent.Session, error) { return s, nil }
func (steadyAgent) Close() error                                              { return nil }
func (steadyAgent) Prompt(ctx context.Context, t agent.Turn) error {
	tick := time.NewTicker(time.Second / busyRate)
	defer tick.Stop()
	for n := range int(busyFor.Seconds()) * busyRate {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := t.Out.Emit(&ahp.ChatDeltaAction{PartID: "p", Content: strconv.Itoa(n)}); err != nil {
			return err
		}
	}
	return nil
}

// countingOut checks that numbers arrive in order, once.
type countingOut struct {
	agent.Out
	next  int
	wrong *atomic.Int64
}

func (o *countingOut) Emit(a ahp.Action) error {
	if d, ok := a.(*ahp.ChatDeltaAction); !ok || d.Content != strconv.Itoa(o.next) {
		o.wrong.Add(1)
	}
	o.next++
	return nil
}

// BenchmarkBusyMachines measures the cost for the hub of 100 machines with 3 sessions each and 30
// deltas a second per session. One process runs all machines.
func BenchmarkBusyMachines(b *testing.B) {
	for b.Loop() {
		w := newJoinWorld(b)
		cmd := exec.Command(os.Args[0], machinesArgument, w.url.String())
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		input, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		var list []fleet.Member
		for i := range busyMachines {
			text, _, err := w.registry.NewToken(b.Context(), "owner")
			if err != nil {
				b.Fatal(err)
			}
			if _, err := fmt.Fprintln(input, text); err != nil {
				b.Fatal(err)
			}
			list = w.member(b, "joining", func(l []fleet.Member) bool {
				online := 0
				for _, m := range l {
					if m.Online {
						online++
					}
				}
				return online > i
			})
		}
		var wrong, took atomic.Int64
		var wg sync.WaitGroup
		_, resident, cpu := ownUsage()
		began := time.Now()
		for _, m := range list {
			for i := range busySessions {
				wg.Go(func() {
					s, err := m.Machine.Agents()["steady"].Open(b.Context(), agent.Spec{Session: ahp.URI("ahp-session:/" + m.ID + strconv.Itoa(i)),
						Host: &agenttest.Host{}, Config: func(string) string { return "" }})
					if err != nil {
						b.Error(err)
						return
					}
					out := &countingOut{wrong: &wrong}
					if err := s.Prompt(b.Context(), agent.Turn{ID: "t", Message: agenttest.User("go"), Out: out}); err != nil {
						b.Error(err)
					}
					took.Add(int64(out.next))
				})
			}
		}
		wg.Wait()
		lasted := time.Since(began)
		_, residentThen, cpuThen := ownUsage()
		want := int64(busyMachines * busySessions * busyRate * int(busyFor.Seconds()))
		if took.Load() != want || wrong.Load() != 0 {
			b.Errorf("%d of %d deltas came, %d of them not in order", took.Load(), want, wrong.Load())
		}
		b.ReportMetric(float64(took.Load())/lasted.Seconds(), "deltas/s")
		b.ReportMetric((cpuThen-cpu).Seconds()/lasted.Seconds(), "cores")
		b.ReportMetric(float64(residentThen)/(1<<20), "resident-MB")
		b.ReportMetric(float64(resident)/(1<<20), "resident-before-MB")
		b.ReportMetric(lasted.Seconds(), "s")
		b.ReportMetric(0, "ns/op")
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
}

// slowDir returns a directory of a machine with a slow connection.
func slowDir(b *testing.B) string {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	return dir
}
