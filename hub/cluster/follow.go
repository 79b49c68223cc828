package cluster

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// BeginBySnapshot makes nodes that join start from a snapshot: the first entry of the log may
// continue a database that existed before the cluster. The leader calls it before it lets nodes
// join.
func (r *Raft) BeginBySnapshot() error {
	first, err := r.logs.FirstIndex()
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if first != 1 {
		return nil
	}
	usual := r.raft.ReloadableConfig()
	none := usual
	none.TrailingLogs = 0
	if err := r.raft.ReloadConfig(none); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	err = r.Compact()
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		err = nil
	}
	return errors.Join(err, r.raft.ReloadConfig(usual))
}

// HasState reports whether the node has been part of a cluster.
func (r *Raft) HasState() bool { return r.raft.LastIndex() > 0 }

// WatchLeader returns a channel that receives a value after the leader changed or was lost. stop
// ends it.
func (r *Raft) WatchLeader() (changes <-chan struct{}, stop func()) {
	seen := make(chan raft.Observation, 16)
	observer := raft.NewObserver(seen, false, func(o *raft.Observation) bool {
		_, ok := o.Data.(raft.LeaderObservation)
		return ok
	})
	out, end := make(chan struct{}, 1), make(chan struct{})
	r.raft.RegisterObserver(observer)
	go func() {
		for {
			select {
			case <-seen:
				select {
				case out <- struct{}{}:
				default: // a value is waiting already
				}
			case <-end:
				return
			}
		}
	}()
	return out, func() {
		r.raft.DeregisterObserver(observer)
		close(end)
	}
}
