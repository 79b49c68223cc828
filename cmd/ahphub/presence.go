package main

import (
	"context"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine/place"
	"github.com/ahphub/ahphub/hub/machines"
	"github.com/ahphub/ahphub/hub/notify"
	"github.com/ahphub/ahphub/web"
)

// mostMetered limits the machines with their own series in /metrics; "other" is the sum of the
// rest.
const mostMetered = 100

const otherMachines = "other"

// machineCounts holds the values of one machine's series.
type machineCounts struct {
	connected, sessions, running int
	connections, received, sent  uint64
}

// countMachines returns counts by machine name.
func countMachines(list []machines.Status, sessions []ahp.SessionSummary) map[string]*machineCounts {
	counts, byID := map[string]*machineCounts{}, map[string]*machineCounts{}
	for i, s := range list {
		name := s.Name
		if i >= mostMetered {
			name = otherMachines
		}
		c := counts[name]
		if c == nil {
			c = &machineCounts{}
			counts[name] = c
		}
		byID[s.ID] = c
		if s.Online {
			c.connected++
		}
		c.connections += s.Connections
		c.received += s.Received
		c.sent += s.Sent
	}
	for _, s := range sessions {
		id, _ := place.SplitProvider(s.Provider)
		if c := byID[id]; c != nil {
			c.sessions++
			if s.Status.Has(ahp.SessionStatusInProgress) {
				c.running++
			}
		}
	}
	return counts
}

// machineMetrics returns the metrics of machines.
func machineMetrics(count func() map[string]*machineCounts) []web.Metric {
	each := func(read func(*machineCounts) float64) func(func(float64, ...string)) {
		return func(add func(float64, ...string)) {
			for name, c := range count() {
				add(read(c), name)
			}
		}
	}
	labels := []string{"machine"}
	return []web.Metric{
		{Name: "ahphub_machine_connected", Help: "1 while the machine is connected; of other machines, how many are.",
			Labels: labels, Each: each(func(c *machineCounts) float64 { return float64(c.connected) })},
		{Name: "ahphub_machine_sessions", Help: "Sessions on the machine, without deleted ones.",
			Labels: labels, Each: each(func(c *machineCounts) float64 { return float64(c.sessions) })},
		{Name: "ahphub_machine_sessions_running", Help: "Sessions on the machine with a running turn.",
			Labels: labels, Each: each(func(c *machineCounts) float64 { return float64(c.running) })},
		{Name: "ahphub_machine_connections_total", Help: "Connections of the machine.", Counter: true,
			Labels: labels, Each: each(func(c *machineCounts) float64 { return float64(c.connections) })},
		{Name: "ahphub_machine_bytes_total", Help: "Bytes that the machine's connections carried, before encryption.",
			Counter: true, Labels: []string{"machine", "direction"}, Each: func(add func(float64, ...string)) {
				for name, c := range count() {
					add(float64(c.received), name, "received")
					add(float64(c.sent), name, "sent")
				}
			}},
	}
}

// meterMachines returns the metrics of this hub's machines.
func (a *app) meterMachines() []web.Metric {
	if a.machines == nil {
		return nil
	}
	return machineMetrics(func() map[string]*machineCounts {
		list := a.machines.List()
		if len(list) == 0 {
			return nil
		}
		return countMachines(list, a.summaries())
	})
}

// runningOn returns the sessions with a running turn on a machine.
func (a *app) runningOn(machine string) (sessions []ahp.URI) {
	for _, s := range a.summaries() {
		if id, _ := place.SplitProvider(s.Provider); id == machine && s.Status.Has(ahp.SessionStatusInProgress) {
			sessions = append(sessions, s.Resource)
		}
	}
	slices.Sort(sessions)
	return sessions
}

// followAbsences notifies people about machines that are disconnected from running turns, until ctx
// ends.
func (a *app) followAbsences(ctx context.Context) {
	if a.machines == nil {
		return
	}
	a.machines.FollowAbsences(ctx, machines.Grace, a.runningOn, func(away machines.Absence) {
		log := a.log.With("machine", away.Machine.Name, "sessions", len(away.Sessions))
		if away.Back {
			log.Info("a machine that people were waiting for is back")
		} else {
			log.Warn("a machine with running turns is offline", "since", away.Since)
		}
		err := a.hub.Do(func(tx *hub.Tx) {
			a.notify.MachineAway(tx, notify.Absence{ID: away.Machine.ID, Name: away.Machine.Name, Since: away.Since,
				Back: away.Back, Sessions: away.Sessions})
		})
		if err != nil {
			log.Warn("people were not notified of it", "err", err)
		}
	})
}
