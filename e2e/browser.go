package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Browser is a headless Chromium. Its pages fail their test on any console error, uncaught
// exception or violation of the content security policy.
type Browser struct {
	t   testing.TB
	ctx context.Context
}

// Page is a tab of one person: pages share no cookies.
type Page struct {
	Ctx context.Context // for chromedp's actions
	t   testing.TB

	once  sync.Once
	close context.CancelFunc
	plain bool // scripts are disabled

	mu      sync.Mutex
	bad     []string
	allowed []*regexp.Regexp
}

// open lists the pages of each test: stopping a program closes them first, because a broken stream
// is a console error.
var open = struct {
	sync.Mutex
	pages map[testing.TB][]*Page
}{pages: map[testing.TB][]*Page{}}

// closePages closes a test's pages and fails the test if one of them had an error.
func closePages(t testing.TB) {
	open.Lock()
	pages := open.pages[t]
	delete(open.pages, t)
	open.Unlock()
	for _, p := range pages {
		p.once.Do(func() {
			if t.Failed() {
				p.Shot("failed")
			}
			problems := p.Problems()
			p.close()
			for _, s := range problems {
				t.Errorf("the page complained: %s", s)
			}
		})
	}
}

// browsers are the program names to look for, in order.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"}

// FindBrowser returns the browser for tests. It skips the test with BROWSER=skip, and fails it if
// there is none.
func FindBrowser(t testing.TB) string {
	t.Helper()
	if os.Getenv("BROWSER") == "skip" {
		t.Skip("browser tests are switched off (BROWSER=skip)")
	}
	names := browsers
	if b := os.Getenv("AHPHUB_BROWSER"); b != "" {
		names = []string{b}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("no browser was found (%s): make deps installs one, BROWSER=skip goes without", strings.Join(names, ", "))
	return ""
}

// idle holds browsers that no test currently uses. Starting one takes a second of processor time.
var idle struct {
	sync.Mutex
	browsers []context.Context
	stops    []func()
}

// OpenBrowser returns a browser that no other test uses at the same time. Later tests reuse it:
// every page has its own browser context, so pages share nothing.
func OpenBrowser(t testing.TB) *Browser {
	t.Helper()
	ctx := takeBrowser()
	if ctx == nil {
		var stop func()
		ctx, stop = launch(t)
		idle.Lock()
		idle.stops = append(idle.stops, stop)
		idle.Unlock()
	}
	t.Cleanup(func() {
		idle.Lock()
		defer idle.Unlock()
		idle.browsers = append(idle.browsers, ctx)
	})
	return &Browser{t: t, ctx: ctx}
}

// takeBrowser returns a running idle browser, nil for none.
func takeBrowser() context.Context {
	idle.Lock()
	defer idle.Unlock()
	for n := len(idle.browsers); n > 0; n = len(idle.browsers) {
		ctx := idle.browsers[n-1]
		idle.browsers = idle.browsers[:n-1]
		if ctx.Err() == nil {
			return ctx
		}
	}
	return nil
}

// stopBrowsers ends the browsers that OpenBrowser started.
func stopBrowsers() {
	for _, stop := range idle.stops {
		stop()
	}
}

// StartBrowser starts a separate browser with more options, which ends with the test.
func StartBrowser(t testing.TB, more ...chromedp.ExecAllocatorOption) *Browser {
	t.Helper()
	ctx, stop := launch(t, more...)
	t.Cleanup(stop)
	return &Browser{t: t, ctx: ctx}
}

func launch(t testing.TB, more ...chromedp.ExecAllocatorOption) (context.Context, func()) {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(FindBrowser(t)),
		chromedp.WindowSize(1440, 900), chromedp.WSURLReadTimeout(patience),
		// The defaults, and no spare process for the next page: it takes a tenth of the tests' processor time.
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,SpareRendererForSitePerProcess"))
	if os.Getuid() == 0 { // Chromium refuses to run its sandbox as root
		opts = append(opts, chromedp.NoSandbox)
	}
	opts = append(opts, more...)
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		stop()
		t.Fatalf("the browser does not start: %v", err)
	}
	return ctx, func() { cancel(); stop() }
}

// Page opens a tab for a visitor without a cookie.
func (b *Browser) Page() *Page {
	b.t.Helper()
	return newPage(b.t, b.ctx, chromedp.WithNewBrowserContext())
}

// Beside opens another tab for the same person.
func (p *Page) Beside() *Page {
	p.t.Helper()
	return newPage(p.t, p.Ctx)
}

func newPage(t testing.TB, in context.Context, opts ...chromedp.ContextOption) *Page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(in, opts...)
	p := &Page{Ctx: ctx, t: t, close: cancel}
	open.Lock()
	open.pages[t] = append(open.pages[t], p)
	open.Unlock()
	t.Cleanup(func() { closePages(t) })
	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatal(err)
	}
	return p
}

// listen records errors.
func (p *Page) listen(ev any) {
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		p.note("exception: " + describe(ev.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if ev.Type == "error" || ev.Type == "assert" {
			var text []string
			for _, a := range ev.Args {
				text = append(text, string(a.Value)+a.Description)
			}
			p.note("console: " + strings.Join(text, " "))
		}
	case *cdplog.EventEntryAdded:
		if ev.Entry.Level == "error" || ev.Entry.Source == "security" {
			p.note(fmt.Sprintf("%s: %s (%s)", ev.Entry.Source, ev.Entry.Text, ev.Entry.URL))
		}
	}
}

func describe(d *runtime.ExceptionDetails) string {
	if d == nil {
		return "unknown"
	}
	if d.Exception != nil {
		return d.Exception.Description
	}
	return d.Text
}

func (p *Page) note(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bad = append(p.bad, s)
}

// Allow accepts errors that match, such as those of a stream whose server was killed.
func (p *Page) Allow(pattern string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = append(p.allowed, regexp.MustCompile(pattern))
}

// Problems returns the unexpected errors so far.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
next:
	for _, s := range p.bad {
		for _, a := range p.allowed {
			if a.MatchString(s) {
				continue next
			}
		}
		out = append(out, s)
	}
	return out
}

// Do runs actions with the test's timeout.
func (p *Page) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%v\nat %s\n%s", err, p.where(), strings.Join(p.Problems(), "\n"))
	}
}

// Eval evaluates JavaScript in a page and returns the result.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v\nat %s", expression, err, p.where())
	}
	return v
}

// Module returns an expression for the exports of one of the page's scripts, for an async function.
func Module(name string) string {
	return `(await import(document.querySelector('script[src$="/js/base.js"]').src.replace('base.js', '` + name + `')))`
}

// Wait waits until a JavaScript expression is true.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, patience)
	defer cancel()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && ok {
			return
		}
		select {
		case <-ctx.Done():
			p.t.Fatalf("not true in %v: %s (%v)\nat %s\n%s", patience, expression, err, p.where(),
				strings.Join(p.Problems(), "\n"))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// WaitText waits until an element's text contains part.
func (p *Page) WaitText(selector, part string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("document.querySelector(%q)?.innerText.includes(%q)", selector, part))
}

// WaitAnswer waits until the agent's answers in the open chat contain text; people's messages do
// not count.
func (p *Page) WaitAnswer(text string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("[...document.querySelectorAll('#turns .markdown')].some(e => e.innerText.includes(%q))", text))
}

// Open navigates to an address and waits for the document.
func (p *Page) Open(url string) {
	p.t.Helper()
	p.Do(chromedp.Navigate(url))
}

// SignIn signs the page in as the owner, and waits for the inbox.
func (p *Page) SignIn(prog *Program) {
	p.t.Helper()
	p.Open(prog.SignIn())
	p.Wait("location.pathname === '/' && document.readyState === 'complete'")
}

func (p *Page) where() string {
	ctx, cancel := context.WithTimeout(p.Ctx, 2*time.Second)
	defer cancel()
	at, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		return "an unknown address"
	}
	return at
}

// Shot writes a screenshot named after the test to the directory AHPHUB_SHOTS, if set.
func (p *Page) Shot(name string) {
	p.t.Helper()
	dir := os.Getenv("AHPHUB_SHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.Ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		file := strings.ReplaceAll(p.t.Name(), "/", "-") + "-" + name + ".png"
		err = os.WriteFile(filepath.Join(dir, file), png, 0o644)
	}
	if err != nil {
		p.t.Logf("no picture %s: %v", name, err)
	}
}
