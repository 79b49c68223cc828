package remote

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/machine/pipe"
	"github.com/ahphub/ahphub/hub/machines"
)

const (
	// reportEvery is the time between two reports while only the load changes.
	reportEvery = 30 * time.Second
	// reportPause is the minimum time between two reports. The hub refuses more frequent ones.
	reportPause = time.Second
)

// Reporter describes the computer, on the machine's side.
type Reporter interface {
	Report() machines.Report
	// Watch returns a channel that receives a value when there is urgent news, until cancel.
	Watch() (changed <-chan struct{}, cancel func())
}

// reportMethod is the method for a machine's reports.
const reportMethod = "machine.report"

var errReportsTooOften = errors.New("this machine reports too often: wait a second")

// takeReports returns the handler of a machine's reports over one connection.
func (m *Machine) takeReports() pipe.Handler {
	var mu sync.Mutex
	var last time.Time
	return pipe.AnswerNone(func(ctx context.Context, r machines.Report) error {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) < reportPause {
			return errReportsTooOften
		} else {
			last = now
		}
		m.cfg.Reported(r)
		m.learnAgents(ctx, r.Clean())
		return nil
	})
}

// learnAgents asks the computer for its facts again when it reports agents that were installed since. It asks only once
// about the same agents.
func (m *Machine) learnAgents(ctx context.Context, r machines.Report) {
	peer := m.hasNews(r)
	if peer == nil {
		return
	}
	found, err := pipe.Call[facts](ctx, peer, "machine.describe", describeCall{m.conduits.Run()})
	if err == nil {
		err = found.check()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && m.peer == peer {
		found.machine = m
		m.facts = &found
		m.notifyChanged()
	}
}

// hasNews returns the connection to ask about unknown agents, or nil if there are none.
func (m *Machine) hasNews(r machines.Report) *pipe.Peer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.peer == nil || m.facts == nil {
		return nil // the facts are on their way
	}
	var names []string
	for _, a := range r.Agents {
		if _, ok := m.facts.Agents[a.Name]; !ok {
			names = append(names, a.Name)
		}
	}
	asked := m.asked
	if m.asked = strings.Join(names, "\n"); m.asked == "" || m.asked == asked {
		return nil
	}
	return m.peer
}

// sendReports sends reports to the hub until the connection ends. No stream stays open between reports: an idle stream
// costs the hub more than everything else of a machine.
func sendReports(ctx context.Context, p *pipe.Peer, reporter Reporter) {
	changed, cancel := reporter.Watch()
	defer cancel()
	for {
		_ = pipe.CallNone(ctx, p, reportMethod, reporter.Report()) // the next report may succeed
		select {
		case <-time.After(reportPause + reportPause/10): // the hub counts from the arrival of the last report
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
