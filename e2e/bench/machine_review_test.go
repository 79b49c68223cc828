package bench

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e"
	"github.com/ahphub/ahphub/e2e/fixture"
	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

// BenchmarkMachineReview runs BenchmarkFirstReview for a directory of a machine and one of the
// hub's computer: "machine-" was never opened, "machine-kept-" repeats it after a restart of the
// hub.
func BenchmarkMachineReview(b *testing.B) {
	figures := map[string][]float64{}
	for b.Loop() {
		for _, name := range []string{"", "machine-"} {
			dir := b.TempDir()
			check(b, fixture.Repository(b.Context(), dir, fixture.D1.Make()))
			h := &host{e2e.Start(b, e2e.Options{Args: []string{"--agent", "shell", "--log-level", "warn"},
				Data: b.TempDir(), Dir: dir})}
			end := func() {}
			if name != "" {
				end = h.join(b, dir)
			}
			p, provider, at := h.shellOf(b, name != "", dir)
			uri, _ := sessionOf(b, p, provider, at)
			h.openReview(b, p, uri, name, figures)
			h.Program.Stop()
			h.Restart()
			p, _, _ = h.shellOf(b, name != "", dir)
			h.openReview(b, p, uri, name+"kept-", figures)
			end()
			h.Stop()
		}
	}
	for name, list := range figures {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], name)
	}
	b.ReportMetric(0, "ns/op")
}

// join runs a program as a machine of the hub, until end is called.
func (h *host) join(b *testing.B, dir string) (end func()) {
	b.Helper()
	res, err := h.signedIn(b).PostForm(h.URL+"/machines/tokens", url.Values{})
	check(b, err)
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	check(b, err)
	token := regexp.MustCompile(`--token ([^\s"<]+)`).FindSubmatch(page)
	if token == nil {
		b.Fatalf("there is no token in\n%s", page)
	}
	home := b.TempDir()
	cmd := exec.Command(e2e.Binary(b), "join", h.URL, "--token", string(token[1]), "--name", "box2", "--sandbox", "none",
		"--dir", dir, "--data", home)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	check(b, cmd.Start())
	return func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
}

// shellOf returns a client, the shell agent of the hub's computer or of its connected machine, and
// the hub's spelling of a directory there.
func (h *host) shellOf(b *testing.B, joined bool, dir string) (p *peer.Peer, provider string, at ahp.URI) {
	b.Helper()
	p = h.peer(b, uuid.NewString())
	_, err := p.Initialize(b.Context())
	check(b, err)
	check(b, p.Subscribe(b.Context(), ahp.RootURI))
	at = "file://" + dir
	check(b, p.Wait(b.Context(), func() bool {
		root, ok := p.State(ahp.RootURI).(*ahp.RootState)
		if !ok {
			return false
		}
		for _, a := range root.Agents {
			name, id, there := strings.Cut(a.Provider, "+")
			if name == "shell" && there == joined {
				provider = a.Provider
				if joined {
					at = "file:///machines/" + id + dir
				}
				return true
			}
		}
		return false
	}))
	for end := time.Now().Add(time.Minute); joined && !h.isConnected(b); <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatal("the machine does not connect")
		}
	}
	return p, provider, at
}

// isConnected reports whether the machine is connected.
func (h *host) isConnected(b *testing.B) bool {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, h.URL+"/metrics", nil)
	check(b, err)
	r.Header.Set("Authorization", "Bearer "+h.Token())
	res, err := http.DefaultClient.Do(r)
	check(b, err)
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	check(b, err)
	return strings.Contains(string(all), `ahphub_machine_connected{machine="box2"} 1`)
}
