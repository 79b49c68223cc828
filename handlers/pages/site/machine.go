package site

import (
	"maps"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/machine/place"
	"github.com/ahphub/ahphub/hub/machines"
)

// revokedMachine stands for the name of a revoked machine.
const revokedMachine = "a revoked machine"

// MachineOf returns the name of the machine that an agent runs on, "" for this server, and whether it is connected.
func (st *Site) MachineOf(provider string) (name string, online bool) {
	id, _ := place.SplitProvider(provider)
	if id == "" || st.Machines == nil {
		return "", true
	}
	s, ok := st.Machines.Lookup(id)
	if !ok {
		return revokedMachine, false
	}
	return s.Name, s.Online
}

// MachineComesBack reports whether the machine of an agent can reconnect: it was not revoked.
func (st *Site) MachineComesBack(provider string) bool {
	name, _ := st.MachineOf(provider)
	return name != revokedMachine
}

// MachineAway returns why the machine of an agent can't be reached; "" when it can.
func (st *Site) MachineAway(provider string) string {
	switch name, online := st.MachineOf(provider); {
	case online:
		return ""
	case !st.MachineComesBack(provider):
		return "Machine revoked"
	default:
		return name + " is offline"
	}
}

// WatchMachines pings when a machine connects, disconnects or is renamed; for a room's Watch.
func (st *Site) WatchMachines(ping func()) (stop func()) {
	if st.Machines == nil {
		return func() {}
	}
	changed, cancel := st.Machines.Watch()
	last := presenceOf(st.Machines.List())
	return live.PingOn(changed, cancel, func() {
		if now := presenceOf(st.Machines.List()); !maps.Equal(now, last) { // most changes are load reports
			last = now
			ping()
		}
	})
}

type machinePresence struct {
	name   string
	online bool
}

func presenceOf(list []machines.Status) map[string]machinePresence {
	out := map[string]machinePresence{}
	for _, s := range list {
		out[s.ID] = machinePresence{s.Name, s.Online}
	}
	return out
}
