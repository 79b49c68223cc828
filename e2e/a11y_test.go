package e2e

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"
)

//go:embed testdata/axe/axe.min.js
var axe string

// finding is a rule of axe that a page breaks.
type finding struct {
	Rule  string   `json:"rule"`
	Nodes []string `json:"nodes"`
}

// axeFindings runs axe-core over a page as it stands.
func axeFindings(p *Page) []finding {
	p.t.Helper()
	Eval[bool](p, axe+";true")
	Eval[bool](p, `window.axeSays = '', axe.run(document, {resultTypes: ['violations'], iframes: false}).then(
		r => { axeSays = JSON.stringify(r.violations.map(v => ({rule: v.id, nodes: v.nodes.slice(0, 4).map(n => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? ''))}))) },
		e => { axeSays = JSON.stringify([{rule: 'axe failed', nodes: [String(e)]}]) }), true`)
	p.Wait(`window.axeSays`)
	var out []finding
	if err := json.Unmarshal([]byte(Eval[string](p, `window.axeSays`)), &out); err != nil {
		p.t.Fatal(err)
	}
	return out
}

// tooSmall are the targets under 44 px of a phone's page: links within text, and numbers of lines, may be as high as their line.
const tooSmall = `[...document.querySelectorAll('a, button, summary, select, input:not([type=hidden]):not([type=radio]):not([type=checkbox]), textarea')]
	.filter(e => e.checkVisibility() && !e.closest('p, .sr, .skip, td, li > span, pre, .md, .r') && getComputedStyle(e).display !== 'inline')
	.map(e => [e, e.getBoundingClientRect()]).filter(([e, r]) => r.width > 0 && r.height > 1 && r.height < 43.5)
	.map(([e, r]) => e.outerHTML.slice(0, 100) + ' is ' + r.height + ' px')`

// Every page, light, dark and on a phone: axe-core finds nothing, and at 320 px nothing scrolls sideways.
func TestAccessibility(t *testing.T) {
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	b := OpenBrowser(t)
	p := b.Page()
	p.SignIn(prog)
	session := newSession(p, prog, "say # Title\\n\\nSome *text* with `code`.\nrun echo hello")
	p.Wait(`document.querySelector('form.approval')`)
	pages := []string{"/", "/new", "/settings", "/help", "/people", "/account", "/audit", session, session + "/changes", session + "/threads", session + "/t", session + "/share", "/nowhere"}
	p.Allow(`404`)
	for _, how := range []struct {
		name, theme   string
		width, height int64
	}{{"light", "light", 1440, 900}, {"dark", "dark", 1440, 900}, {"phone", "light", 320, 640}} {
		for _, path := range pages {
			p.Open(prog.URL + path)
			p.look(how.width, how.height, how.theme)
			p.Wait(`document.readyState === 'complete'`)
			name := how.name + " " + strings.ReplaceAll(path, session, "/s")
			for _, f := range axeFindings(p) {
				t.Errorf("%s: %s\n\t%s", name, f.Rule, strings.Join(f.Nodes, "\n\t"))
			}
			if how.name == "phone" {
				if w := Eval[int](p, `document.documentElement.scrollWidth`); w > 320 {
					t.Errorf("%s scrolls sideways: %d px", name, w)
				}
				for _, s := range Eval[[]string](p, tooSmall) {
					t.Errorf("%s: %s", name, s)
				}
			}
			p.Shot(strings.NewReplacer("/", "_", " ", "").Replace(name))
		}
	}
}
