package remote

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/machine/pipe"
	"github.com/ahphub/ahphub/hub/machines"
)

const (
	// reportEvery is the time between two reports of a machine of which nothing new is known but its load.
	reportEvery = 30 * time.Second
	// reportPause is the time between two reports at least. The hub refuses more.
	reportPause = time.Second
)

// Reporter says what the computer is. It is on the machine's side.
type Reporter interface {
	Report() machines.Report
	// Watch returns a channel that has a value when there is news that should not wait, until cancel.
	Watch() (changed <-chan struct{}, cancel func())
}

// reportMethod is how a machine tells its hub what it is.
const reportMethod = "machine.report"

var errReportsTooOften = errors.New("this machine reports too often: wait a second")

// takeReports returns the handler of what the machine says of itself over one connection.
func (m *Machine) takeReports() pipe.Handler {
	var mu sync.Mutex
	var last time.Time
	return pipe.AnswerNone(func(_ context.Context, r machines.Report) error {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) < reportPause {
			return errReportsTooOften
		} else {
			last = now
		}
		m.cfg.Reported(r)
		return nil
	})
}

// sendReports tells the hub what this computer is until the connection ends. No stream stays open in between: an idle
// one costs the hub more than everything else of a machine.
func sendReports(ctx context.Context, p *pipe.Peer, reporter Reporter) {
	changed, cancel := reporter.Watch()
	defer cancel()
	for {
		_ = pipe.CallNone(ctx, p, reportMethod, reporter.Report()) // the next one may arrive
		select {
		case <-time.After(reportPause + reportPause/10): // the hub counts from when it had the last
		case <-ctx.Done():
			return
		}
		select {
		case <-changed:
		case <-time.After(reportEvery - reportPause - reportPause/10):
		case <-ctx.Done():
			return
		}
	}
}
