package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/ahphub/ahphub/e2e"
	"github.com/ahphub/ahphub/e2e/fixture"
	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// watchClock records the age of each clock reading when it appears in the page.
const watchClock = `(() => {
	window.ages = [];
	let read = 0;
	new MutationObserver(() => {
		const at = Date.now(), times = document.querySelector('#turns').innerText.match(/\b\d{19}\b/g) || [];
		for (; read < times.length; read++) ages.push(at - Number(times[read]) / 1e6);
	}).observe(document.querySelector('#turns'), { childList: true, subtree: true, characterData: true });
})()`

// BenchmarkViewers has ten people view one chat whose agent prints the time twenty times a second,
// and measures each reading's age in each page, and how often the host rendered it.
func BenchmarkViewers(b *testing.B) {
	const viewers, readings = 10, 100
	h := startHost(b, b.TempDir())
	p := h.peer(b, "driver")
	_, err := p.Initialize(b.Context())
	check(b, err)
	uri, chat := session(b, p)
	check(b, p.Subscribe(b.Context(), chat))
	browser := e2e.StartBrowser(b)
	var pages []*e2e.Page
	for range viewers {
		page := browser.Page()
		page.SignIn(h.Program)
		page.Open(h.URL + "/s/" + core.ShortID(uri))
		page.Wait("document.documentElement.dataset.live === 'on'")
		e2e.Eval[any](page, watchClock)
		pages = append(pages, page)
	}
	turns := 0
	before, sent := h.renders(b), 0
	for b.Loop() {
		turns++
		sent += readings
		prompt(b, p, chat, fmt.Sprintf("clock %d 50", readings))
		idle(b, p, chat, turns)
	}
	var ages []float64
	for _, page := range pages {
		page.Wait(fmt.Sprintf("ages.length >= %d", sent))
		ages = append(ages, e2e.Eval[[]float64](page, "ages")...)
	}
	slices.Sort(ages)
	b.ReportMetric(ages[len(ages)/2], "p50-ms")
	b.ReportMetric(ages[len(ages)*95/100], "p95-ms")
	b.ReportMetric(float64(h.renders(b)-before)/float64(sent), "renders/update")
}

// renders returns the program's counter of everything its pages rendered.
func (h *host) renders(b testing.TB) int64 {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, h.URL+"/metrics", nil)
	check(b, err)
	req.Header.Set("Authorization", "Bearer "+h.Token())
	res, err := http.DefaultClient.Do(req)
	check(b, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	check(b, err)
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, "page_renders_total") && !strings.HasPrefix(line, "#") {
			f := strings.Fields(line)
			v, err := strconv.ParseFloat(f[len(f)-1], 64)
			check(b, err)
			return int64(v)
		}
	}
	b.Fatal("/metrics has no page_renders_total")
	return 0
}

// watchPatches measures the handling of each frame of the stream, long tasks and slow keys; it runs
// before the page's own script.
const watchPatches = `(() => {
	window.patches = []; window.wire = 0; window.tasks = []; window.slow = [];
	const on = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage');
	Object.defineProperty(WebSocket.prototype, 'onmessage', { ...on, set(f) {
		on.set.call(this, (e) => { const t = performance.now(); f.call(this, e); patches.push(performance.now() - t); wire += e.data.length; });
	} });
	new PerformanceObserver((l) => { for (const e of l.getEntries()) tasks.push(e.duration); }).observe({ type: 'longtask' });
	new PerformanceObserver((l) => { for (const e of l.getEntries()) if (e.name === 'keydown') slow.push(e.duration); }).observe({ type: 'event', durationThreshold: 16 });
})()`

// BenchmarkStreaming streams three answers of 16 KB at 60 tokens a second into three chats, and
// then one of 100 KB at full speed into the visible chat, while a person types there; at full and
// at a quarter of the processor speed.
func BenchmarkStreaming(b *testing.B) {
	for _, rate := range []float64{1, 4} {
		b.Run(fmt.Sprintf("slower=%g", rate), func(b *testing.B) {
			for b.Loop() {
				stream(b, rate)
			}
		})
	}
}

func stream(b *testing.B, rate float64) {
	scenario := filepath.Join(b.TempDir(), "scenario.toml")
	text := fmt.Sprintf("[[turn]]\nprompt = \"m1\"\n[[turn.step]]\nsay = %s\nchunk = 4\nevery = "+
		"\"16ms\"\n[[turn]]\nprompt = \"m1l\"\n[[turn.step]]\nsay = %s\nchunk = 40\n",
		strconv.Quote(fixture.M1()), strconv.Quote(fixture.M1L()))
	check(b, os.WriteFile(scenario, []byte(text), 0o600))
	h := &host{e2e.Start(b, e2e.Options{Args: []string{"--agent", "script", "--scenario", scenario}})}
	p := h.peer(b, "driver")
	_, err := p.Initialize(b.Context())
	check(b, err)
	page := e2e.StartBrowser(b).Page()
	page.SignIn(h.Program)
	uri, chat := session(b, p)
	check(b, p.Subscribe(b.Context(), chat))
	page.Do(beforeEachDocument(watchPatches))
	page.Open(h.URL + "/s/" + core.ShortID(uri))
	page.Wait("document.documentElement.dataset.live === 'on'")
	page.Do(throttle(rate))
	e2e.Eval[bool](page, "(tasks.length = 0, true)") // long tasks of the load belong to P8
	others := otherChats(b, p, 2)
	for _, c := range append(others, chat) {
		prompt(b, p, c, "m1")
	}
	typing(page)
	idle(b, p, chat, 1)
	prompt(b, p, chat, "m1l")
	typing(page)
	idle(b, p, chat, 2)
	page.Wait("document.querySelectorAll('#turns .turn').length === 2 && " +
		"!document.querySelector('#composer-mode[data-running]')")
	page.Wait("(window.settled ||= performance.now()) + 500 < performance.now()") // long tasks are reported late
	report(b, page)
}

// beforeEachDocument runs a script before those of every page opened later.
func beforeEachDocument(js string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, cdppage.AddScriptToEvaluateOnNewDocument,
			cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: js})
		return chromedp.Void{}, err
	}
}

// throttle slows the tab's processor by a factor.
func throttle(rate float64) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: rate})
		return chromedp.Void{}, err
	}
}

func otherChats(b *testing.B, p *peer.Peer, n int) (chats []ahp.URI) {
	for range n {
		_, c := session(b, p)
		check(b, p.Subscribe(b.Context(), c))
		chats = append(chats, c)
	}
	return chats
}

func typing(page *e2e.Page) {
	page.Do(chromedp.Focus("#composer textarea"))
	for range 40 {
		page.Do(chromedp.KeyEvent("x"))
	}
}

func report(b *testing.B, page *e2e.Page) {
	patches := e2e.Eval[[]float64](page, "patches")
	slices.Sort(patches)
	if len(patches) < 50 {
		b.Fatalf("only %d patches came", len(patches))
	}
	html := e2e.Eval[float64](page,
		"[...document.querySelectorAll('#turns > *')].reduce((n, e) => n + e.outerHTML.length, 0)")
	b.ReportMetric(patches[len(patches)*95/100], "patch-p95-ms")
	b.ReportMetric(e2e.Eval[float64](page, "Math.max(0, ...tasks)"), "longest-task-ms")
	b.ReportMetric(e2e.Eval[float64](page, "Math.max(0, ...slow)"), "slowest-key-ms")
	b.ReportMetric(e2e.Eval[float64](page, "wire")/html, "wire/html")
	b.ReportMetric(float64(len(patches)), "patches")
}
