package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	clusterRounds = flag.Int("cluster-rounds", 0, "rounds of faults in a cluster of three processes; 0: none, 10: the short run")
	clusterSeed   = flag.Uint64("cluster-seed", 0, "seed for the choice and timing of faults; 0: random")
	clusterKinds  = flag.String("cluster-faults", "", "only faults whose names contain this")
)

// roundsOfACluster is the number of rounds per cluster: all of its data is compared after each
// round.
const roundsOfACluster = 25

// trial is a cluster under load, with injected faults.
type trial struct {
	*trialNodes
	*trialLoad
	rng *rand.Rand
}

// fault is an injected fault that lasts until heal.
type fault struct {
	name string
	do   func(*trial) (what string)
}

func (w *trial) anyFollower() *trialNode {
	others := w.others(w.leader())
	return others[w.rng.IntN(len(others))]
}

func (w *trial) stopNode(n *trialNode) string {
	n.signal(syscall.SIGSTOP)
	return "stop " + n.name
}

func (w *trial) killNode(n *trialNode) string {
	n.kill()
	return "kill " + n.name
}

// transferLead requests a transfer of leadership, which may fail while other faults last.
func (w *trial) transferLead() string {
	n := w.leader()
	go func() { _, _ = w.try("cluster", "transfer", "--data", n.data) }()
	return "transfer from " + n.name
}

var clusterFaults = []fault{
	{"kill leader", func(w *trial) string { return w.killNode(w.leader()) }},
	{"kill follower", func(w *trial) string { return w.killNode(w.anyFollower()) }},
	{"kill quorum", func(w *trial) string {
		n := w.others(w.anyFollower())
		return w.killNode(n[0]) + ", " + w.killNode(n[1])
	}},
	{"stop leader", func(w *trial) string { return w.stopNode(w.leader()) }},
	{"stop follower", func(w *trial) string { return w.stopNode(w.anyFollower()) }},
	{"transfer", (*trial).transferLead},
	{"cut leader off", func(w *trial) string { return w.cutOff(w.leader()) }},
	{"cut follower off", func(w *trial) string { return w.cutOff(w.anyFollower()) }},
	{"cut leader one way", func(w *trial) string { return w.deafen(w.leader()) }},
	{"cut follower one way", func(w *trial) string { return w.deafen(w.anyFollower()) }},
	{"cut between two", func(w *trial) string {
		a := w.leader()
		b := w.others(a)[w.rng.IntN(2)]
		w.cut(a, b, true)
		w.cut(b, a, true)
		return "cut " + a.name + " and " + b.name
	}},
	{"upgrade", (*trial).upgrade},
	{"kill receiver", (*trial).killReceiver},
	{"snapshot", func(w *trial) string {
		n := w.list[w.rng.IntN(len(w.list))]
		n.tell("snapshot")
		time.Sleep(time.Duration(w.rng.IntN(20)) * time.Millisecond) // vary how far it gets
		return "snapshot at " + n.name + ", " + w.killNode(n)
	}},
}

// killReceiver kills a node that was away while it takes in a snapshot, and the leader that sent it, starts the node again, and transfers
// leadership to it.
func (w *trial) killReceiver() string {
	leader, n := w.leader(), w.anyFollower()
	if len(w.up()) < len(w.list) {
		return "nothing is received, as not all nodes are up"
	}
	n.kill()
	w.wait(time.Second, 3*time.Second) // until the log is longer than what is kept for nodes that lag
	leader.tell("snapshot")
	w.wait(300*time.Millisecond, 500*time.Millisecond)
	before := snapshotsOf(n)
	w.start(n)
	n.tell("slow on")
	received := false
	for began := time.Now(); !received && time.Since(began) < 10*time.Second; <-time.After(5 * time.Millisecond) {
		received = slices.ContainsFunc(snapshotsOf(n), func(name string) bool { return !slices.Contains(before, name) })
	}
	n.kill()
	leader.kill() // which would send the snapshot again
	w.start(n)
	w.await(n.name+" to answer", func() bool { return n.ask("/readyz") == http.StatusOK })
	_, err := w.try("cluster", "transfer", "--data", n.data, "--to", n.name)
	return fmt.Sprintf("kill %s when it has received a snapshot (%v), and %s, then transfer to %s (%v)", n.name, received, leader.name,
		n.name, err == nil)
}

// snapshotsOf returns the names of the snapshots that a node has whole.
func snapshotsOf(n *trialNode) (names []string) {
	found, _ := filepath.Glob(filepath.Join(logDir(n.data), "snapshots", "*", "state.bin"))
	for _, f := range found {
		if name := filepath.Base(filepath.Dir(f)); !strings.HasSuffix(name, ".tmp") {
			names = append(names, name)
		}
	}
	return names
}

// cutOff cuts a node off from all others, in both directions.
func (w *trial) cutOff(n *trialNode) string {
	silent := w.rng.IntN(2) == 0
	for _, o := range w.others(n) {
		w.cut(n, o, silent)
		w.cut(o, n, silent)
	}
	return fmt.Sprintf("cut %s off (silent %v)", n.name, silent)
}

// upgrade restarts all nodes with a newer release, one at a time, the leader last. After that, they
// write batches that the older release would refuse.
func (w *trial) upgrade() string {
	if len(w.up()) < len(w.list) {
		return "no upgrade, as not all nodes are up"
	}
	leader := w.leader()
	for _, n := range append(w.others(leader), leader) {
		if n == leader {
			_, _ = w.try("cluster", "transfer", "--data", n.data)
		}
		n.stop()
		n.version = max(n.version, batchVersion) + 1
		w.start(n)
		w.await("node "+n.name+" of another release", func() bool { return n.ask("/readyz") == http.StatusOK })
	}
	return fmt.Sprintf("upgrade to release %d", leader.version)
}

// deafen swallows everything that a node sends, or everything sent to it.
func (w *trial) deafen(n *trialNode) string {
	in := w.rng.IntN(2) == 0
	for _, o := range w.others(n) {
		if in {
			w.cut(o, n, true)
		} else {
			w.cut(n, o, true)
		}
	}
	return fmt.Sprintf("cut %s off one way (in %v)", n.name, in)
}

// wait lets a fault last for a random time.
func (w *trial) wait(from, to time.Duration) {
	time.Sleep(from + time.Duration(w.rng.Int64N(int64(to-from)))) // vary the duration
}

// round injects one or two faults, heals the cluster, and checks everything that clients saw since
// the cluster started.
func (w *trial) round(kinds []fault) (what string, found []string) {
	w.trialNodes.Helper()
	if err := w.prepare(); err != nil {
		return "before the faults", []string{err.Error()}
	}
	w.begin()
	w.wait(300*time.Millisecond, 1500*time.Millisecond)
	var done []string
	for i, f := range kinds {
		if i > 0 && len(w.up()) < 3 {
			break // without two of three nodes there is no leader
		}
		done = append(done, f.do(w))
		w.wait(100*time.Millisecond, 3500*time.Millisecond)
	}
	what = strings.Join(done, ", then ")
	ended := false
	defer func() {
		if !ended {
			w.Logf("after: %s", what)
		}
	}()
	w.heal()
	w.settle()
	w.wait(300*time.Millisecond, time.Second)
	if err := w.trialLoad.end(); err != nil {
		found = append(found, err.Error())
	}
	w.settle()
	found = append(found, w.check()...)
	ended = true
	if len(found) > 0 {
		return what, found
	}
	if err := w.converge(); err != nil {
		found = append(found, err.Error())
	}
	return what, found
}

// up returns the nodes without faults.
func (w *trial) up() (list []*trialNode) {
	for _, n := range w.list {
		if n.isDead() || n.stopped || w.isCut(n) {
			continue
		}
		list = append(list, n)
	}
	return list
}

func (w *trial) isCut(n *trialNode) bool {
	for i := range w.links {
		for _, l := range []*flakyLink{w.links[i][n.at], w.links[n.at][i]} {
			l.mu.Lock()
			cut := l.down || l.deaf[0] || l.deaf[1]
			l.mu.Unlock()
			if cut {
				return true
			}
		}
	}
	return false
}

// Despite faults, everything visible stays visible with its number, everything acknowledged exists,
// no command starts twice, and no visitor sees an older state than one that was acknowledged.
func TestClusterFaults(t *testing.T) {
	if *clusterRounds == 0 {
		t.Skip("see make test-cluster")
	}
	seed := *clusterSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-cluster-seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for from := 0; from < *clusterRounds && !t.Failed(); from += roundsOfACluster {
		t.Run(fmt.Sprintf("from round %d", from), func(t *testing.T) {
			runRounds(t, rng, from, min(from+roundsOfACluster, *clusterRounds))
		})
	}
}

func runRounds(t *testing.T, rng *rand.Rand, from, to int) {
	nodes := startTrialNodes(t, "")
	w := &trial{nodes, newTrialLoad(nodes), rng}
	var deck []fault
	for i := from; i < to; i++ {
		kinds := make([]fault, 1+rng.IntN(2))
		for k := range kinds {
			if len(deck) == 0 {
				deck = slices.DeleteFunc(slices.Concat(clusterFaults, diskFaults, clockFaults), func(f fault) bool {
					return !strings.Contains(f.name, *clusterKinds)
				})
				rng.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
			}
			kinds[k], deck = deck[0], deck[1:]
		}
		began := time.Now()
		what, found := w.round(kinds)
		t.Logf("round %d, %v: %s", i, time.Since(began).Round(100*time.Millisecond), what)
		for _, f := range found {
			t.Errorf("round %d: %s", i, f)
		}
		if t.Failed() {
			break
		}
	}
	envelopes, acked, made, reads := w.Counts()
	t.Logf("%d envelopes seen, %d actions and %d sessions acknowledged, %d commands started, %d pages read and %d "+
		"refused, %d connections anew", envelopes, acked, made, len(w.startedTurns()), reads, w.refused.Load(),
		w.moves.Load())
}
