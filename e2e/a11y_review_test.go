package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// colourRules are the rules of axe that a page in other colours can break.
var colourRules = []string{"color-contrast", "link-in-text-block"}

// accessible checks the current page: axe-core finds nothing, and on a phone nothing is too wide or
// too small; only lists the rules, none runs all.
func (p *Page) accessible(name string, phone bool, only ...string) {
	p.t.Helper()
	for _, f := range axeFindings(p, only...) {
		p.t.Errorf("%s: %s\n\t%s", name, f.Rule, strings.Join(f.Nodes, "\n\t"))
	}
	p.Shot(strings.ReplaceAll(name, " ", "-"))
	if !phone {
		return
	}
	if w := Eval[int](p, `document.documentElement.scrollWidth`); w > 320 {
		p.t.Errorf("%s scrolls sideways: %d px", name, w)
	}
	for _, s := range Eval[[]string](p, tooSmall) {
		p.t.Errorf("%s: %s", name, s)
	}
}

// A review with changes, threads and drafts is accessible in every common state, for its owner and
// for guests: light, dark and on a phone.
func TestReviewAccessibility(t *testing.T) {
	t.Parallel()
	r := review(t, map[string]string{"a.txt": "alpha\n" + far + "beta\n", "b.go": "package b\n",
		"go.sum": "a v1 h1:a=\n"})
	r.write("a.txt", "ALPHA\n"+far+"BETA\n")
	r.write("b.go", "package b\n\n// One is one.\nfunc One() int { return 1 }\n")
	r.write("go.sum", "a v2 h1:b=\n")
	r.git("add", "go.sum")
	link := share(r.ana, r.program, strings.TrimPrefix(r.base, r.program.URL), "viewer")
	r.open("")
	for i, text := range []string{"Why in **capitals**?\n\n```suggestion\nAlpha\n```", "And `here`?"} {
		r.ana.Press("n")
		r.ana.Press("j")
		r.ana.Press("c")
		r.ana.Wait("document.activeElement?.matches('form.comment-form textarea')")
		r.ana.Type(text)
		r.ana.Click("form.comment-form button[value=comment]")
		r.ana.Wait(fmt.Sprintf("document.querySelectorAll('.thr').length === %d && !document.querySelector('#files "+
			"form.comment-form')", i+1))
	}
	r.ana.Press("C")
	r.ana.Type("A draft.")
	r.ana.Wait("document.querySelector('form.comment-form.draft')")
	r.ana.Click(file("b.go") + " .file-mark")
	r.both("#review-counts", "1/3 reviewed")
	key := Eval[string](r.ana, "document.querySelector('"+file("a.txt")+"').dataset.file")
	r.ben.Open("about:blank")
	others := OpenBrowser(t)
	guest, stranger := others.Page(), others.Page()
	join(guest, link, "Ben")
	r.ben.Allow("428")

	states := []struct {
		name, path, open string
		who              *Page
		everywhere       bool // in dark colours as well
	}{
		{"changes", "/changes?scope=uncommitted", "", r.ana, true},
		{"split", "/changes?scope=uncommitted&view=split", "document.querySelector('#more').open = true", r.ana,
			false},
		{"finish", "/changes?scope=uncommitted", "document.querySelector('#submit-review').showPopover() ?? true", r.ana, true},
		{"commit", "/changes?scope=uncommitted",
			"document.querySelector('#op-commit').showPopover() ?? true", r.ana, true},
		{"new branch", "/changes?scope=uncommitted", "document.querySelector('#op-commit').showPopover() ?? " +
			"(document.querySelector('.new-branch').open = true)", r.ana, false},
		{"discard", "/changes?scope=uncommitted", "document.querySelector('#op-take').showPopover() ?? true", r.ana, false},
		{"info", "", "document.querySelector('#info').showModal() ?? true", r.ana, false},
		{"help", "", "document.querySelector('#help').showModal() ?? true", r.ana, false},
		{"file", "/changes/file/" + key + "?scope=uncommitted&comment=R1", "", r.ana, false},
		{"threads", "/threads?state=all", "document.querySelector('.reply textarea').focus() ?? true", r.ana, true},
		{"guest changes", "/changes?scope=uncommitted", "", guest, false},
		{"guest threads", "/threads?state=all", "", guest, false},
		{"guest chat", "", "", guest, false},
	}
	for _, how := range []struct {
		name, theme   string
		width, height int64
	}{{"light", "light", 1440, 900}, {"dark", "dark", 1440, 900}, {"phone", "light", 320, 640}} {
		var rules []string
		if how.name == "dark" {
			rules = colourRules
		}
		for _, s := range states {
			if how.name == "dark" && !s.everywhere {
				continue
			}
			s.who.look(how.width, how.height, how.theme)
			r.cold(s.who, s.path)
			if s.open != "" {
				Eval[bool](s.who, s.open)
			}
			s.who.accessible(how.name+" "+s.name, how.name == "phone", rules...)
		}
		r.ben.look(how.width, how.height, how.theme)
		r.ben.Open(r.base + "/changes?scope=uncommitted")
		r.ben.Live()
		Eval[bool](r.ben, `(() => { // as without a script: it asks on a page of its own
			const f = document.querySelector('#op-take form').cloneNode(true);
			f.elements.sure.remove();
			document.body.append(f);
			f.submit();
			return true;
		})()`)
		r.ben.Wait("location.pathname.endsWith('/op') && document.readyState === 'complete'")
		r.ben.accessible(how.name+" confirm", how.name == "phone", rules...)
		if how.name == "dark" {
			continue
		}
		stranger.look(how.width, how.height, how.theme)
		for _, path := range []string{"/signin", "/j"} {
			stranger.Open(r.program.URL + path)
			stranger.accessible(how.name+" "+path[1:], how.name == "phone")
		}
	}
	r.ana.leave()
	r.ben.leave()
	guest.leave()
}

// media sets a media feature, such as reduced motion.
func (p *Page) media(feature, value string) {
	p.t.Helper()
	p.Do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: feature, Value: value}}}
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, media)
		return chromedp.Void{}, err
	})
}

// With forced colours, signs, marks and outlines replace information shown by colour.
func TestForcedColours(t *testing.T) {
	t.Parallel()
	r := review(t, map[string]string{"a.txt": "alpha one\n" + far})
	r.write("a.txt", "alpha two\n"+far)
	r.cold(r.ana, "/changes?scope=uncommitted")
	r.ana.media("forced-colors", "active")
	r.ana.Press("n")
	r.ana.Shot("forced")
	for what, script := range map[string]string{
		"an addition has its sign":          `getComputedStyle(document.querySelector('.r.a'), '::after').content.includes('+')`,
		"a removal has its sign":            `getComputedStyle(document.querySelector('.r.d'), '::after').content.includes('−')`,
		"an addition has its edge":          `parseFloat(getComputedStyle(document.querySelector('.r.a'), '::before').borderLeftWidth) >= 3`,
		"a changed word is outlined":        `getComputedStyle(document.querySelector('.r.a b')).outlineStyle === 'solid'`,
		"the line one is at is outlined":    `getComputedStyle(document.querySelector('.r.cur')).outlineStyle === 'solid'`,
		"buttons have borders":              `getComputedStyle(document.querySelector('.file-mark')).borderTopStyle === 'solid'`,
		"the scope that is shown is marked": `getComputedStyle(document.querySelector('.scopes [aria-current]')).outlineStyle === 'solid'`,
	} {
		if !Eval[bool](r.ana, script) {
			t.Error("not so: " + what)
		}
	}
	r.ana.leave()
	r.ben.leave()
}
