package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ahphub/ahphub/templ/part"
)

// shared is used by all tests: fixtures are generated once, and a tab is cheaper than a browser.
var shared struct {
	once    sync.Once
	site    *site
	err     error
	browser context.Context
	stop    context.CancelFunc
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
		shared.site.Close()
	}
	os.Exit(code)
}

// pageOf opens a page of the site in its own browser context, which must have no complaints.
func pageOf(t *testing.T, path string) (context.Context, *site) {
	t.Helper()
	if os.Getenv("BROWSER") == "skip" {
		t.Skip("BROWSER=skip")
	}
	shared.once.Do(func() {
		if shared.site, shared.err = newSite(); shared.err == nil {
			shared.browser, shared.stop = browser(context.Background())
			shared.err = chromedp.Do(shared.browser)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	s := shared.site
	ctx, stop := chromedp.NewContext(shared.browser, chromedp.WithNewBrowserContext())
	t.Cleanup(stop)
	var c complaints
	if err := c.listen(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, text := range c.take() {
			t.Errorf("the browser complains: %s", text)
		}
	})
	if err := chromedp.Do(ctx, size(1440, 900, false), chromedp.Navigate(s.URL+path),
		chromedp.WaitReady("#review")); err != nil {
		t.Fatal(err)
	}
	return ctx, s
}

func eval[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

const keyScript = `window.key=(k,o={})=>(document.activeElement||document.body).dispatchEvent(new KeyboardEvent('keydown',{key:k,bubbles:true,cancelable:true,...o}));1`

func TestCopiedTextIsCodeAlone(t *testing.T) {
	ctx, _ := pageOf(t, "/s/states/changes")
	key := part.DiffKey("lib/new_name.py")
	got := eval[string](t, ctx, `(()=>{const r=document.querySelectorAll('#file-`+key+
		` .r'),s=getSelection(),g=document.createRange();
		g.setStartBefore(r[0]);g.setEndAfter(r[r.length-1]);s.removeAllRanges();s.addRange(g);return s.toString()})()`)
	want := "def zone():\n    return 1\n\nNAME = \"old\"\nNAME = \"new\""
	if strings.TrimRight(got, "\n") != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}

// Copied text excludes labels of moved blocks, signs and numbers, in both views.
func TestCopiedMovedBlockIsCodeAlone(t *testing.T) {
	ctx, _ := pageOf(t, "/s/states/changes")
	key := part.DiffKey("greet/farewell.go")
	got := eval[string](t, ctx, `(()=>{const r=document.querySelectorAll('#file-`+key+
		` .r'),s=getSelection(),g=document.createRange();
		g.setStartBefore(r[5]);g.setEndAfter(r[r.length-1]);s.removeAllRanges();s.addRange(g);return s.toString()})()`)
	want := "func Farewell(name string) string {\n\tif name == \"\" {\n\t\treturn \"Goodbye, whoever you " +
		"are.\"\n\t}\n\treturn \"Goodbye, \" + strings.TrimSpace(name) + \".\"\n}"
	if strings.TrimRight(got, "\n") != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}

// Every state of a file is rendered in a browser, labelled, and can be unfolded.
func TestEveryStateIsShown(t *testing.T) {
	ctx, _ := pageOf(t, "/s/states/changes")
	for path, want := range map[string]string{
		"docs/added.md":       "Added",
		"docs/removed.md":     "Deleted",
		"lib/new_name.py":     "lib/old_name.py → lib/new_name.py",
		"lib/moved.txt":       "Renamed without changes.",
		"run.sh":              "Mode changed from 100644 to 100755",
		"link":                "Symbolic link; the line is the path it points to.",
		"logo.png":            "48 × 48",
		"data.bin":            "Binary file, 9 B before, 16 B after",
		"long_line.js":        "show 2,011 more",
		"text/日本語 <b>&.txt":   "こんにちは、世界",
		"vendored/dep":        "Submodule; the line is the commit it points to.",
		"go.sum":              "Folded: a lock file.",
		"analysis/plot.ipynb": "Folded: a notebook.",
		"gen/huge.sql":        "Folded: 27,300 changed lines.",
	} {
		got := eval[string](t, ctx, `document.getElementById('file-`+part.DiffKey(path)+
			`').textContent.replace(/[ \n]+/g,' ')`)
		if !strings.Contains(got, want) {
			t.Errorf("%s does not say %q: %.300s", path, want, got)
		}
	}
	for what, script := range map[string]string{
		"a missing newline is said": `getComputedStyle(document.querySelector('#file-` +
			part.DiffKey("no_newline.txt") + ` .r u'),'::after').content.includes('no newline')`,
		"pictures stand side by side": `(()=>{const [a,b]=document.querySelectorAll('#file-` +
			part.DiffKey("logo.png") + ` figure');return a.offsetTop===b.offsetTop&&a.offsetLeft<b.offsetLeft})()`,
		"an SVG is a picture, not a part of the page": `!!document.querySelector('#file-` +
			part.DiffKey("web/logo.svg") + ` img')&&!document.querySelector('#files svg')`,
		"a folded file opens by a click": `(async()=>{const f=document.getElementById('file-` +
			part.DiffKey("go.sum") +
			`');f.querySelector('.load').click();for(let i=0;i<300&&!f.querySelector('.r.a');i++)await new Promise(r=>setTimeout(r,10));return f.querySelectorAll('.r.a').length===2})()`,
		"words are marked in a line": `[...document.querySelectorAll('#file-` +
			part.DiffKey("cmd/greet/main.go") + ` .r.a b')].some(b=>b.textContent==='everyone')`,
	} {
		if !eval[bool](t, ctx, script) {
			t.Error("not so: " + what)
		}
	}
}

// A review only by keyboard, without a mouse event.
func TestReviewByKeyboard(t *testing.T) {
	ctx, _ := pageOf(t, "/s/states/changes")
	eval[int](t, ctx, keyScript)
	eval[int](t, ctx, `key('j'),key('j'),key('s'),key('j'),key('c'),1`)
	if got := eval[string](t, ctx,
		`document.activeElement.tagName+' '+document.activeElement.closest('.comment-form').dataset.at`); got != "TEXTAREA L3-L3" && !strings.HasPrefix(got, "TEXTAREA ") {
		t.Fatalf("c opened %q", got)
	}
	at := eval[string](t, ctx, `document.activeElement.closest('.comment-form').dataset.at`)
	eval[int](t, ctx, `document.activeElement.value='why?',key('Enter',{ctrlKey:true}),1`)
	if got := eval[string](t, ctx, `new Promise(r=>(function w(){const f=document.querySelector('.comment-form[data-at="`+at+
		`"].draft');f?r(f.querySelector('textarea').value):setTimeout(w,10)})())`); got != "why?" {
		t.Errorf("the draft holds %q", got)
	}
	first := eval[string](t, ctx,
		`key('v'),document.querySelector('.file').className+document.querySelector('.file-mark').getAttribute('aria-pressed')`)
	if !strings.Contains(first, "shut") || !strings.Contains(first, "true") {
		t.Errorf("v left the file as %q", first)
	}
	if got := eval[string](t, ctx, `document.querySelector('.tree li.here').dataset.path`); got == "cmd/greet/main.go" ||
		got == "docs/added.md" {
		t.Errorf("v went to %q, which is reviewed", got)
	}
	if got := eval[string](t, ctx,
		`key("]"),key("]"),document.querySelector("#threadpos").textContent`); got != "thread 1 of 3" {
		t.Errorf("] says %q", got)
	}
	eval[int](t, ctx, `key('r'),1`)
	if got := eval[string](t, ctx, `document.activeElement.id`); got != "re-t1" {
		t.Errorf("r opened %q", got)
	}
}

// patches is the module that applies live patches.
const patches = `await import(document.querySelector('script[src$="/js/base.js"]').src.replace('base.js', 'patch.js'))`

// Unsent text keeps its caret while patches replace the file around it.
func TestCaretSurvivesPatches(t *testing.T) {
	ctx, _ := pageOf(t, "/s/states/changes")
	eval[int](t, ctx, keyScript)
	got := eval[string](t, ctx,
		`(async()=>{const{patch}=`+patches+`;key('j');key('c');const ta=document.activeElement,f=ta.closest('.file'),html=f.outerHTML.replace(/<form class="comment-form.*?<\/form>/gs,'');
		ta.value='half a thought';ta.setSelectionRange(4,6);
		for(let i=0;i<100;i++){patch([['r',f.id,html]]);await 0;await 0}
		const now=document.activeElement;
		return [now.tagName,now.value,now.selectionStart,now.selectionEnd,document.querySelectorAll('.file#'+CSS.escape(f.id)).length,now.closest('.file')?.id===f.id].join()})()`)
	if got != "TEXTAREA,half a thought,4,6,1,true" {
		t.Errorf("after 100 patches: %s", got)
	}
}

// The current file stays marked in the tree, and a folded file stays folded, while patches replace the tree, or remove
// the file and add it again.
func TestPlaceSurvivesPatches(t *testing.T) {
	ctx, _ := pageOf(t, "/s/states/changes")
	eval[int](t, ctx, keyScript)
	got := eval[string](t, ctx,
		`(async()=>{const{patch}=`+patches+`,all=[...document.querySelectorAll('.file')],f=all[0],id=f.id,html=f.outerHTML,tree=document.getElementById('tree').outerHTML;
		key('j');key('o');const folded=f.classList.contains('shut');
		patch([['r','tree',tree]]);await 0;
		patch([['x',id]]);await 0;patch([['b',all[1].id,html]]);await 0;await 0;
		const now=document.getElementById(id);
		return [folded,now!==f,now.classList.contains('shut'),now.querySelector('.file-body').hasAttribute('hidden'),document.querySelector('.tree li.here')?.dataset.path===f.dataset.path].join()})()`)
	if got != "true,true,true,true,true" {
		t.Errorf("folded, new, still folded, hidden, marked in the tree: %s", got)
	}
}

func TestNewThreadsFindTheirLine(t *testing.T) {
	ctx, _ := pageOf(t, "/s/states/changes")
	key := part.DiffKey("cmd/greet/main.go")
	got := eval[string](t, ctx,
		`(async()=>{const{patch}=`+patches+`;patch([['a','pool','<div class="thr" id="thr-x" data-thread="x" data-file="`+key+
			`" data-at="R8"><details class="thread" id="thread-x" open data-state="open"><summary>new</summary></details></div>']]);
		await 0;await 0;const p=document.getElementById('thr-x').previousElementSibling;return p.className+p.dataset.l})()`)
	if !strings.HasPrefix(got, "r a") || !strings.HasSuffix(got, " 8") {
		t.Errorf("the thread stands under %q", got)
	}
}

func TestPermalinkLands(t *testing.T) {
	ctx, s := pageOf(t, "/s/d1/changes")
	where := eval[[]string](t, ctx,
		`(()=>{const f=[...document.querySelectorAll('.file')].pop(),r=[...f.querySelectorAll('.r.a')].pop();return ['#f-'+f.dataset.file+'R'+r.dataset.l.trim(),r.textContent]})()`)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(s.URL+"/s/d1/changes"+where[0]),
		chromedp.WaitReady("#review")); err != nil {
		t.Fatal(err)
	}
	got := eval[[]float64](t, ctx,
		`new Promise(r=>requestAnimationFrame(()=>requestAnimationFrame(()=>requestAnimationFrame(()=>{const b=document.querySelector('.r.sel').getBoundingClientRect();r([b.top,b.bottom])}))))`)
	if got[0] < 100 || got[1] > 860 {
		t.Errorf("the line of %s is at %v, out of sight", where[0], got)
	}
	if text := eval[string](t, ctx, `document.querySelector('.r.sel').textContent`); text != where[1] {
		t.Errorf("marked %q, want %q", text, where[1])
	}
}

func TestBudgets(t *testing.T) {
	ctx, s := pageOf(t, "/s/d1/changes")
	if n := eval[int](t, ctx, `document.querySelectorAll('*').length`); n > 60_000 {
		t.Errorf("%d elements, at most 60 000", n)
	}
	for _, coding := range []string{"zstd", "gzip"} {
		n, _, err := s.wire("/s/d1/changes", coding)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s of HTML as %s", kb(n), coding)
		if n > 300<<10 {
			t.Errorf("%s of HTML on the wire as %s, at most 300 KB", kb(n), coding)
		}
	}
	for name, most := range map[string]int{"js/review.js": 8 << 10, "js/review-comments.js": 4 << 10,
		"js/hunks.js": 6 << 10, "css/review.css": 9 << 10} {
		if n := s.assets.Compressed(name); n > most {
			t.Errorf("%s is %s compressed, at most %s", name, kb(n), strconv.Itoa(most>>10)+" KB")
		}
	}
}
