package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/store"
)

// planted lists the planted faults, the scenario that exposes each, and the findings that the
// checker may report.
var planted = []struct {
	plant string
	do    func(*trial)
	kinds []string
}{
	{"acknowledge early", (*trial).actAtCutLeader, []string{"lost", "acknowledged and lost", "renumbered", "another content"}},
	{"forget answers", (*trial).loseAnswers, []string{"taken twice"}},
	{"reuse numbers", (*trial).spendNumbers, []string{"out of order", "delivery", "another content"}},
	{"linger", (*trial).readAtDeposed, []string{"stale"}},
}

// The checker finds each planted fault, and finds nothing in the same scenarios without a planted
// fault.
func TestPlantedClusterFaults(t *testing.T) {
	if *clusterRounds == 0 {
		t.Skip("see make test-cluster")
	}
	t.Run("none", func(t *testing.T) {
		w := startPlanted(t, "")
		for _, p := range planted {
			if found := w.bringOut(p.do); len(found) > 0 {
				t.Errorf("the scenario of %q has findings without the fault: %s", p.plant, strings.Join(found, "\n"))
			}
		}
	})
	for _, p := range planted {
		t.Run(p.plant, func(t *testing.T) {
			found := startPlanted(t, p.plant).bringOut(p.do)
			if !slices.ContainsFunc(found, func(f string) bool {
				kind, _, _ := strings.Cut(f, ":")
				return slices.Contains(p.kinds, kind)
			}) {
				t.Errorf("the fault was not found; findings: %q", found)
			}
		})
	}
}

func startPlanted(t *testing.T, plant string) *trial {
	nodes := startTrialNodes(t, plant)
	return &trial{nodes, newTrialLoad(nodes), rand.New(rand.NewPCG(1, 1))}
}

// bringOut runs a scenario, heals the cluster, and returns the checker's findings.
func (w *trial) bringOut(do func(*trial)) []string {
	w.trialNodes.Helper()
	w.settle()
	if err := w.prepare(); err != nil {
		w.Fatal(err)
	}
	do(w)
	for _, c := range append(slices.Clone(w.clients), w.blind) {
		c.only.Store(nil)
	}
	w.heal()
	w.settle()
	return w.check()
}

// pin makes a client use only one node.
func (w *trial) pin(c *trialClient, n *trialNode) {
	w.trialNodes.Helper()
	c.only.Store(n)
	if err := c.reconnect(); err != nil {
		w.Fatal(err)
	}
}

// titles sends title changes and returns their client sequence numbers.
func (c *trialClient) titles(n int) (sent []int64) {
	for range n {
		sent = append(sent, c.send(c.session, &ahp.SessionTitleChangedAction{Title: "title " + ids.New()}))
	}
	return sent
}

// await waits a limited time for answers, which may never arrive.
func (c *trialClient) await(sent []int64, most time.Duration) {
	late := time.After(most)
	for _, seq := range sent {
		for answered := false; !answered; {
			var changed <-chan struct{}
			if _, answered, changed = c.Answered(c.name, seq); answered {
				continue
			}
			select {
			case <-changed:
			case <-late:
				return
			}
		}
	}
}

// actAtCutLeader cuts the leader off and makes one of its clients act.
func (w *trial) actAtCutLeader() {
	leader, c := w.leader(), w.clients[1]
	w.pin(c, leader)
	w.isolate(leader)
	c.await(c.titles(5), 3*time.Second)
	w.nextLeader(leader)
}

// nextLeader waits until a node other than before leads.
func (w *trial) nextLeader(before *trialNode) (next *trialNode) {
	w.trialNodes.Helper()
	w.await("another node that leads", func() bool {
		for _, n := range w.others(before) {
			if n.ask("/leaderz") == http.StatusOK {
				next = n
			}
		}
		return next != nil
	})
	return next
}

func (w *trial) isolate(n *trialNode) {
	for _, o := range w.others(n) {
		w.cut(n, o, true)
		w.cut(o, n, true)
	}
}

// loseAnswers drops the leader's answers to a client, kills the leader, and makes the client ask
// again.
func (w *trial) loseAnswers() {
	watcher := w.clients[trialWriters]
	var leader *trialNode
	var sent []int64
	for lost := false; !lost; {
		w.heal()
		w.settle()
		leader = w.leader()
		follower := w.others(leader)[0]
		w.pin(watcher, leader)
		w.pin(w.blind, follower)
		w.cut(leader, follower, true)
		before := titleOf(watcher, w.blind.session)
		sent = w.blind.titles(3)
		if err := watcher.wait("titles", func() bool { return titleOf(watcher, w.blind.session) != before }); err != nil {
			w.Fatal(err)
		}
		_, answered, _ := w.blind.Answered(w.blind.name, sent[0]) // over a connection whose ends the proxy did not know
		lost = !answered
	}
	leader.kill()
	w.heal()
	w.settle()
	w.pin(w.blind, nil)
	w.blind.await(sent, 20*time.Second)
}

func titleOf(c *trialClient, session ahp.URI) string {
	if s, ok := c.peer.State(session).(*ahp.SessionState); ok {
		return s.Title
	}
	return ""
}

// spendNumbers makes the leader refuse a client's actions with numbers that no journal has, kills
// the leader, and makes the client act.
func (w *trial) spendNumbers() {
	leader, c := w.leader(), w.clients[1]
	w.pin(c, leader)
	var sent []int64
	for range 200 {
		sent = append(sent, c.send(ahp.RootURI, &ahp.RootActiveSessionsChangedAction{}))
	}
	c.await(sent, 20*time.Second)
	leader.kill()
	w.heal()
	w.settle()
	w.pin(c, nil)
	c.await(c.titles(8), 10*time.Second)
}

// readAtDeposed cuts the leader off, and makes a visitor read there after another node leads and
// has acknowledged a newer value.
func (w *trial) readAtDeposed() {
	leader, writer := w.leader(), w.clients[0]
	jar, _ := cookiejar.New(nil)
	visitor := &http.Client{Jar: jar, Timeout: 5 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	defer visitor.CloseIdleConnections()
	w.await("a visitor who is signed in", func() bool { return signInAt(visitor, leader) })
	w.pin(writer, nil)
	w.countOn(writer)
	w.await("a page with the register", func() bool { return w.look(visitor, leader) })
	w.isolate(leader)
	w.pin(writer, w.nextLeader(leader))
	w.countOn(writer)
	w.look(visitor, leader)
}

// countOn increments the register.
func (w *trial) countOn(c *trialClient) {
	w.trialNodes.Helper()
	w.trialLoad.count++
	accepted, err := c.do(w.register, &ahp.SessionTitleChangedAction{Title: registerTitle(w.trialLoad.count)})
	if err != nil || !accepted {
		w.Fatalf("the register is not written: %v", err)
	}
	w.Wrote(w.trialLoad.count, time.Now())
}

// look makes a visitor read the register at a node, and reports whether it was visible.
func (w *trial) look(visitor *http.Client, n *trialNode) bool {
	r, ok := readRegister(visitor, "visitor", n)
	if ok {
		w.Read(r)
	}
	return ok
}

// plants maps names to faults that the checker must find. They exist only in the test binary.
var plants = map[string]func(args []string){
	"": func([]string) {},
	// Batches are visible before a quorum has them.
	"acknowledge early": func([]string) {
		hooks.append = func(add store.Append) store.Append {
			first := true
			return func(batch []byte) func() error {
				wait := add(batch)
				if first { // the batch that reserves numbers
					first = false
					return wait
				}
				return func() error { return nil }
			}
		}
	},
	// A new leader forgets which actions were answered.
	"forget answers": func(args []string) {
		spoilAtTerm(args, "DELETE FROM answers")
	},
	// A leader continues after the journal's last number, although clients saw higher ones.
	"reuse numbers": func(args []string) {
		spoilAtTerm(args, "UPDATE meta SET value=(SELECT coalesce(max(seq), value) FROM envelopes) WHERE key='reserved'")
	},
	// A deposed leader keeps answering for a while as if it still led.
	"linger": func([]string) {
		const lingers = 15 * time.Second
		hooks.term = func(t *cluster.Term) (context.Context, func() error) {
			over, end := context.WithCancel(context.Background())
			context.AfterFunc(t.Context(), func() { time.AfterFunc(lingers, end) })
			return over, func() error { return nil }
		}
		hooks.append = func(add store.Append) store.Append {
			return func(batch []byte) func() error {
				wait := add(batch)
				return func() error {
					err := wait()
					if errors.Is(err, cluster.ErrDeposed) {
						time.Sleep(lingers) // the hub stops when it learns of it
					}
					return err
				}
			}
		}
	},
}

// spoilAtTerm makes a node modify its own database whenever it starts to lead.
func spoilAtTerm(args []string, statement string) {
	data := args[slices.Index(args, "--data")+1]
	hooks.append = func(add store.Append) store.Append {
		if db, err := openState(data); err == nil {
			db.SetMaxOpenConns(1)
			_, _ = db.Exec("PRAGMA query_only(0)")
			_, _ = db.Exec(statement)
			db.Close()
		}
		return add
	}
}
