package cluster_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/clustertest"
)

// silentTarget is a transport to nodes that follow but do not answer when asked to lead, like a
// paused process whose connections still accept data.
type silentTarget struct {
	*raft.InmemTransport
	over <-chan struct{}
}

func (s silentTarget) TimeoutNow(raft.ServerID, raft.ServerAddress, *raft.TimeoutNowRequest,
	*raft.TimeoutNowResponse) error {
	<-s.over
	return raft.ErrRaftShutdown
}

// startSilent starts three nodes, of which the first leads and the others do not answer when asked to.
func startSilent(t *testing.T) (first *cluster.Raft, lead func() *cluster.Term) {
	t.Helper()
	over := make(chan struct{})
	addresses, transports := map[string]string{}, map[string]*raft.InmemTransport{}
	for i := range 3 {
		id := fmt.Sprint("node-", i)
		_, in := raft.NewInmemTransport(raft.ServerAddress(id))
		addresses[id], transports[id] = id, in
		dir := t.TempDir()
		store, err := boltdb.NewBoltStore(filepath.Join(dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, 2, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		heartbeat := 500 * time.Millisecond // raft gives up a handover after it, and refuses appends for longer
		if i > 0 {
			heartbeat = time.Minute // so that only node 0 calls an election
		}
		log, err := cluster.Open(cluster.Config{ID: id, State: &clustertest.State{},
			Transport: silentTarget{in, over}, Logs: store,
			Stable: store, Snapshots: snapshots, Heartbeat: heartbeat})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = log
		}
		t.Cleanup(func() {
			if err := log.Close(); err != nil {
				t.Error(err)
			}
			store.Close()
		})
	}
	t.Cleanup(func() { close(over) })
	for a, from := range transports {
		for b, to := range transports {
			if a != b {
				from.Connect(raft.ServerAddress(b), to)
			}
		}
	}
	if err := first.Bootstrap(addresses); err != nil {
		t.Fatal(err)
	}
	return first, func() *cluster.Term {
		t.Helper()
		select {
		case term := <-first.Terms():
			return term
		case <-time.After(time.Minute):
			t.Fatal("no node has a term")
			return nil
		}
	}
}

// A leader whose handover failed leads again within seconds. During the handover raft refuses
// appends, which ends the hub's term but not raft's.
func TestLeadAgainAfterFailedHandover(t *testing.T) {
	first, lead := startSilent(t)
	term := lead()
	if err := term.Append([]byte("before")).Wait(); err != nil {
		t.Fatal(err)
	}
	if err := first.Transfer(); err == nil {
		t.Fatal("leadership moved to a node that does not answer")
	}
	for i := 0; term.Append([]byte("after")).Wait() != nil; i++ { // the hub starts again in the same raft term
		if i == 3 {
			t.Fatal("no term accepts appends")
		}
		term = lead()
	}
}

// Appends that raft refused during a handover are not followed by others in the same term, even if
// nobody waits for them: these would continue entries that do not exist, and stop every node.
func TestHandoverEndsAppends(t *testing.T) {
	first, lead := startSilent(t)
	term := lead()
	appended, stop := make(chan []cluster.Ack), make(chan struct{})
	go func() {
		var acks []cluster.Ack
		for {
			select {
			case <-stop:
				appended <- acks
				return
			case <-time.After(5 * time.Millisecond):
				acks = append(acks, term.Append([]byte("batch")))
			}
		}
	}()
	if err := first.Transfer(); err == nil {
		t.Fatal("leadership moved to a node that does not answer")
	}
	next := lead()
	close(stop)
	for _, ack := range <-appended {
		_ = ack.Wait()
	}
	if next == nil {
		t.Fatalf("the node stopped: %v", first.Err())
	}
	if err := next.Append([]byte("after")).Wait(); err != nil {
		t.Error(err)
	}
}
