package bench

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/e2e"
	"github.com/ahphub/ahphub/e2e/fixture"
	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/part"
)

// megabytes returns two versions of a file of 1 MB with every tenth line edited.
func megabytes() (old, new []byte) {
	r := rand.New(rand.NewPCG(1, 12))
	var a, b strings.Builder
	for i := range 16_000 {
		line := fmt.Sprintf("\tvalue%d := compute(%d, \"some text\", options) // step %d\n", i, r.IntN(1e6), i)
		a.WriteString(line)
		if i%10 == 0 {
			line = strings.Replace(line, "compute", "recompute", 1)
		}
		b.WriteString(line)
	}
	return []byte(a.String()), []byte(b.String())
}

// BenchmarkMegabyteReview compares two versions of 1 MB, line by line and word by word, and renders
// them like the review page, without syntax.
func BenchmarkMegabyteReview(b *testing.B) {
	old, new := megabytes()
	b.SetBytes(int64(len(old) + len(new)))
	for b.Loop() {
		f := diff.Compute(old, new, diff.Options{})
		box := part.DiffFile{ID: "file:///big.go", Path: "big.go", Status: part.DiffModified, Add: f.Additions,
			Del: f.Deletions, Diff: f}
		check(b, part.DiffBox(&box, part.DiffView{}).Render(b.Context(), io.Discard))
	}
}

// BenchmarkIdleReview has fifty people view one session's changes while nothing happens, and
// measures the program's processor time.
func BenchmarkIdleReview(b *testing.B) {
	const viewers, seconds = 50, 20
	dir := b.TempDir()
	old, new := megabytes()
	repository(b, dir, old)
	check(b, os.WriteFile(filepath.Join(dir, "big.go"), new, 0o600))
	h := &host{e2e.Start(b, e2e.Options{Args: []string{"--agent", "script", "--log-level", "warn"}, Data: b.TempDir(),
		Dir: dir})}
	p := h.peer(b, "driver")
	_, err := p.Initialize(b.Context())
	check(b, err)
	uri, _ := session(b, p)
	browser := h.signedIn(b)
	for range viewers {
		h.view(b, browser, "/s/"+core.ShortID(uri)+"/changes?scope=uncommitted")
	}
	<-time.After(5 * time.Second) // until the work of opening them is done
	var used []float64
	for b.Loop() {
		before := h.processorTime(b)
		<-time.After(seconds * time.Second)
		used = append(used, 100*(h.processorTime(b)-before).Seconds()/seconds)
	}
	slices.Sort(used)
	b.ReportMetric(used[len(used)/2], "%core")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFirstReview opens a review of D1 for the first time: the time to its first row and to
// its end without a browser, and until the program is idle, with the processor time. "kept" repeats
// it after a restart, with the colours stored on disk.
func BenchmarkFirstReview(b *testing.B) {
	figures := map[string][]float64{}
	for b.Loop() {
		dir := b.TempDir()
		check(b, fixture.Repository(b.Context(), dir, fixture.D1.Make()))
		h := &host{e2e.Start(b, e2e.Options{Args: []string{"--agent", "script", "--log-level", "warn"},
			Data: b.TempDir(), Dir: dir})}
		p := h.peer(b, "driver")
		_, err := p.Initialize(b.Context())
		check(b, err)
		uri, _ := session(b, p)
		h.openReview(b, p, uri, "", figures)
		h.Program.Stop()
		h.Restart()
		p = h.peer(b, "driver-2")
		_, err = p.Initialize(b.Context())
		check(b, err)
		h.openReview(b, p, uri, "kept-", figures)
		h.Stop()
	}
	for name, list := range figures {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], name)
	}
	b.ReportMetric(0, "ns/op")
}

// openReview opens a review of D1 once its files are listed.
func (h *host) openReview(b *testing.B, p *peer.Peer, uri ahp.URI, name string, figures map[string][]float64) {
	b.Helper()
	browser := h.signedIn(b)
	list := changes.URI(uri, "uncommitted", "")
	check(b, p.Subscribe(b.Context(), list))
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	check(b, p.Wait(ctx, func() bool {
		cs, ok := p.State(list).(*ahp.ChangesetState)
		return ok && cs.Status == ahp.ChangesetStatusReady && len(cs.Files) == 100
	}))
	cpu, start := h.processorTime(b), time.Now()
	res, err := browser.Get(h.URL + "/s/" + core.ShortID(uri) + "/changes?scope=uncommitted")
	check(b, err)
	defer res.Body.Close()
	row := time.Duration(0)
	var body []byte
	for buf := make([]byte, 32<<10); err == nil; {
		var n int
		n, err = res.Body.Read(buf)
		body = append(body, buf[:n]...)
		if row == 0 && bytes.Contains(body, []byte(`class="r a"`)) {
			row = time.Since(start)
		}
	}
	add := func(what string, d time.Duration) {
		figures[name+what] = append(figures[name+what], float64(d.Microseconds())/1000)
	}
	add("first-row-ms", row)
	add("last-row-ms", time.Since(start))
	coloured := 0
	for _, file := range bytes.Split(body, []byte(`<section class="file`))[1:] {
		if bytes.Contains(file, []byte("<i class=k>")) {
			coloured++
		}
	}
	figures[name+"coloured"] = append(figures[name+"coloured"], float64(coloured))
	h.rest(b)
	add("processor-ms", h.processorTime(b)-cpu)
}

// BenchmarkIdlePages reports the memory and processor time of an open idle page.
func BenchmarkIdlePages(b *testing.B) {
	const pages, seconds = 300, 10
	for _, name := range []string{"chat", "review"} {
		b.Run(name, func(b *testing.B) {
			h := startHost(b, b.TempDir())
			p := h.peer(b, "driver")
			_, err := p.Initialize(b.Context())
			check(b, err)
			uri, chat := session(b, p)
			prompt(b, p, chat, "say hello")
			browser := h.signedIn(b)
			path := "/s/" + core.ShortID(uri) + map[string]string{"chat": "",
				"review": "/changes?scope=uncommitted"}[name]
			for b.Loop() {
				stream := h.streamOf(b, browser, path)
				h.follow(b, browser, stream)
				<-time.After(3 * time.Second) // excludes the cost of opening the first one
				before := h.rss(b)
				for range pages {
					h.follow(b, browser, stream)
				}
				b.ReportMetric(float64(h.rss(b)-before)/pages/1024, "KiB/page")
				<-time.After(3 * time.Second)
				used := h.processorTime(b)
				<-time.After(seconds * time.Second)
				b.ReportMetric(100*(h.processorTime(b)-used).Seconds()/seconds/pages, "%core/page")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func repository(b *testing.B, dir string, big []byte) {
	b.Helper()
	check(b, os.WriteFile(filepath.Join(dir, "big.go"), big, 0o600))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=Ana", "-c",
		"user.email=ana@example.org", "commit", "-qm", "all"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}

// signedIn returns a client with the owner's cookie.
func (h *host) signedIn(b *testing.B) *http.Client {
	b.Helper()
	u, err := url.Parse(h.SignIn())
	check(b, err)
	token := u.Fragment
	u.Fragment = ""
	jar, err := cookiejar.New(nil)
	check(b, err)
	c := &http.Client{Jar: jar}
	res, err := c.PostForm(u.String(), url.Values{"token": {token}})
	check(b, err)
	res.Body.Close()
	return c
}

var liveOf = regexp.MustCompile(`data-live="([^"]*)"`)

// view opens a page and its stream, and reads it, as a browser does.
func (h *host) view(b *testing.B, browser *http.Client, path string) {
	b.Helper()
	h.follow(b, browser, h.streamOf(b, browser, path))
}

// streamOf loads a page and returns the query of its stream.
func (h *host) streamOf(b *testing.B, browser *http.Client, path string) string {
	b.Helper()
	res, err := browser.Get(h.URL + path)
	check(b, err)
	body, err := io.ReadAll(res.Body)
	check(b, err)
	res.Body.Close()
	found := liveOf.FindSubmatch(body)
	if res.StatusCode != http.StatusOK || found == nil {
		b.Fatalf("%s answers %d: %.300s", path, res.StatusCode, body)
	}
	return html.UnescapeString(string(found[1]))
}

// follow opens the stream of a page and reads it.
func (h *host) follow(b *testing.B, browser *http.Client, query string) {
	b.Helper()
	c, _, err := websocket.Dial(b.Context(), h.URL+"/live?"+query, &websocket.DialOptions{HTTPClient: browser,
		HTTPHeader: http.Header{"Origin": {h.URL}}})
	check(b, err)
	c.SetReadLimit(-1)
	go func() {
		defer c.CloseNow()
		for {
			if _, _, err := c.Read(b.Context()); err != nil {
				return
			}
		}
	}()
}

// processorTime returns the program's processor time so far, in clock ticks of 10 ms.
func (h *host) processorTime(b *testing.B) time.Duration {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.Pid()))
	if err != nil {
		b.Skip("processor time is read from /proc, which is not here")
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	var sum int64
	for _, i := range []int{11, 12, 13, 14} { // its own and its children's
		n, err := strconv.ParseInt(strings.Fields(rest)[i], 10, 64)
		check(b, err)
		sum += n
	}
	return time.Duration(sum) * 10 * time.Millisecond
}
