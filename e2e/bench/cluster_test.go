package bench

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e"
	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

// startNodes starts a cluster of three programs, and returns it with the leader and a follower.
func startNodes(b *testing.B, args ...string) (c *e2e.Cluster, leads, follows *host) {
	b.Helper()
	c = e2e.StartCluster(b, append([]string{"--agent", "script", "--log-level", "warn"}, args...)...)
	leader, other := c.Leader()
	return c, &host{c.Nodes[leader]}, &host{c.Nodes[other]}
}

// BenchmarkClusterLatency runs BenchmarkAgentLatency on one program and on three, for clients of
// the leader and of a follower.
func BenchmarkClusterLatency(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		h := startAgents(b, "")
		measureAgents(b, h, h)
	})
	for name, far := range map[string]bool{"leader": false, "follower": true} {
		b.Run(name, func(b *testing.B) {
			_, leads, follows := startNodes(b, "--config", agentConfig(b, ""), "--agent", "bench")
			at := leads
			if far {
				at = follows
			}
			measureAgents(b, leads, at)
		})
	}
}

// BenchmarkClusterActions sends plain actions to one program, and to the nodes of a cluster.
func BenchmarkClusterActions(b *testing.B) {
	for b.Loop() {
		_, leads, follows := startNodes(b)
		const n, flight = 20_000, 64
		near := sendTo(b, leads, leads, plainAction, n, flight)
		far := sendTo(b, leads, follows, plainAction, n, flight)
		leads.Stop()
		follows.Stop()
		alone := hostActions(b, plainAction, n, flight)
		alone.report(b, "alone")
		near.report(b, "leader")
		far.report(b, "follower")
		b.ReportMetric(near.perSecond()/alone.perSecond(), "leader/alone")
		b.ReportMetric(far.perSecond()/alone.perSecond(), "follower/alone")
	}
}

// BenchmarkClusterMemory measures three idle nodes and one idle program.
func BenchmarkClusterMemory(b *testing.B) {
	for b.Loop() {
		alone := startHost(b, b.TempDir())
		_, leads, follows := startNodes(b)
		time.Sleep(20 * time.Second) // until memory used for the start is released
		b.ReportMetric(float64(alone.rss(b))/(1<<20), "alone-MB")
		b.ReportMetric(float64(leads.rss(b))/(1<<20), "leader-MB")
		b.ReportMetric(float64(follows.rss(b))/(1<<20), "follower-MB")
	}
}

const manySessions = 1000

// makeSessions creates many sessions, several at a time.
func makeSessions(b *testing.B, p *peer.Peer) (last ahp.URI) {
	b.Helper()
	for range manySessions {
		ctx, cancel := context.WithTimeout(b.Context(), 20*time.Second)
		last = "ahp-session:/" + uuid.NewString()
		check(b, p.Call(ctx, "createSession", &ahp.CreateSessionParams{Channel: last, Provider: "script"}, nil))
		cancel()
	}
	return last
}

// BenchmarkClusterTakeover kills the leader of a cluster with 1,000 sessions, and measures the time
// until a client of another node sees a change, and the time of requests during a handover.
func BenchmarkClusterTakeover(b *testing.B) {
	const kills, transfers = 20, 10
	for b.Loop() {
		c, leads, _ := startNodes(b)
		driver := leads.peer(b, "driver")
		_, err := driver.Initialize(b.Context())
		check(b, err)
		uri := makeSessions(b, driver)
		var took, held []time.Duration
		for i := range kills {
			leader, other := c.Leader()
			at := &host{c.Nodes[other]}
			client := at.peer(b, fmt.Sprint("client ", i))
			_, err := client.Initialize(b.Context(), uri)
			check(b, err)
			change(b, client, uri, fmt.Sprint("before ", i)) // so that its name is on all disks
			ended, began := c.Nodes[leader], time.Now()
			delete(c.Nodes, leader)
			ended.Kill9()
			change(b, client, uri, fmt.Sprint("title ", i))
			took = append(took, time.Since(began))
			ended.Restart()
			c.Nodes[leader] = ended
			c.Await("one node that may fail", func() bool { return mayFail(c, other) })
		}
		wrong := 0
		for range transfers {
			leader, other := c.Leader()
			var wg sync.WaitGroup
			stop := make(chan struct{})
			var longest time.Duration
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					began := time.Now()
					if status, _ := c.Nodes[other].Get("/signin"); status != http.StatusOK {
						wrong++
					}
					longest = max(longest, time.Since(began))
				}
			})
			c.Run("cluster", "transfer", "--data", c.Nodes[leader].Data)
			c.Leader()
			close(stop)
			wg.Wait()
			held = append(held, longest)
			c.Await("one node that may fail", func() bool { return mayFail(c, other) })
		}
		slices.Sort(took)
		slices.Sort(held)
		b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "kill-p50-ms")
		b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "kill-longest-ms")
		b.ReportMetric(float64(held[len(held)/2].Milliseconds()), "held-p50-ms")
		b.ReportMetric(float64(held[len(held)-1].Milliseconds()), "held-longest-ms")
		b.ReportMetric(float64(wrong), "wrong")
	}
}

// change has a client, whose node may have lost the leader, change a title, and waits until the
// client sees it.
func change(b *testing.B, p *peer.Peer, session ahp.URI, title string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	for sent := false; ; {
		try, end := context.WithTimeout(ctx, 2*time.Second)
		_, err := p.Reconnect(try)
		if err == nil && !sent {
			_, err = p.Dispatch(try, session, &ahp.SessionTitleChangedAction{Title: title})
			sent = err == nil
		}
		if err == nil {
			err = p.Wait(try, func() bool {
				state, _ := p.Confirmed(session)
				s, ok := state.(*ahp.SessionState)
				return ok && s.Title == title
			})
		}
		end()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			b.Fatal("the change is never seen: ", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func mayFail(c *e2e.Cluster, at string) bool {
	return strings.Contains(c.Run("cluster", "status", "--data", c.Nodes[at].Data), "may_fail=1")
}
