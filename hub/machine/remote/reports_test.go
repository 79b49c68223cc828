package remote_test

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/shell"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/pipe"
	"github.com/ahphub/ahphub/hub/machine/remote"
	"github.com/ahphub/ahphub/hub/machines"
)

// reporter reports a load that a test changes.
type reporter struct {
	cores   atomic.Int64
	changed chan struct{}
}

func (r *reporter) Report() machines.Report { return machines.Report{Cores: int(r.cores.Load())} }

func (r *reporter) Watch() (<-chan struct{}, func()) { return r.changed, func() {} }

// serveBoth runs both ends of a connection until the test ends.
func serveBoth(t *testing.T, hub *remote.Machine, computer func(context.Context, net.Conn)) {
	t.Helper()
	a, b := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { computer(ctx, b) })
	wg.Go(func() { _ = hub.Serve(ctx, a) }) // ends with ctx
	t.Cleanup(func() { hub.Close(); cancel(); wg.Wait() })
}

// A machine reports every 30 seconds, and sooner when there is news.
func TestMachineReportsEveryHalfMinuteAndNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		var got []int
		var mu sync.Mutex
		said := func() int {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return len(got)
		}
		r := &reporter{changed: make(chan struct{}, 1)}
		r.cores.Store(1)
		far := remote.NewServer(local.New(), remote.Config{Log: log, Reporter: r})
		t.Cleanup(far.Close)
		serveBoth(t, remote.New(remote.Config{Log: log, Reported: func(m machines.Report) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, m.Cores)
		}}), func(ctx context.Context, c net.Conn) { _ = far.Serve(ctx, c) })
		if n := said(); n != 1 || got[0] != 1 {
			t.Fatalf("at first it says %v", got)
		}
		time.Sleep(29 * time.Second)
		if n := said(); n != 1 {
			t.Errorf("within half a minute it says %v", got)
		}
		time.Sleep(2 * time.Second)
		if n := said(); n != 2 {
			t.Errorf("after half a minute it has said %v", got)
		}
		time.Sleep(5 * time.Second)
		r.cores.Store(2)
		r.changed <- struct{}{}
		time.Sleep(2 * time.Second)
		if n := said(); n != 3 || got[2] != 2 {
			t.Errorf("with news it has said %v", got)
		}
	})
}

// agentReporter reports the agents of a machine, which may appear while it is connected.
type agentReporter struct {
	reporter
	agents func() map[string]agent.Backend
}

func (r *agentReporter) Report() machines.Report {
	var report machines.Report
	for name := range r.agents() {
		report.Agents = append(report.Agents, machines.Agent{Name: name})
	}
	return report
}

// An agent that is installed while its machine is connected can be used without a reconnect. A machine that reports
// agents it does not have is asked about them only once.
func TestHubLearnsAgentsThatAreInstalledLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		agents := map[string]agent.Backend{"shell": shell.Backend{}}
		var mu sync.Mutex
		find := func() map[string]agent.Backend {
			mu.Lock()
			defer mu.Unlock()
			return maps.Clone(agents)
		}
		r := &agentReporter{reporter{changed: make(chan struct{}, 1)}, find}
		far := remote.NewServer(local.New(local.WithLiveAgents(find)), remote.Config{Log: log, Reporter: r})
		t.Cleanup(far.Close)
		var changes atomic.Int64
		hub := remote.New(remote.Config{Log: log, Reported: func(machines.Report) {}, Changed: func() { changes.Add(1) }})
		serveBoth(t, hub, func(ctx context.Context, c net.Conn) { _ = far.Serve(ctx, c) })
		synctest.Wait()
		if got := hub.Agents(); len(got) != 1 {
			t.Fatalf("at first there are %v", got)
		}
		time.Sleep(5 * time.Second)
		mu.Lock()
		agents["later"] = shell.Backend{}
		mu.Unlock()
		before := changes.Load()
		r.changed <- struct{}{}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := hub.Agents(); len(got) != 2 || got["later"] == nil || changes.Load() != before+1 {
			t.Errorf("then there are %v, after %d changes", got, changes.Load()-before)
		}
		if info, err := hub.Agents()["later"].Describe(t.Context()); err != nil || info.DisplayName == "" {
			t.Errorf("it describes itself as %+v, %v", info, err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := changes.Load(); n != before+1 {
			t.Errorf("without news there are %d changes more", n-before-1)
		}
	})
}

// The hub accepts one report per second, however many a machine sends.
func TestMachineCannotFloodItsHubWithReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var taken, refused atomic.Int64
		hostile := map[string]pipe.Handler{
			"machine.describe": pipe.Answer(func(context.Context, map[string]any) (map[string]any, error) { return nil, nil }),
		}
		log := slog.New(slog.DiscardHandler)
		serveBoth(t, remote.New(remote.Config{Log: log, Reported: func(machines.Report) { taken.Add(1) }}),
			func(ctx context.Context, c net.Conn) {
				p, err := pipe.New(c, pipe.Config{Dialed: true, Handlers: hostile, Log: log})
				if err != nil {
					return
				}
				go func() {
					for range 1000 {
						time.Sleep(10 * time.Millisecond)
						err := pipe.CallNone(ctx, p, "machine.report", machines.Report{Version: "flood"})
						refused.Add(map[bool]int64{true: 1}[err != nil])
					}
				}()
				_ = p.Run(ctx)
			})
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if n := taken.Load(); n < 5 || n > 11 || refused.Load() < 900 {
			t.Errorf("in ten seconds the hub takes %d reports and refuses %d", n, refused.Load())
		}
	})
}
