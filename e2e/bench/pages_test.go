package bench

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e"
	"github.com/ahphub/ahphub/e2e/fixture"
	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
)

// BenchmarkPages loads pages repeatedly, one at a time, compressed as for browsers: the time of
// each, and the processor time of the program that renders it. "follower" requests them from a
// follower of a cluster.
func BenchmarkPages(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		dir := b.TempDir()
		check(b, fixture.Repository(b.Context(), dir, fixture.D1.Make()))
		h := &host{e2e.Start(b, e2e.Options{Args: []string{"--agent", "script", "--log-level", "warn"}, Data: b.TempDir(), Dir: dir})}
		measurePages(b, h, h)
	})
	b.Run("follower", func(b *testing.B) {
		dir := b.TempDir()
		check(b, fixture.Repository(b.Context(), dir, fixture.D1.Make()))
		_, leads, follows := startNodes(b, "--dir", dir)
		measurePages(b, leads, follows)
	})
}

func measurePages(b *testing.B, leads, at *host) {
	p := leads.peer(b, "driver")
	_, err := p.Initialize(b.Context())
	check(b, err)
	uri, chat := session(b, p)
	check(b, p.Subscribe(b.Context(), chat))
	for i := range 10 {
		prompt(b, p, chat, "m1")
		idle(b, p, chat, i+1)
	}
	commentOn(b, p, uri, 20)
	browser := at.signedIn(b)
	review := "/s/" + core.ShortID(uri) + "/changes?scope=uncommitted"
	open(b, browser, at.URL+review)
	leads.rest(b) // once the files' colours are computed
	for _, page := range []struct {
		name, path string
		n          int
	}{{"inbox", "/", 300}, {"chat", "/s/" + core.ShortID(uri), 300}, {"review", review, 20}} {
		name, path, n := page.name, page.path, page.n
		size := open(b, browser, at.URL+path)
		cpu, other, start := leads.cpu(b), at.cpu(b), time.Now()
		for range n {
			open(b, browser, at.URL+path)
		}
		b.ReportMetric(float64(time.Since(start).Microseconds())/1000/float64(n), name+"-ms")
		b.ReportMetric(float64((leads.cpu(b)-cpu).Microseconds())/1000/float64(n), name+"-drawn-in-ms")
		if at != leads {
			b.ReportMetric(float64((at.cpu(b)-other).Microseconds())/1000/float64(n), name+"-passed-in-ms")
		}
		b.ReportMetric(float64(size)/1024, name+"-kB")
	}
	b.ReportMetric(0, "ns/op")
}

// rest waits until the program is nearly idle.
func (h *host) rest(b *testing.B) {
	b.Helper()
	for was := h.processorTime(b); ; {
		<-time.After(500 * time.Millisecond)
		now := h.processorTime(b)
		if now-was < 20*time.Millisecond {
			return
		}
		was = now
	}
}

// commentOn starts a thread about a line of each of the first changed files.
func commentOn(b *testing.B, p *peer.Peer, uri ahp.URI, n int) {
	b.Helper()
	list, threads := changes.URI(uri, "uncommitted", ""), uri+"/annotations"
	check(b, p.Subscribe(b.Context(), list))
	check(b, p.Subscribe(b.Context(), threads))
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	var files []ahp.ChangesetFile
	check(b, p.Wait(ctx, func() bool {
		cs, ok := p.State(list).(*ahp.ChangesetState)
		if ok {
			files = cs.Files
		}
		return ok && cs.Status == ahp.ChangesetStatusReady && len(files) >= n
	}))
	for _, f := range files[:n] {
		_, err := p.Dispatch(b.Context(), threads, &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: uuid.NewString(),
			Origin: ahp.AnnotationOrigin{Session: uri}, Resource: f.Edit.After.URI,
			Range:   &ahp.TextRange{Start: ahp.TextPosition{Line: 3}, End: ahp.TextPosition{Line: 3}},
			Entries: []ahp.AnnotationEntry{{ID: uuid.NewString(), Text: ahp.Plain("Why?")}}}})
		check(b, err)
	}
	check(b, p.Wait(ctx, func() bool {
		s, ok := p.State(threads).(*ahp.AnnotationsState)
		return ok && len(s.Annotations) == n
	}))
}

// open loads a page, and returns its size on the wire.
func open(b *testing.B, browser *http.Client, address string) int {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil)
	check(b, err)
	req.Header.Set("Accept-Encoding", "gzip, br, zstd") // set here, so that it is not decompressed
	res, err := browser.Do(req)
	check(b, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	check(b, err)
	if res.StatusCode != http.StatusOK {
		b.Fatalf("%s is answered %s", address, res.Status)
	}
	return len(body)
}
