package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// beginScript starts a session of the script agent in a directory.
func beginScript(t *testing.T, p *Program, ana *Page, dir, message string) {
	t.Helper()
	ana.Open(p.URL + "/new?agent=script")
	ana.Fill("#dir", dir)
	ana.Fill("#message", message)
	ana.Press("\r", chromedp.ModifierCtrl)
	ana.Wait("location.pathname.startsWith('/s/')")
	ana.Live()
}

// A card shows the whole change, like the review; two people's answers count once; afterwards the
// row shows the same.
func TestApprovalCardShowsWholeChange(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "greet.go"),
		[]byte("package greet\n\n// Hello greets.\nfunc Hello() string { return \"hello\" }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := OpenBrowser(t)
	ana, other := b.Page(), b.Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	beginScript(t, p, ana, dir, "edit greet.go func Bye() string { return \"bye\" } // "+
		strings.Repeat("a long line that wraps in its place ", 6))
	ana.WaitText(".asks .edit-file", "func Bye()")
	if rows := Eval[int](ana, "document.querySelectorAll('.asks .edit-file .r.a').length"); rows != 1 {
		t.Errorf("the card shows %d added lines of 1", rows)
	}
	ana.WaitText(".asks .edit-file", "Hello greets") // the lines around it
	ana.Pictures("card", ".asks")

	// Without scripts, the link leads to the same.
	page := Eval[string](ana,
		"fetch(document.querySelector('.asks [data-edits]').dataset.edits).then(r => r.text()).then(t => "+
			"window.plainEdits = t), ''")
	_ = page
	ana.Wait("window.plainEdits?.includes('edit-file') && window.plainEdits.includes('<!doctype " +
		"html>'.toUpperCase().slice(0, 2))")

	other.SignIn(p)
	other.Open(Eval[string](ana, "location.href"))
	other.Live()
	other.WaitText(".asks .edit-file", "func Bye()")
	// clicks by script: the card may be re-rendered at any time, which invalidates handles
	Eval[bool](ana, "(document.querySelector('.approval button[data-kind=approve]').click(), true)")
	other.Wait("!document.querySelector('.approval')")
	other.WaitText(".tool summary", "approved by Ana")
	other.Click(".tool details.fold > summary")
	other.WaitText(".tool .edit-file", "func Bye()")
	other.Pictures("done", ".tool")

	// A long change is folded, and a click loads all of it.
	long := filepath.Join(dir, "long.txt")
	if err := os.WriteFile(long, []byte(strings.Repeat("line\n", 900)), 0o600); err != nil {
		t.Fatal(err)
	}
	ana.Fill("#message", "write long.txt short")
	ana.Press("\r")
	ana.WaitText(".asks .edit-file", "changed lines")
	ana.Click(".asks .edit-file .load")
	ana.Wait("document.querySelectorAll('.asks .edit-file .r.d').length === 900")
}

// The changes on a card load later; a person about to click Approve still clicks Approve.
func TestApproveStaysUnderPointerWhileChangesLoad(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.inject(`new MutationObserver(list => {
		const top = () => document.querySelector('.asks button[data-kind=approve]')?.getBoundingClientRect().top;
		if (!window.tops && list.some(m => m.target.matches?.('.edits'))) {
			window.tops = [top()];
			requestAnimationFrame(() => requestAnimationFrame(() => tops.push(top(), innerHeight)));
		}
	}).observe(document, {childList: true, subtree: true})`)
	ana.SignIn(p)
	beginScript(t, p, ana, t.TempDir(), "write long.txt "+strings.Repeat("a line\\n", 100))
	ana.Wait("window.tops?.length === 3")
	if tops := Eval[[]float64](ana, "tops"); tops[0] != tops[1] || tops[0] > tops[2] {
		t.Errorf("Approve was at %.0f px when the changes came and is at %.0f in the next frame, of %.0f px", tops[0],
			tops[1], tops[2])
	}
}
