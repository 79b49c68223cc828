package e2e

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
)

//go:embed testdata/axe/axe.min.js
var axe string

// finding is a rule of axe that a page breaks.
type finding struct {
	Rule  string   `json:"rule"`
	Nodes []string `json:"nodes"`
}

// axeFindings runs axe-core on the current page; only lists its rules, none runs all.
func axeFindings(p *Page, only ...string) []finding {
	p.t.Helper()
	if !Eval[bool](p, `!!window.axe`) {
		Eval[bool](p, axe+";true")
	}
	rules, _ := json.Marshal(only)
	Eval[bool](p, `window.axeSays = '', axe.run(document, {resultTypes: ['violations'], iframes: false, ...(`+
		string(rules)+` ? {runOnly: `+string(rules)+`} : {})}).then(
		r => { axeSays = JSON.stringify(r.violations.map(v => ({rule: v.id, nodes: v.nodes.slice(0, 4).map(n => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? ''))}))) },
		e => { axeSays = JSON.stringify([{rule: 'axe failed', nodes: [String(e)]}]) }), true`)
	p.Wait(`window.axeSays`)
	var out []finding
	if err := json.Unmarshal([]byte(Eval[string](p, `window.axeSays`)), &out); err != nil {
		p.t.Fatal(err)
	}
	return out
}

// tooSmall finds targets under 44 px on a phone's page: links within text and line numbers may be
// as high as their line.
const tooSmall = `[...document.querySelectorAll('a, button, summary, select, input:not([type=hidden]):not([type=radio]):not([type=checkbox]), textarea')]
	.filter(e => e.checkVisibility() && !e.closest('p, .sr-only, .skip, td, li > span, pre, .markdown, .r') && getComputedStyle(e).display !== 'inline')
	.map(e => [e, e.getBoundingClientRect()]).filter(([e, r]) => r.width > 0 && r.height > 1 && r.height < 43.5)
	.map(([e, r]) => e.outerHTML.slice(0, 100) + ' is ' + r.height + ' px')`

// beyondEdge finds controls and headings outside of the window's edge that cannot be scrolled to,
// or whose text is cut without an ellipsis.
const beyondEdge = `[...document.querySelectorAll('a, button, summary, select, input:not([type=hidden]), label, h1, h2, h3, .chip')]
	.filter(e => e.checkVisibility({ opacityProperty: true }) && !e.closest('.sr-only, .skip, pre, .r'))
	.filter(e => {
		const r = e.getBoundingClientRect(), s = getComputedStyle(e);
		if (r.width < 2 || r.height < 2) return false;
		for (let up = e.parentElement; up; up = up.parentElement) {
			const o = getComputedStyle(up).overflowX;
			if (o === 'auto' || o === 'scroll') return false;
		}
		return r.right > innerWidth + 1 || r.left < -1 ||
			s.overflowX === 'hidden' && s.textOverflow !== 'ellipsis' && e.scrollWidth > e.clientWidth + 1;
	}).map(e => e.outerHTML.slice(0, 120))`

// notInHelp finds keys of a page that are missing in its help.
var notInHelp = `(async () => {
	const { keys } = ` + Module("keys.js") + `;
	const told = new Set([...document.querySelectorAll('#help kbd')].flatMap(k => { const t = k.textContent; return [t, ...t.split(/ \/ | – | then | /)]; }));
	const digits = [...document.querySelectorAll('#help kbd')].some(k => k.textContent === '1 – 5');
	return Object.keys(keys).filter(k => !told.has(k) && !told.has({Escape: 'Esc'}[k]) && !(digits && /^[1-5]$/.test(k)));
})()`

// notPages are the routes that people do not open as a page, with the reason.
var notPages = map[string]string{
	"GET /live": "a stream", "GET /notifications/stream": "a stream", "GET /audit.jsonl": "a download",
	"GET /usage.csv":                                       "a download",
	"GET /automations/preview":                             "a part of a form",
	"GET /s/{session}/c/{chat}/complete":                   "an answer to a script",
	"GET /s/{session}/c/{chat}/log":                        "a text",
	"GET /s/{session}/c/{chat}/attachments/{turn}/{n}":     "a file",
	"GET /s/{session}/c/{chat}/pictures/{turn}/{part}/{n}": "a file",
	"GET /s/{session}/c/{chat}/edits/{call}/file/{file}":   "a part of a page",
	"GET /s/{session}/changes/context":                     "a part of a page",
	"GET /s/{session}/changes/image":                       "a picture",
	"GET /s/{session}/changes/place":                       "a part of a page",
	"GET /s/{session}/threads.md":                          "a download",
	"GET /settings/secrets.json":                           "for programs",
	"GET /s/{session}/t/{terminal}/frame":                  "framed by its page",
	"GET /s/{session}/t/{terminal}/stream":                 "a stream",
	"GET /s/{session}/t/{terminal}/commands/{command}":     "text alone",
	"GET /s/{session}/customizations/file":                 "text of an agent's file, within the page of customizations",
}

// openDoors are the pages for unknown visitors, and error pages.
var openDoors = []string{"/signin", "/j", "/invite", "/nowhere", "/s/nowhere"}

// lookedAtElsewhere are the pages that need more than a first message; their own tests check them
// the same way.
var lookedAtElsewhere = map[string]string{
	"GET /s/{session}/c/{chat}/edits/{call}": "TestReviewAccessibility has the same diffs",
	"GET /s/{session}/changes/file/{file}":   "TestReviewAccessibility",
	"GET /s/{session}/t/{terminal}":          "TestTerminalFrame",
	"GET /automations/{automation}":          "TestAutomationsPage",
	"GET /automations/{automation}/edit":     "TestAutomationsPage",
}

// allPages returns the addresses of all pages: a new route must be among them, among those checked
// elsewhere, or among notPages.
func allPages(t *testing.T, words map[string]string) (paths []string) {
	t.Helper()
	for _, route := range access.Routes() {
		path, ok := strings.CutPrefix(route, "GET ")
		if notPages[route] != "" || lookedAtElsewhere[route] != "" || !ok {
			continue
		}
		for word, is := range words {
			path = strings.ReplaceAll(path, "{"+word+"}", is)
		}
		if strings.Contains(path, "{") {
			t.Errorf("nobody has said who looks at %q: open it here, name its test among lookedAtElsewhere, or say "+
				"among notPages why it is none", route)
			continue
		}
		paths = append(paths, path)
	}
	return paths
}

// On every page, light, dark and on a phone, axe-core finds nothing, at 320 px nothing scrolls
// sideways, and targets are large enough.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	b := OpenBrowser(t)
	p, stranger := b.Page(), b.Page()
	p.SignIn(prog)
	session := newSession(p, prog, "say # Title\\n\\nSome *text* with `code`.\nrun echo hello")
	p.Wait(`document.querySelector('form.approval')`)
	p.Allow(`404|403`)
	stranger.Allow(`404|403|428`)
	chat := Eval[string](p, `new URLSearchParams(document.body.dataset.live).get('in')`)
	check := func(who *Page, path string) {
		name := strings.NewReplacer(session, "/s", chat, "chat").Replace(path)
		rules := func(how string, only ...string) {
			for _, f := range axeFindings(who, only...) {
				t.Errorf("%s %s: %s\n\t%s", how, name, f.Rule, strings.Join(f.Nodes, "\n\t"))
			}
			who.Shot(strings.NewReplacer("/", "_").Replace(how + name))
		}
		who.look(1440, 900, "light")
		who.Open(prog.URL + path)
		who.Wait(`document.readyState === 'complete'`)
		rules("light")
		for _, key := range awaited[[]string](who, notInHelp) {
			t.Errorf("%s: the key %s is not in the help", name, key)
		}
		who.look(1440, 900, "dark")
		rules("dark", colourRules...)
		who.look(720, 450, "light") // 1440 by 900 at 200 % zoom
		if w := Eval[int](who, `document.documentElement.scrollWidth`); w > 720 {
			t.Errorf("zoomed %s scrolls sideways: %d px", name, w)
		}
		for _, s := range Eval[[]string](who, beyondEdge) {
			t.Errorf("zoomed %s cuts %s", name, s)
		}
		who.look(320, 640, "light")
		rules("phone")
		if w := Eval[int](who, `document.documentElement.scrollWidth`); w > 320 {
			t.Errorf("phone %s scrolls sideways: %d px", name, w)
		}
		for _, s := range Eval[[]string](who, tooSmall) {
			t.Errorf("phone %s: %s", name, s)
		}
	}
	for _, path := range allPages(t, map[string]string{"session": strings.TrimPrefix(session, "/s/"), "chat": chat}) {
		check(p, path)
	}
	for _, path := range openDoors {
		check(stranger, path)
	}
	p.leave()
}

// Shortcuts can be switched off, and then have no effect.
func TestShortcutsCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	r := review(t, map[string]string{"a.txt": "alpha\n"})
	r.write("a.txt", "beta\n")
	r.cold(r.ana, "/changes?scope=uncommitted")
	at := func() bool { return Eval[bool](r.ana, `!!document.querySelector('.r.cur')`) }
	r.ana.Press("?")
	r.ana.Click("#keys-on")
	r.ana.Press("\x1b")
	r.ana.Wait(`!document.querySelector('dialog[open]')`)
	for _, key := range []string{"j", "n", "v", "c", "C", "J", "u", "o", "?"} {
		r.ana.Press(key)
	}
	if at() || Eval[bool](r.ana, `!!document.querySelector('dialog[open], form.comment-form, .file[data-reviewed]')`) {
		t.Error("a key does something though shortcuts are off")
	}
	r.cold(r.ana, "/changes?scope=uncommitted")
	r.ana.Press("j")
	if at() {
		t.Error("shortcuts are on again after a reload")
	}
	Eval[bool](r.ana, `document.querySelector('#help').showModal(), true`)
	r.ana.Click("#keys-on")
	r.ana.Press("\x1b")
	r.ana.Wait(`!document.querySelector('dialog[open]')`)
	r.ana.Press("j")
	if !at() {
		t.Error("shortcuts stay off after they were switched on")
	}
	r.ana.leave()
	r.ben.leave()
}
