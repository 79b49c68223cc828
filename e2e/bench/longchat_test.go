package bench

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/e2e"
	"github.com/ahphub/ahphub/e2e/fixture"
	"github.com/ahphub/ahphub/hub/host/core"
)

// BenchmarkLongChat opens a session of 2 000 turns and 5 MB: the time until its last turn is
// visible, and the compressed size of the first page.
func BenchmarkLongChat(b *testing.B) {
	var text strings.Builder
	turns := fixture.S1()
	for i, t := range turns[:len(turns)/2] { // a scenario is at most 4 MiB, so its answers are repeated
		fmt.Fprintf(&text, "[[turn]]\nprompt = \"t%d\"\n[[turn.step]]\nsay = %s\nchunk = 100000\n", i,
			strconv.Quote(t.Answer))
	}
	scenario := filepath.Join(b.TempDir(), "scenario.toml")
	check(b, os.WriteFile(scenario, []byte(text.String()), 0o600))
	h := &host{e2e.Start(b, e2e.Options{Args: []string{"--agent", "script", "--scenario", scenario}})}
	p := h.peer(b, "driver")
	_, err := p.Initialize(b.Context())
	check(b, err)
	uri, chat := session(b, p)
	check(b, p.Subscribe(b.Context(), chat))
	for i := range turns {
		prompt(b, p, chat, fmt.Sprintf("t%d", i%(len(turns)/2)))
		idle(b, p, chat, i+1)
	}
	page := e2e.StartBrowser(b).Page()
	page.SignIn(h.Program)
	at := h.URL + "/s/" + core.ShortID(uri)
	var shown []float64
	for b.Loop() {
		page.Open("about:blank")
		page.Open(at)
		page.Wait("document.readyState === 'complete' && performance.getEntriesByName('first-contentful-paint').length")
		page.Wait("(s => s.scrollTop + s.clientHeight > s.scrollHeight - 2)(document.querySelector('#scroll'))")
		shown = append(shown, e2e.Eval[float64](page,
			"performance.getEntriesByName('first-contentful-paint')[0].startTime"))
	}
	b.ReportMetric(median(shown), "last-turn-ms")
	html := e2e.Eval[string](page, "document.documentElement.outerHTML")
	b.ReportMetric(float64(compressed(html))/1024, "html-KiB")
	b.ReportMetric(older(b, page), "older-ms")
}

// older scrolls up and returns the time until older turns are loaded.
func older(b *testing.B, page *e2e.Page) float64 {
	b.Helper()
	e2e.Eval[bool](page, `(window.began = performance.now(), window.had = document.querySelectorAll('#turns .turn').length,
		new MutationObserver(() => { window.came ||= performance.now(); }).observe(document.querySelector('#turns'), {childList: true}),
		document.querySelector('#scroll').scrollTop = 0, true)`)
	page.Wait("window.came && document.querySelectorAll('#turns .turn').length > had")
	return e2e.Eval[float64](page, "came - began")
}

func median(list []float64) float64 {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

func compressed(s string) int {
	n := &counter{}
	z := gzip.NewWriter(n)
	_, _ = io.WriteString(z, s) // a counter accepts everything
	_ = z.Close()
	return n.n
}

type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) { c.n += len(b); return len(b), nil }
