package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
)

// All nodes share one certificate: the leader requests it, any node answers the authority's
// challenges, and later leaders serve with the same certificate.
func TestClusterByACME(t *testing.T) {
	t.Parallel()
	addresses := map[string]string{"b": loopbacktest.Address(t), "c": loopbacktest.Address(t)}
	acme, pool := startACME(t, addresses["c"], loopbacktest.Address(t))
	nodes := startCluster(t, func(name string) []string {
		args := []string{"--agent", "script"}
		if at := addresses[name]; at != "" { // starts without ACME, so no certificate is requested before all nodes run
			args = append(append(args, "--listen", at), acme...)
		}
		return args
	})
	client := reaching(t, pool)
	serial := func(name string) (number string) {
		t.Helper()
		waitUntil(t, "a certificate at "+name, func() error {
			res, err := client.Get(nodes.Nodes[name].URL + "/healthz")
			if err == nil {
				res.Body.Close()
				number = serialOf(res)
			}
			return err
		})
		return number
	}
	if _, err := client.Get(nodes.Nodes["c"].URL + "/healthz"); err == nil || !strings.HasPrefix(nodes.Nodes["c"].URL, "https://"+hubName) {
		t.Errorf("a certificate exists before a node requested one: %v, %s", err, nodes.Nodes["c"].URL)
	}
	nodes.Run("cluster", "transfer", "--to", "b", "--data", nodes.Nodes["a"].Data)
	first := serial("c")
	if got := serial("b"); got != first {
		t.Errorf("the leader has the certificate %s, another node %s", got, first)
	}
	nodes.Run("cluster", "transfer", "--to", "c", "--data", nodes.Nodes["a"].Data)
	waitUntil(t, "another leader", func() error {
		res, err := client.Get(nodes.Nodes["c"].URL + "/leaderz")
		if err == nil {
			if res.Body.Close(); res.StatusCode != http.StatusOK {
				err = http.ErrServerClosed
			}
		}
		return err
	})
	for _, name := range []string{"b", "c"} {
		if got := serial(name); got != first {
			t.Errorf("after a change of leader, %s has a different certificate", name)
		}
	}
}
