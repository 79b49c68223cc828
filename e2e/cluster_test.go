package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// company is a cluster of three programs on this computer.
type company struct {
	t     *testing.T
	nodes map[string]*Program
	env   []string
}

func clusterAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func startCompany(t *testing.T) *company {
	t.Helper()
	c := &company{t: t, nodes: map[string]*Program{}, env: []string{"AHPHUB_TOKEN=the-owner-of-three-nodes-0123456789abcdef"}}
	dir := t.TempDir()
	first := Start(t, Options{Node: true, Env: c.env, Args: []string{"--cluster", "--cluster-name", "a", "--cluster-address",
		clusterAddress(t)}})
	c.nodes["a"] = first
	c.await("a to lead", func() bool { status, _ := first.Get("/leaderz"); return status == http.StatusOK })
	for _, name := range []string{"b", "c"} {
		token := c.run("cluster", "token", "--data", first.Data)
		data := filepath.Join(dir, name)
		c.run("cluster", "join", "--data", data, "--name", name, "--address", clusterAddress(t),
			strings.TrimPrefix(strings.TrimSpace(token), "token="))
		c.nodes[name] = Start(t, Options{Node: true, Data: data, Env: c.env, Args: []string{"--cluster"}})
	}
	c.await("one node that may fail", func() bool {
		return strings.Contains(c.run("cluster", "status", "--data", first.Data), "may_fail=1")
	})
	return c
}

func (c *company) run(args ...string) string {
	c.t.Helper()
	out, err := Command(c.t, c.env, args...)
	if err != nil {
		c.t.Fatalf("ahphub %v: %v\n%s", args, err, out)
	}
	return out
}

func (c *company) await(what string, done func() bool) {
	c.t.Helper()
	for began := time.Now(); !done(); <-time.After(20 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			c.t.Fatalf("there is never %s", what)
		}
	}
}

// leader waits for a node that leads, and returns its name and another one's.
func (c *company) leader() (leads, follows string) {
	c.t.Helper()
	c.await("a node that leads", func() bool {
		leads, follows = "", ""
		for name, p := range c.nodes {
			if status, _ := p.Get("/leaderz"); status == http.StatusOK {
				leads = name
			} else {
				follows = name
			}
		}
		return leads != ""
	})
	return leads, follows
}

// Whatever a client saw is there after the leader is killed, with its numbers, and nobody sees an error when leadership is
// handed over.
func TestClusterOutlivesItsLeader(t *testing.T) {
	c := startCompany(t)
	leads, follows := c.leader()
	w := watch(t, c.nodes[follows], "watcher")
	chat := w.newSession(t.TempDir())
	w.say(chat, "before", "echo before")
	w.wait("the first turn", func() bool { return w.chat(chat).ActiveTurn == nil && len(w.chat(chat).Turns) == 1 })

	// handed over, while somebody asks for pages at the node that stays a follower
	var third string
	for name := range c.nodes {
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
			if status, body := ask(t.Context(), c.nodes[third].URL+"/signin"); status != http.StatusOK {
				wrong = fmt.Sprintf("WRONG %d %.200s ", status, body)
			}
			n, longest = n+1, max(longest, time.Since(began))
		}
	}()
	began := time.Now()
	c.run("cluster", "transfer", "--to", follows, "--data", c.nodes[leads].Data)
	t.Logf("handed over after %v", time.Since(began))
	c.await(follows+" to lead", func() bool { status, _ := c.nodes[follows].Get("/leaderz"); return status == http.StatusOK })
	close(stop)
	if got := <-asked; strings.Contains(got, "WRONG") {
		t.Errorf("while leadership was handed over: %s", got)
	} else {
		t.Log(got)
	}
	w.reconnect()

	// killed, while a command prints
	w.check()
	w2 := watch(t, c.nodes[third], "another")
	w2.mirror(chat)
	w2.say(chat, "killed", ticking)
	w2.printing()
	sent, text := w2.LastSeq(), saidIn(w2, chat)
	began = time.Now()
	c.nodes[follows].Kill9()
	c.await("a socket", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := w2.Reconnect(ctx)
		return err == nil
	})
	back := time.Since(began)
	w2.wait("the end of the turn", func() bool { return w2.chat(chat).ActiveTurn == nil && len(w2.chat(chat).Turns) == 2 })
	w2.say(chat, "after", "echo after")
	w2.wait("a new delta", func() bool { return strings.Contains(saidIn(w2, chat), "after") })
	t.Logf("connected again after %v, the first new delta after %v", back, time.Since(began))
	if now := saidIn(w2, chat); !strings.Contains(now, text) || w2.LastSeq() <= sent {
		t.Errorf("at %d it has\n%s\nand at %d it had\n%s", w2.LastSeq(), now, sent, text)
	}
	w2.check()

	// stopped without being gone, once three run again
	c.nodes[follows].Restart()
	c.await("three nodes that are ready", func() bool { return c.ready() == 3 })
	stopped, asks := c.leader()
	p := c.nodes[stopped].cmd.Process
	began = time.Now()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.await("a page", func() bool {
		status, _ := ask(t.Context(), c.nodes[asks].URL+"/signin")
		return status == http.StatusOK
	})
	t.Logf("a page %v after the leader stopped", time.Since(began))
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.await("three nodes that are ready", func() bool { return c.ready() == 3 })
	c.await("one leader", func() bool {
		n := 0
		for _, p := range c.nodes {
			if status, _ := p.Get("/leaderz"); status == http.StatusOK {
				n++
			}
		}
		return n == 1
	})
	w3 := watch(t, c.nodes[stopped], "third")
	w3.mirror(chat)
	if now := saidIn(w3, chat); now != saidIn(w2, chat) {
		t.Errorf("after the leader was stopped the chat is\n%s\nand was\n%s", now, saidIn(w2, chat))
	}
	w3.check()
}

// ready counts the nodes that are.
func (c *company) ready() (n int) {
	for _, p := range c.nodes {
		if status, _ := p.Get("/readyz"); status == http.StatusOK {
			n++
		}
	}
	return n
}

// saidIn is everything in a chat, as JSON.
func saidIn(w *watcher, chat string) string {
	b, _ := json.Marshal(w.chat(chat).Turns)
	var sorted any
	_ = json.Unmarshal(b, &sorted) // objects that nobody has read keep the order of their keys
	b, _ = json.Marshal(sorted)
	return strings.TrimSuffix(strings.TrimPrefix(string(b), "["), "]")
}

// ask returns the answer to a request for a page.
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

// A node that is removed ends by itself, says why, and with a status that service managers leave alone.
func TestRemovedNodeEnds(t *testing.T) {
	c := startCompany(t)
	leads, follows := c.leader()
	gone := c.nodes[follows]
	c.run("cluster", "remove", follows, "--data", c.nodes[leads].Data)
	select {
	case <-gone.exited:
	case <-time.After(patience):
		t.Fatalf("a node that was removed goes on:\n%s", gone.log.tail())
	}
	if code := gone.cmd.ProcessState.ExitCode(); code != 78 || !strings.Contains(gone.Log(), "was removed from its cluster") {
		t.Errorf("it ends with status %d:\n%s", code, gone.log.tail())
	}
	out := c.run("cluster", "status", "--data", c.nodes[leads].Data)
	if status, _ := c.nodes[leads].Get("/leaderz"); status != http.StatusOK || strings.Contains(out, "node="+follows) {
		t.Errorf("the others have the status %d and\n%s", status, out)
	}
}
