package e2e

import (
	"strings"
	"testing"
)

// A page open at a follower survives the leader: it shows that it reconnects, becomes live again by
// itself, and accepts the next message. Without a quorum, pages say what they wait for, and load as
// soon as another node is back.
func TestClusterInBrowser(t *testing.T) {
	t.Parallel()
	c := StartCluster(t)
	leads, follows := c.Leader()
	p := OpenBrowser(t).Page()
	p.look(1440, 900, "light")
	p.SignIn(c.Nodes[follows])
	p.Open(c.Nodes[follows].URL + "/new")
	base := p.startThere(t.TempDir(), "echo before")
	p.Live()

	p.Allow("ERR_|status of 503|WebSocket")
	first := c.Nodes[leads]
	delete(c.Nodes, leads)
	first.Kill9()
	p.Wait("'lost' in document.documentElement.dataset")
	p.Pictures("lost-leader", "#conn")
	p.Wait("document.documentElement.dataset.live === 'on' && !('lost' in document.documentElement.dataset)")
	p.Fill("#message", "echo after")
	p.Press("\r")
	p.Click(".asks button[data-kind=approve]")
	p.Wait(`[...document.querySelectorAll('#turns > *')].at(-1).textContent.includes("exit 0")`)
	p.Says("#turns", "echo before")
	p.Shot("after")

	leads, last := c.Leader()
	c.Nodes[leads].Kill9() // the remaining node has no quorum
	p.Open(c.Nodes[last].URL + strings.TrimPrefix(base, c.Nodes[follows].URL))
	p.WaitText("h1", "Waiting for the cluster")
	for _, l := range looks {
		p.look(l.width, l.height, l.scheme)
		p.WaitText("h1", "Waiting for the cluster")
		p.Shot("no-leader-" + l.name)
	}
	p.look(1440, 900, "light")
	first.Restart()
	p.Wait("document.querySelector('#turns')?.textContent.includes('echo after')")
	p.Live()
}
