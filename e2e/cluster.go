package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
)

// Cluster is a cluster of three nodes, each its own process on this computer.
type Cluster struct {
	t     testing.TB
	Nodes map[string]*Program // by name
	env   []string
}

// StartCluster starts three nodes and waits until one of them may fail. args are added to the
// arguments of each node.
func StartCluster(t testing.TB, args ...string) *Cluster {
	t.Helper()
	return startCluster(t, func(string) []string { return args })
}

// startCluster starts three nodes with separate arguments for each.
func startCluster(t testing.TB, args func(name string) []string) *Cluster {
	t.Helper()
	c := &Cluster{t: t, Nodes: map[string]*Program{}, env: []string{"AHPHUB_TOKEN=the-owner-of-three-nodes-0123456789abcdef"}}
	dir := t.TempDir()
	first := Start(t, Options{Node: true, Env: c.env, Args: append([]string{"--cluster", "--cluster-name", "a", "--cluster-address",
		loopbacktest.Address(t)}, args("a")...)})
	c.Nodes["a"] = first
	c.Await("a to lead", func() bool { status, _ := first.Get("/leaderz"); return status == http.StatusOK })
	for _, name := range []string{"b", "c"} {
		token := c.Run("cluster", "token", "--data", first.Data)
		data := filepath.Join(dir, name)
		c.Run("cluster", "join", "--data", data, "--name", name, "--address", loopbacktest.Address(t),
			strings.TrimPrefix(strings.TrimSpace(token), "token="))
		c.Nodes[name] = Start(t, Options{Node: true, Data: data, Env: c.env, Args: append([]string{"--cluster"}, args(name)...)})
	}
	c.Await("one node that may fail", func() bool {
		return strings.Contains(c.Run("cluster", "status", "--data", first.Data), "may_fail=1")
	})
	return c
}

// Run runs an ahphub command and returns its output.
func (c *Cluster) Run(args ...string) string {
	c.t.Helper()
	out, err := Command(c.t, c.env, args...)
	if err != nil {
		c.t.Fatalf("ahphub %v: %v\n%s", args, err, out)
	}
	return out
}

// Await waits until done returns true.
func (c *Cluster) Await(what string, done func() bool) {
	c.t.Helper()
	for began := time.Now(); !done(); <-time.After(20 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			c.t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// Leader waits for a leader, and returns its name and that of a follower.
func (c *Cluster) Leader() (leads, follows string) {
	c.t.Helper()
	c.Await("a node that leads", func() bool {
		leads, follows = "", ""
		for name, p := range c.Nodes {
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
