package e2e

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// spoken returns what a screen reader finds: the headings, the landmarks, and all text in reading
// order.
func (p *Page) spoken() (headings, landmarks []string, text string) {
	p.t.Helper()
	var tree accessibility.GetFullAXTreeResult
	p.Do(func(ctx context.Context, t *chromedp.Target) (_ chromedp.Void, err error) {
		tree, err = cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		return chromedp.Void{}, err
	})
	value := func(v *accessibility.Value) string {
		if v == nil {
			return ""
		}
		return strings.Trim(string(v.Value), `"`)
	}
	var all []string
	for _, n := range tree.Nodes {
		switch name := value(n.Name); value(n.Role) {
		case "heading":
			headings = append(headings, name)
		case "region", "navigation", "main":
			landmarks = append(landmarks, name)
		case "StaticText":
			all = append(all, name)
		}
	}
	return headings, landmarks, regexp.MustCompile(`\s+`).ReplaceAllString(strings.Join(all, " "), " ")
}

// A screen reader reads a diff by files, which are headings, and by lines, which say how they
// changed; at 200 % zoom everything is reachable.
func TestDiffReadsLineByLine(t *testing.T) {
	t.Parallel()
	r := review(t, map[string]string{"a.txt": "first\nsecond\nthird\n", "b.txt": "b\n"})
	r.write("a.txt", "first\nSECOND\nthird\n")
	r.write("b.txt", "B\n")
	r.cold(r.ana, "/changes?scope=uncommitted")
	r.ana.Wait("document.querySelectorAll('.r').length === 6")
	headings, landmarks, text := r.ana.spoken()
	for _, want := range []string{"a.txt", "b.txt"} {
		if !strings.Contains(strings.Join(headings, "\n"), want) {
			t.Errorf("%s is no heading: %q", want, headings)
		}
	}
	for _, want := range []string{"View options", "Changed files", "Your review"} {
		if !strings.Contains(strings.Join(landmarks, "\n"), want) {
			t.Errorf("%s is no landmark: %q", want, landmarks)
		}
	}
	for _, want := range []string{"line 1 1: first", "removed line 2: second", "added line 2: SECOND",
		"line 3 3: third"} {
		if !strings.Contains(strings.ReplaceAll(text, " :", ":"), want) {
			t.Errorf("%q is not read in %q", want, text)
		}
	}
	r.ana.look(720, 450, "light") // 1440 × 900 at 200 %
	for what, bad := range map[string]string{
		"the page scrolls sideways": "document.documentElement.scrollWidth > innerWidth",
		"a control of the header is out of sight": "[...document.querySelectorAll('.rbar :is(a, button, summary), " +
			".sendbar :is(a, button, summary)')].filter(e => e.checkVisibility() && e.getClientRects().length)" +
			".some(e => e.getBoundingClientRect().right > innerWidth + 1)",
		"a row is wider than its file": "[...document.querySelectorAll('.r')].some(r => " +
			"r.getBoundingClientRect().right > innerWidth)",
	} {
		if Eval[bool](r.ana, bad) {
			t.Errorf("at 200 %%: %s", what)
		}
	}
	r.ana.Shot("zoomed")
	r.ana.leave()
	r.ben.leave()
}

// There is some space between the gutter and the code, and no empty band above a file.
func TestDiffHasNoEmptyBands(t *testing.T) {
	t.Parallel()
	r := review(t, map[string]string{"a.txt": "alpha\n" + far + "beta\n"})
	r.write("a.txt", "ALPHA\n"+far+"BETA\n")
	r.cold(r.ana, "/changes?scope=uncommitted")
	r.ana.Wait("document.querySelectorAll('.h').length === 2")
	if n := Eval[int](r.ana, "[...document.querySelectorAll('.h')].filter(h => h.offsetHeight && "+
		"!h.querySelector('button') && !h.dataset.h).length"); n != 0 {
		t.Errorf("%d bands are empty", n)
	}
	r.hover(r.ana, ".r.a") // its hunk can still be marked
	r.ana.Wait("document.querySelector('.h .hunk-mark')?.checkVisibility()")
	gap := Eval[string](r.ana, `(() => {
		const row = document.querySelector('.r.a'), code = document.createRange();
		code.selectNodeContents(row.firstChild);
		const s = getComputedStyle(row, '::after'), ch = parseFloat(s.width) / 2;
		return ((code.getBoundingClientRect().left - row.getBoundingClientRect().left - parseFloat(s.left) - 2 * ch) / ch).toFixed(1);
	})()`)
	if gap != "1.5" {
		t.Errorf("code starts %s characters after the gutter", gap)
	}
	r.ana.Shot("changes")
	r.ana.leave()
	r.ben.leave()
}
