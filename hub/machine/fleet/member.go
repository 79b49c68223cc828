// Package fleet describes the computers that run sessions of a hub besides its own.
package fleet

import "github.com/ahphub/ahphub/hub/machine"

// Member is a computer that belongs to the hub, connected or not.
type Member struct {
	ID       string // never changes
	Name     string // unique among the members; the owner may change it
	Online   bool
	Draining bool // no new session begins there

	// Machine is the same value from the computer's joining until it is revoked. While it is offline, its calls fail
	// with machine.ErrOffline. It has no agents until it has connected once since the hub's start.
	Machine machine.Machine

	// What the computer last said of itself; it may lie. Zero is unknown.
	Cores      int
	FreeCores  float64 // that are idle
	Memory     int64   // bytes
	FreeMemory int64   // bytes that programs can still have
	Sandbox    string  // what keeps its sessions apart: namespace, container, landlock or none
}

// Members lists the computers that belong to a hub.
type Members interface {
	// Machines returns the members by name.
	Machines() []Member
	// Watch returns a channel that has a value when members, names, connections found agents or their reports have changed, until
	// cancel. The channel is never closed.
	Watch() (changed <-chan struct{}, cancel func())
}
