package e2e

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// nodeCard returns an expression that is true once the page shows a node with all of words.
func nodeCard(name string, words ...string) string {
	return strings.ReplaceAll(card(name, words...), "#machines", "#nodes")
}

// The owner sees the state of the nodes live, on the page and in the metrics of any node.
func TestNodesInBrowser(t *testing.T) {
	t.Parallel()
	c := StartCluster(t)
	leads, follows := c.Leader()
	other := ""
	for name := range c.Nodes {
		if name != leads && name != follows {
			other = name
		}
	}
	here := c.Nodes[follows]
	p := OpenBrowser(t).Page()
	p.look(1440, 900, "light")
	p.SignIn(here)
	p.Open(here.URL + "/settings")
	p.Pictures("settings", "main")
	p.Follow(`a[href="/nodes"]`)
	p.Wait(nodeCard(leads, "Leader"))
	p.Wait(nodeCard(follows, "Up to date", "Certificate valid until"))
	p.WaitText("#nodes .note", "3 of 3 nodes up. One more may fail.")
	p.Live()
	p.Pictures("nodes", "#nodes")

	query := func(string) error { return nil }
	if prometheus, err := exec.LookPath("prometheus"); err == nil {
		query = startPrometheus(t, prometheus, here)
	} else {
		t.Log("the dashboard was not checked: Prometheus is not installed")
	}
	c.Nodes[other].Kill9()
	p.Wait(nodeCard(other, "Down"))
	p.WaitText("#nodes .note", "2 of 3 nodes up. If one more fails, nothing can be read or written.")
	p.Pictures("node-down", "#nodes")
	metrics := scrape(t, here)
	for _, want := range []string{`ahphub_cluster_node_up{node="` + other + `"} 0`, `ahphub_cluster_node_up{node="` + follows + `"} 1`,
		`ahphub_cluster_node_leads{node="` + leads + `"} 1`, `ahphub_cluster_tolerated_failures 0`} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("/metrics has no %s", want)
		}
	}
	for panel, exprs := range dashboard(t) {
		for _, expr := range exprs {
			if strings.Contains(expr, clusterMetrics) {
				waitUntil(t, panel+" to have data by "+expr, func() error { return query(strings.ReplaceAll(expr, "$instance", ".*")) })
			}
		}
	}
	c.Nodes[other].Restart()
	p.WaitText("#nodes .note", "3 of 3 nodes up. One more may fail.")
}

// clusterMetrics is the prefix of metrics that only nodes of a cluster have.
const clusterMetrics = "ahphub_cluster_"

// A single server has no page of nodes, and no link to it.
func TestSingleServerHasNoNodes(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{})
	c, _ := signIn(t, prog.SignIn())
	if res := fetch(t, c, prog.URL+"/nodes"); res.StatusCode != http.StatusNotFound {
		t.Errorf("/nodes answered %d", res.StatusCode)
	}
	if strings.Contains(body(t, c, prog.URL+"/settings"), `href="/nodes"`) {
		t.Error("the settings link to the page of nodes")
	}
}
