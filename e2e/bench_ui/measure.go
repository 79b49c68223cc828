package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/klauspost/compress/zstd"
)

const header = "| fixture | what | figure | target |\n| --- | --- | ---: | ---: |"

// probe runs before the page's own scripts and records when the first row and all rows were
// painted, layout shifts and long tasks.
const probe = `window.__b={first:0,all:0,cls:0,long:0};
(function w(){document.querySelector('.r')?requestAnimationFrame(()=>{__b.first=performance.now()}):requestAnimationFrame(w)})();
addEventListener('DOMContentLoaded',()=>requestAnimationFrame(()=>setTimeout(()=>{__b.all=performance.now()})));
new PerformanceObserver(l=>{for(const e of l.getEntries())if(!e.hadRecentInput)__b.cls+=e.value}).observe({type:'layout-shift',buffered:true});
new PerformanceObserver(l=>{for(const e of l.getEntries())if(__b.all&&e.startTime>__b.all)__b.long=Math.max(__b.long,e.duration)}).observe({type:'longtask'});`

// acts measures interactions from the key press to the frame that shows the result.
const acts = `(async()=>{
const painted=()=>new Promise(r=>requestAnimationFrame(()=>{const c=new MessageChannel();c.port1.onmessage=r;c.port2.postMessage(0)}));
const key=(k,o={})=>(document.activeElement||document.body).dispatchEvent(new KeyboardEvent('keydown',{key:k,bubbles:true,cancelable:true,...o}));
const time=async f=>{await painted();await painted();const t=performance.now();f();await painted();return performance.now()-t};
const out={};
key('j');out.j=[];for(let i=0;i<20;i++)out.j.push(await time(()=>key('j')));
out.open=[await time(()=>key('c'))];
const ta=document.activeElement;if(ta.tagName!=='TEXTAREA')throw new Error('no comment box');
out.type=[];for(let i=0;i<20;i++)out.type.push(await time(()=>{ta.setRangeText('x',i,i,'end');ta.dispatchEvent(new InputEvent('input',{bubbles:true}))}));
ta.value='';ta.dispatchEvent(new KeyboardEvent('keydown',{key:'Escape',bubbles:true}));
const bars=document.querySelectorAll('.h :is(.show-all,.show-below,.show-above)');
if(bars.length){const rows=document.getElementsByClassName('r'),n=rows.length;await painted();const t=performance.now();bars[Math.min(2,bars.length-1)].click();
 while(rows.length===n){await new Promise(r=>setTimeout(r));if(performance.now()-t>3000)break}await painted();out.expand=[performance.now()-t]}
out.review=[await time(()=>key('v'))];
return out})()`

// scroll scrolls by 150 px a frame for three seconds and returns the times between frames.
const scroll = `new Promise(done=>{const m=document.getElementById('main');m.scrollTop=0;const d=[];let last=0,start=0;
(function step(now){if(last)d.push(now-last);else start=now;last=now;m.scrollTop+=150;now-start<3000?requestAnimationFrame(step):done(d)})(performance.now())})`

type figures struct {
	First float64 `json:"first"`
	All   float64 `json:"all"`
	CLS   float64 `json:"cls"`
	Long  float64 `json:"long"`
}

type report struct {
	out  io.Writer
	name string
}

func (r report) row(what, figure, target string) {
	fmt.Fprintf(r.out, "| %s | %s | %s | %s |\n", strings.ToUpper(r.name), what, figure, target)
}

func (r report) ms(what string, v float64, target string) {
	r.row(what, fmt.Sprintf("%.0f ms", v), target)
}

// measure prints how long a fixture takes to load and to respond.
func measure(ctx context.Context, s *site, r report, runs int) error {
	name := r.name
	s.view(name, nil) // fills the cache of diffs, as on a warm server
	if err := chromedp.Do(ctx, size(1440, 900, false)); err != nil {
		return err
	}
	if err := s.weigh(r); err != nil {
		return err
	}
	script, err := preload(ctx)
	if err != nil {
		return err
	}
	defer script()
	for _, rate := range []float64{1, 4} {
		if rate == 4 && name != "d1" && name != "d2" {
			continue
		}
		if err := loads(ctx, s, r, runs, rate); err != nil {
			return err
		}
	}
	return nil
}

func preload(ctx context.Context) (func(), error) {
	id, err := chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) (cdppage.ScriptIdentifier, error) {
		res, err := cdp.Call(ctx, t, cdppage.AddScriptToEvaluateOnNewDocument,
			cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: probe})
		if err != nil {
			return "", err
		}
		return res.Identifier, nil
	})
	return func() {
		_, _ = chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) (cdp.Empty, error) {
			res, err := cdp.Call(ctx, t, cdppage.RemoveScriptToEvaluateOnNewDocument,
				cdppage.RemoveScriptToEvaluateOnNewDocumentParams{Identifier: id})
			_ = res
			return cdp.Empty{}, err
		})
	}, err
}

func open(ctx context.Context, url string) (figures, error) {
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(url),
		chromedp.WaitReady("#review")); err != nil {
		return figures{}, err
	}
	return chromedp.Run(ctx, chromedp.Evaluate[figures](
		`new Promise(r=>(function w(){__b.all&&__b.first?r(__b):setTimeout(w,20)})())`, chromedp.EvalAwaitPromise))
}

func loads(ctx context.Context, s *site, r report, runs int, rate float64) error {
	var first, all []float64
	times := map[string][]float64{}
	if err := chromedp.Do(ctx, throttle(rate)); err != nil {
		return err
	}
	for range runs {
		f, err := open(ctx, s.URL+"/s/"+r.name+"/changes")
		if err != nil {
			return err
		}
		first, all = append(first, f.First), append(all, f.All)
		if r.name == "d1" || r.name == "d2" {
			acted, err := chromedp.Run(ctx, chromedp.Evaluate[map[string][]float64](acts, chromedp.EvalAwaitPromise))
			if err != nil {
				return err
			}
			for act, list := range acted {
				times[act] = append(times[act], slices.Max(list))
			}
		}
	}
	target := map[string]string{"d1": "400", "d2": "–", "d3": "–", "d4": "–"}[r.name]
	if rate > 1 {
		target = map[string]string{"d1": "900"}[r.name]
	}
	r.ms(at("P1 first row painted", rate), median(first), target)
	if rate == 1 {
		r.ms("P2 all lines in the page", median(all), map[string]string{"d1": "800", "d2": "800", "d3": "1 500",
			"d4": "3 000"}[r.name])
	}
	r.interactions(times, rate)
	return nil
}

func (r report) interactions(times map[string][]float64, rate float64) {
	target := "64"
	if rate > 1 {
		target = "120"
	}
	for _, k := range []struct{ key, word string }{{"open", "comment box opens"},
		{"type", "a keystroke in it (slowest of 20)"}, {"j", "j (slowest of 20)"}, {"review", "mark reviewed and next"},
		{"expand", "expand context"}} {
		if list := times[k.key]; len(list) > 0 {
			r.ms(at("P3 "+k.word, rate), median(list), target)
		}
	}
}

func at(what string, rate float64) string {
	if rate > 1 {
		return what + ", 4×"
	}
	return what
}

// rest prints the cost of an open page, and how fast it scrolls and is searched.
func rest(ctx context.Context, s *site, r report) error {
	if err := chromedp.Do(ctx, size(1440, 900, false)); err != nil {
		return err
	}
	script, err := preload(ctx)
	if err != nil {
		return err
	}
	defer script()
	if _, err := open(ctx, s.URL+"/s/"+r.name+"/changes"); err != nil {
		return err
	}
	elements, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.querySelectorAll('*').length`))
	if err != nil {
		return err
	}
	frames, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](scroll, chromedp.EvalAwaitPromise))
	if err != nil {
		return err
	}
	heap, err := chromedp.Run(ctx, chromedp.Evaluate[float64](`gc(),performance.memory.usedJSHeapSize/1048576`))
	if err != nil {
		return err
	}
	f, err := chromedp.Run(ctx, chromedp.Evaluate[figures](`__b`))
	if err != nil {
		return err
	}
	rss, err := rendererMB(ctx)
	if err != nil {
		return err
	}
	r.row("P4 elements", fmt.Sprint(elements), map[string]string{"d1": "60 000"}[r.name])
	r.row("P4 JavaScript heap", fmt.Sprintf("%.1f MB", heap), map[string]string{"d1": "10"}[r.name])
	r.row("P4 renderer", fmt.Sprintf("%.0f MB", rss), map[string]string{"d1": "250", "d4": "400"}[r.name])
	r.ms("P4 longest task after load", f.Long, "200")
	r.ms("P5 frame while scrolling, p95", quantile(frames, 0.95), "34")
	r.row("P6 layout shift", fmt.Sprintf("%.3f", f.CLS), "0.02")
	return findAndLink(ctx, s, r)
}

// findAndLink finds a line of the last file with the browser's search, then opens a permalink to
// it.
func findAndLink(ctx context.Context, s *site, r report) error {
	where, err := chromedp.Run(ctx,
		chromedp.Evaluate[[]string](
			`(()=>{const f=[...document.querySelectorAll('.file')].pop(),rows=[...f.querySelectorAll('.r.a')].filter(x=>x.textContent.trim().length>12),x=rows[rows.length>>1];
	return [f.dataset.file+'R'+x.dataset.l.trim(),x.textContent.trim()]})()`))
	if err != nil {
		return err
	}
	found, err := chromedp.Run(ctx,
		chromedp.Evaluate[bool](fmt.Sprintf(
			`document.getElementById('main').scrollTop=0,getSelection().removeAllRanges(),window.find(%q)`, where[1])))
	if err != nil {
		return err
	}
	r.row("P6 find-in-page in the last file", map[bool]string{true: "found", false: "not found"}[found], "found")
	if _, err := open(ctx, s.URL+"/s/"+r.name+"/changes#f-"+where[0]); err != nil {
		return err
	}
	off, err := chromedp.Run(ctx,
		chromedp.Evaluate[[]float64](
			`new Promise(done=>setTimeout(()=>{const r=document.querySelector('.r.sel'),m=document.getElementById('main').getBoundingClientRect(),
	y=()=>{const b=r.getBoundingClientRect();return b.top+b.height/2};const a=y();setTimeout(()=>done([a,y(),m.top+m.height/2]),3000)},100))`, chromedp.EvalAwaitPromise))
	if err != nil {
		return err
	}
	r.row("P6 permalink moves within 3 s", fmt.Sprintf("%.1f px", max(off[1]-off[0], off[0]-off[1])), "4")
	r.row("P6 permalink off the middle", fmt.Sprintf("%.1f px", max(off[0]-off[2], off[2]-off[0])), "–")
	return nil
}

// weigh counts bytes on the wire: the page's HTML, and all its scripts and style sheets.
func (s *site) weigh(r report) error {
	page := "/s/" + r.name + "/changes"
	plain, html, err := s.wire(page, "identity")
	if err != nil {
		return err
	}
	r.row("HTML, plain", kb(plain), "–")
	for _, coding := range []string{"zstd", "gzip"} {
		n, _, err := s.wire(page, coding)
		if err != nil {
			return err
		}
		r.row("P7 HTML on the wire, "+coding, kb(n), map[string]string{"d1": "300"}[r.name])
	}
	if r.name != "d1" {
		return nil
	}
	weight := map[string]int{}
	for _, m := range assetOf.FindAllStringSubmatch(html, -1) {
		coding := "gzip"
		if m[2] == "woff2" {
			coding = "identity" // already compressed
		}
		n, _, err := s.wire(m[1], coding)
		if err != nil {
			return err
		}
		weight[m[2]] += n
	}
	r.row("P7 JavaScript on the wire", kb(weight["js"]), "25")
	r.row("P7 CSS on the wire", kb(weight["css"]), "20")
	r.row("P7 fonts on the wire, once for all pages", kb(weight["woff2"]), "120")
	return nil
}

// assetOf matches the assets that a page loads.
var assetOf = regexp.MustCompile(`(?:src|href)="(/assets/[^"]+\.(js|css|woff2))"`)

// wire returns the size of a response body in an encoding, and the text.
func (s *site) wire(path, coding string) (n int, text string, err error) {
	r, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Accept-Encoding", coding)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, "", err
	}
	if got := res.Header.Get("Content-Encoding"); got != coding && coding != "identity" {
		return 0, "", fmt.Errorf("%s is sent as %q, not as %s", path, got, coding)
	}
	var plain io.Reader = bytes.NewReader(body)
	switch coding {
	case "gzip":
		if plain, err = gzip.NewReader(plain); err != nil {
			return 0, "", err
		}
	case "zstd":
		z, err := zstd.NewReader(plain)
		if err != nil {
			return 0, "", err
		}
		defer z.Close()
		plain = z
	}
	out, err := io.ReadAll(plain)
	return len(body), string(out), err
}

func kb(n int) string { return fmt.Sprintf("%.1f KB", float64(n)/1024) }

func median(v []float64) float64 { return quantile(v, 0.5) }

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return s[min(len(s)-1, int(float64(len(s))*q))]
}
