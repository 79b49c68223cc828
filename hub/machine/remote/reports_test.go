package remote_test

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/pipe"
	"github.com/ahphub/ahphub/hub/machine/remote"
	"github.com/ahphub/ahphub/hub/machines"
)

// reporter has a load that a test changes.
type reporter struct {
	cores   atomic.Int64
	changed chan struct{}
}

func (r *reporter) Report() machines.Report { return machines.Report{Cores: int(r.cores.Load())} }

func (r *reporter) Watch() (<-chan struct{}, func()) { return r.changed, func() {} }

// serveBoth runs both ends of a connection until the test's bubble has no more use for them.
func serveBoth(t *testing.T, hub *remote.Machine, computer func(context.Context, net.Conn)) {
	t.Helper()
	a, b := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { computer(ctx, b) })
	wg.Go(func() { _ = hub.Serve(ctx, a) }) // ends with ctx
	t.Cleanup(func() { hub.Close(); cancel(); wg.Wait() })
}

// A machine says what it is every 30 seconds, and sooner when there is news.
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

// The hub takes one report a second, however many a machine sends.
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
