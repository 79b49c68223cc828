package cluster_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/clustertest"
)

// nodes are three nodes in this process, each with a log on disk and connections that a test can
// cut.
type nodes struct {
	t    *testing.T
	all  []*node
	cuts map[int]bool
}

type node struct {
	dir       string
	state     *clustertest.State
	log       *cluster.Raft
	store     *boltdb.BoltStore
	transport *raft.InmemTransport
}

func startNodes(t *testing.T) clustertest.Nodes {
	t.Helper()
	c := &nodes{t: t, cuts: map[int]bool{}}
	addresses := map[string]string{}
	for i := range 3 {
		c.all = append(c.all, &node{dir: t.TempDir(), state: &clustertest.State{}})
		addresses[fmt.Sprint(i)] = fmt.Sprint("node-", i)
	}
	for i := range c.all {
		c.Restart(i)
	}
	if err := c.all[0].log.Bootstrap(addresses); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for i := range c.all {
			c.Kill(i)
		}
	})
	return c
}

func (c *nodes) Len() int                       { return len(c.all) }
func (c *nodes) State(i int) *clustertest.State { return c.all[i].state }

func (c *nodes) Log(i int) cluster.Log {
	if c.all[i].log == nil {
		return nil
	}
	return c.all[i].log
}

func (c *nodes) Kill(i int) {
	n := c.all[i]
	if n.log == nil {
		return
	}
	c.cut(i)
	if err := n.log.Close(); err != nil {
		c.t.Error(err)
	}
	if err := n.store.Close(); err != nil {
		c.t.Error(err)
	}
	n.log = nil
}

func (c *nodes) Restart(i int) {
	c.t.Helper()
	n := c.all[i]
	var err error
	if n.store, err = boltdb.NewBoltStore(filepath.Join(n.dir, "log")); err != nil {
		c.t.Fatal(err)
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(n.dir, 2, hclog.NewNullLogger())
	if err != nil {
		c.t.Fatal(err)
	}
	_, n.transport = raft.NewInmemTransport(raft.ServerAddress(fmt.Sprint("node-", i)))
	n.log, err = cluster.Open(cluster.Config{ID: fmt.Sprint(i), State: n.state, Transport: n.transport, Logs: n.store,
		Stable: n.store, Snapshots: snapshots, Heartbeat: 2 * time.Second, Keep: 1, Snapshot: 1 << 30})
	if err != nil {
		c.t.Fatal(err)
	}
	c.Heal(i)
}

func (c *nodes) cut(i int) {
	c.cuts[i] = true
	c.all[i].transport.DisconnectAll()
	for _, other := range c.all {
		if other.transport != nil {
			other.transport.Disconnect(raft.ServerAddress(fmt.Sprint("node-", i)))
		}
	}
}

func (c *nodes) Cut(i int) { c.cut(i) }

func (c *nodes) Heal(i int) {
	delete(c.cuts, i)
	for j, other := range c.all {
		if j == i || other.transport == nil || other.log == nil || c.cuts[j] {
			continue
		}
		other.transport.Connect(raft.ServerAddress(fmt.Sprint("node-", i)), c.all[i].transport)
		c.all[i].transport.Connect(raft.ServerAddress(fmt.Sprint("node-", j)), other.transport)
	}
}

func (c *nodes) Compact(i int) {
	if err := c.all[i].log.Compact(); err != nil {
		c.t.Error(err)
	}
}

func TestRaft(t *testing.T) { clustertest.Run(t, startNodes) }

// Raft's warnings reach the program's log.
func TestLogRaftWarnings(t *testing.T) {
	var out lockedBuffer
	store := raft.NewInmemStore()
	_, transport := raft.NewInmemTransport("node-0")
	n, err := cluster.Open(cluster.Config{ID: "0", State: &clustertest.State{},
		Transport: transport, Logs: store, Stable: store,
		Snapshots: raft.NewInmemSnapshotStore(), Heartbeat: 200 * time.Millisecond,
		Log: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Bootstrap(map[string]string{"0": "node-0", "1": "nowhere"}); err != nil {
		t.Fatal(err)
	}
	const failed = `level=ERROR msg="failed to make requestVote RPC" from=raft target=1`
	for !strings.Contains(out.String(), failed) {
		time.Sleep(10 * time.Millisecond)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	log := out.String()
	if strings.Count(log, failed) != 1 ||
		strings.Count(log, "heartbeat timeout reached, starting election") != 1 {
		t.Errorf("the log is:\n%s", log)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
