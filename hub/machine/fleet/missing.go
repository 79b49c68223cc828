package fleet

import (
	"errors"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/place"
)

// errRevoked reports that the machine of an agent was revoked.
var errRevoked = errors.New("the machine that this agent ran on was revoked. The session can be read; start a new one to " +
	"continue")

// Missing implements machine.Watcher.
func (r *Route) Missing(provider string) error {
	id, _ := place.SplitProvider(provider)
	if id == "" {
		return nil
	}
	for _, m := range r.members.Machines() {
		if m.ID == id {
			return node{m.Machine, m.ID, m.Name}.explain(machine.ErrOffline)
		}
	}
	return errRevoked
}

// IsOffline implements machine.Watcher.
func (r *Route) IsOffline(provider string) bool {
	id, _ := place.SplitProvider(provider)
	if id == "" {
		return false
	}
	_, online, err := r.member(id)
	return err == nil && !online
}
