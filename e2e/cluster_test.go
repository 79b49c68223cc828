package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Everything a client saw is still there, with the same numbers, after the leader is killed, and no
// visitor sees an error during a handover.
func TestClusterSurvivesLeader(t *testing.T) {
	c := StartCluster(t)
	leads, follows := c.Leader()
	w := watch(t, c.Nodes[follows], "watcher")
	chat := w.newSession(t.TempDir())
	w.say(chat, "before", "echo before")
	w.wait("the first turn", func() bool { return w.chat(chat).ActiveTurn == nil && len(w.chat(chat).Turns) == 1 })

	// Hand over while a visitor loads pages from the remaining follower.
	var third string
	for name := range c.Nodes {
		if name != leads && name != follows {
			third = name
		}
	}
	stop, asked := make(chan struct{}), make(chan string, 1)
	go func() {
		wrong, n, longest := "", 0, time.Duration(0)
		for {
			select {
			case <-stop:
				asked <- fmt.Sprintf("%s%d pages, the slowest after %v", wrong, n, longest)
				return
			default:
			}
			began := time.Now()
			if status, body := ask(t.Context(), c.Nodes[third].URL+"/signin"); status != http.StatusOK {
				wrong = fmt.Sprintf("WRONG %d %.200s ", status, body)
			}
			n, longest = n+1, max(longest, time.Since(began))
		}
	}()
	began := time.Now()
	c.Run("cluster", "transfer", "--to", follows, "--data", c.Nodes[leads].Data)
	t.Logf("handed over after %v", time.Since(began))
	c.Await(follows+" to lead", func() bool { status, _ := c.Nodes[follows].Get("/leaderz"); return status == http.StatusOK })
	close(stop)
	if got := <-asked; strings.Contains(got, "WRONG") {
		t.Errorf("during the handover: %s", got)
	} else {
		t.Log(got)
	}
	w.reconnect()

	// Kill the leader while a command prints.
	w.check()
	w2 := watch(t, c.Nodes[third], "another")
	w2.mirror(chat)
	w2.say(chat, "killed", ticking)
	w2.printing()
	sent, text := w2.LastSeq(), saidIn(w2, chat)
	began = time.Now()
	c.Nodes[follows].Kill9()
	c.Await("a socket", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := w2.Reconnect(ctx)
		return err == nil
	})
	back := time.Since(began)
	w2.wait("the end of the turn", func() bool { return w2.chat(chat).ActiveTurn == nil && len(w2.chat(chat).Turns) == 2 })
	w2.say(chat, "after", "echo after")
	w2.wait("a new delta", func() bool { return strings.Contains(saidIn(w2, chat), "after") })
	t.Logf("reconnected after %v, the first new delta after %v", back, time.Since(began))
	if now := saidIn(w2, chat); !strings.Contains(now, text) || w2.LastSeq() <= sent {
		t.Errorf("at %d it has\n%s\nand at %d it had\n%s", w2.LastSeq(), now, sent, text)
	}
	w2.check()

	// Pause the leader once three nodes run again.
	c.Nodes[follows].Restart()
	c.Await("three nodes that are ready", func() bool { return c.ready() == 3 })
	stopped, asks := c.Leader()
	p := c.Nodes[stopped].cmd.Process
	began = time.Now()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.Await("a page", func() bool {
		status, _ := ask(t.Context(), c.Nodes[asks].URL+"/signin")
		return status == http.StatusOK
	})
	t.Logf("a page %v after the leader stopped", time.Since(began))
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.Await("three nodes that are ready", func() bool { return c.ready() == 3 })
	c.Await("one leader", func() bool {
		n := 0
		for _, p := range c.Nodes {
			if status, _ := p.Get("/leaderz"); status == http.StatusOK {
				n++
			}
		}
		return n == 1
	})
	w3 := watch(t, c.Nodes[stopped], "third")
	w3.mirror(chat)
	if now := saidIn(w3, chat); now != saidIn(w2, chat) {
		t.Errorf("after the leader was paused the chat is\n%s\nand was\n%s", now, saidIn(w2, chat))
	}
	w3.check()
}

// ready returns the number of nodes that are ready.
func (c *Cluster) ready() (n int) {
	for _, p := range c.Nodes {
		if status, _ := p.Get("/readyz"); status == http.StatusOK {
			n++
		}
	}
	return n
}

// saidIn returns everything in a chat as JSON.
func saidIn(w *watcher, chat string) string {
	b, _ := json.Marshal(w.chat(chat).Turns)
	var sorted any
	_ = json.Unmarshal(b, &sorted) // raw objects keep the order of their keys
	b, _ = json.Marshal(sorted)
	return strings.TrimSuffix(strings.TrimPrefix(string(b), "["), "]")
}

// ask returns the answer to a page request.
func ask(ctx context.Context, url string) (int, string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err.Error()
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	var b strings.Builder
	_, _ = fmt.Fprint(&b, res.Status)
	return res.StatusCode, b.String()
}

// A removed node exits by itself, with the reason and a status that service managers do not
// restart.
func TestRemovedNodeExits(t *testing.T) {
	c := StartCluster(t)
	leads, follows := c.Leader()
	gone := c.Nodes[follows]
	c.Run("cluster", "remove", follows, "--data", c.Nodes[leads].Data)
	select {
	case <-gone.exited:
	case <-time.After(patience):
		t.Fatalf("a removed node is still running:\n%s", gone.log.tail())
	}
	if code := gone.cmd.ProcessState.ExitCode(); code != 78 || !strings.Contains(gone.Log(), "was removed from its cluster") {
		t.Errorf("it exited with status %d:\n%s", code, gone.log.tail())
	}
	out := c.Run("cluster", "status", "--data", c.Nodes[leads].Data)
	if status, _ := c.Nodes[leads].Get("/leaderz"); status != http.StatusOK || strings.Contains(out, "node="+follows) {
		t.Errorf("the other nodes have the status %d and\n%s", status, out)
	}
}
