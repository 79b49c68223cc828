// Package fleet describes the computers, other than a hub's own, that run its sessions.
package fleet

import "github.com/ahphub/ahphub/hub/machine"

// Member is a computer that belongs to the hub, connected or not.
type Member struct {
	ID       string // never changes
	Name     string // unique among the members; the owner may change it
	Online   bool
	Draining bool // gets no new sessions

	// Machine stays the same value until the computer is revoked. While the computer is offline, calls fail with
	// machine.ErrOffline. It has no agents until the computer's first connection since the hub's start.
	Machine machine.Machine

	// The computer's last report, which may lie. Zero is unknown.
	Cores      int
	FreeCores  float64 // idle
	Memory     int64   // bytes
	FreeMemory int64   // bytes available to programs
	Sandbox    string  // how its sessions are isolated: namespace, container, landlock or none
}

// Members lists the computers that belong to a hub.
type Members interface {
	// Machines returns the members by name.
	Machines() []Member
	// Watch returns a channel that receives a value when members, their names, connections, agents or reports may have
	// changed, until cancel. The channel is never closed.
	Watch() (changed <-chan struct{}, cancel func())
}
