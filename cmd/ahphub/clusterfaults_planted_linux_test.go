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

// planted are faults of the program, what brings each to light, and what the checker says then.
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

// The checker finds faults that are planted in the program, and nothing when the same is done to the program as it is.
func TestPlantedClusterFaults(t *testing.T) {
	if *clusterRounds == 0 {
		t.Skip("see make test-cluster")
	}
	t.Run("none", func(t *testing.T) {
		w := startPlanted(t, "")
		for _, p := range planted {
			if found := w.bringOut(p.do); len(found) > 0 {
				t.Errorf("what finds %q finds something without it: %s", p.plant, strings.Join(found, "\n"))
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
				t.Errorf("the fault is not found, but %q", found)
			}
		})
	}
}

func startPlanted(t *testing.T, plant string) *trial {
	nodes := startTrialNodes(t, plant)
	return &trial{nodes, newTrialLoad(nodes), rand.New(rand.NewPCG(1, 1))}
}

// bringOut does something to a cluster, mends it, and returns what the checker finds.
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

// pin has a client go to one node.
func (w *trial) pin(c *trialClient, n *trialNode) {
	w.trialNodes.Helper()
	c.only.Store(n)
	if err := c.again(); err != nil {
		w.Fatal(err)
	}
}

// titles sends a client's changes of a title, and returns their numbers.
func (c *trialClient) titles(n int) (sent []int64) {
	for range n {
		sent = append(sent, c.send(c.session, &ahp.SessionTitleChangedAction{Title: "title " + ids.New()}))
	}
	return sent
}

// await waits a while for answers, which need not come.
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

// actAtCutLeader cuts the leader off, and has a client of it act.
func (w *trial) actAtCutLeader() {
	leader, c := w.leader(), w.clients[1]
	w.pin(c, leader)
	w.isolate(leader)
	c.await(c.titles(5), 3*time.Second)
	w.nextLeader(leader)
}

// nextLeader waits until another node than one leads.
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

// loseAnswers has the answers to a client's actions lost on their way from the leader, kills that, and has the client ask again.
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
		_, answered, _ := w.blind.Answered(w.blind.name, sent[0]) // by a connection whose ends the proxy did not know
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

// spendNumbers has the leader refuse a client's actions by numbers that no journal has, kills it, and has the client act.
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

// readAtDeposed cuts the leader off, and has a visitor read there once another node leads and has told a client more.
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

// countOn writes the register's next value.
func (w *trial) countOn(c *trialClient) {
	w.trialNodes.Helper()
	w.trialLoad.count++
	accepted, err := c.do(w.register, &ahp.SessionTitleChangedAction{Title: registerTitle(w.trialLoad.count)})
	if err != nil || !accepted {
		w.Fatalf("the register is not written: %v", err)
	}
	w.Wrote(w.trialLoad.count, time.Now())
}

// look has a visitor read the register at a node, and reports whether it was shown.
func (w *trial) look(visitor *http.Client, n *trialNode) bool {
	r, ok := readRegister(visitor, "visitor", n)
	if ok {
		w.Read(r)
	}
	return ok
}

// plants are faults of the program for the checker to find, by their names. They are in the test's program alone.
var plants = map[string]func(args []string){
	"": func([]string) {},
	// What the journal was handed is visible at once, whether a quorum has it or not.
	"acknowledge early": func([]string) {
		hooks.append = func(add store.Append) store.Append {
			first := true
			return func(batch []byte) func() error {
				wait := add(batch)
				if first { // the numbers of the term
					first = false
					return wait
				}
				return func() error { return nil }
			}
		}
	},
	// Which actions were answered is forgotten when another node leads.
	"forget answers": func(args []string) {
		spoilAtTerm(args, "DELETE FROM answers")
	},
	// A leader goes on with the numbers behind those that the journal has, though more were seen.
	"reuse numbers": func(args []string) {
		spoilAtTerm(args, "UPDATE meta SET value=(SELECT coalesce(max(seq), value) FROM envelopes) WHERE key='reserved'")
	},
	// A leader that was deposed believes that it leads, and answers, for a while.
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
						time.Sleep(lingers) // the hub ends when it hears of it
					}
					return err
				}
			}
		}
	},
}

// spoilAtTerm has a node change its database behind its own back whenever it begins to lead.
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
