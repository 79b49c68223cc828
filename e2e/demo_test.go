package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkRail opens the last session in the rail: its row is visible, names the agent, and its title
// has an ellipsis and a full tooltip.
func (p *Page) checkRail(url string) {
	p.t.Helper()
	const rows = `[...document.querySelectorAll('#rail a.rail-item[data-session]')]`
	p.look(1440, 280, "light")
	p.Open(url + "/")
	p.Open(url + Eval[string](p, rows+`.at(-1).getAttribute('href')`))
	p.Wait(`(() => {
		const row = document.querySelector('#rail .rail-item[aria-current]')?.getBoundingClientRect();
		const list = document.querySelector('#rail-list').getBoundingClientRect();
		return row && row.top >= Math.max(0, list.top) && row.bottom <= Math.min(innerHeight, list.bottom) + 1;
	})()`)
	if !Eval[bool](p, `(l => l.scrollHeight > l.clientHeight || l.getBoundingClientRect().top < 0)(document.querySelector("#rail-list"))`) {
		p.t.Error("all rows of the rail fit: whether the current one is scrolled to is not tested")
	}
	if bare := Eval[[]string](p, rows+`.filter(a => !/Script|Shell/.test(a.querySelector('.meta').textContent)).map(a => a.textContent)`); len(bare) > 0 {
		p.t.Errorf("rows of the rail do not name the agent: %q", bare)
	}
	const long = rows + `.map(a => a.querySelector('.title')).find(t => t.scrollWidth > t.clientWidth)`
	if !Eval[bool](p, `(t => t && getComputedStyle(t).textOverflow === 'ellipsis' && t.title === t.textContent)(`+long+`)`) {
		p.t.Error("a long title in the rail has no ellipsis or no tooltip")
	}
	p.look(1440, 900, "light")
	p.Open(url + "/")
	p.Press("?")
	p.Wait(`document.querySelector('#help').open`)
	if Eval[bool](p, `(d => d.scrollHeight > d.clientHeight)(document.querySelector('#help'))`) {
		p.t.Error("the keyboard shortcuts have to be scrolled at 1440 x 900")
	}
	p.Open(url + "/")
}

// A newcomer sees the product in a minute: every session of the demo exists, no page has errors,
// and nothing remains afterwards.
func TestDemo(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Demo: true})
	page := OpenBrowser(t).Page()
	page.look(1440, 900, "light")
	page.SignIn(p)
	page.WaitText("#inbox", "Ask me something")
	page.WaitText("#inbox", "Run the tests")
	page.Pictures("inbox", "#inbox")
	for _, href := range Eval[[]string](page,
		`[...document.querySelectorAll('#rail a.rail-item')].map(a => a.getAttribute('href'))`) {
		page.Open(p.URL + href)
		page.WaitText("#turns", "")
		page.Shot("session-" + href[len("/s/"):])
	}
	page.checkRail(p.URL)
	page.Open(p.URL + Eval[string](page,
		`[...document.querySelectorAll('#rail a.rail-item')].find(a => a.textContent.includes('Greet in the language')).getAttribute('href')`) + "/changes")
	page.WaitText("#review", "An unknown language is greeted in English")
	page.Shot("review")
	page.Open(Eval[string](page, "location.href.replace('/changes', '/threads?state=all')"))
	page.WaitText(".excerpt", "format, ok := greetings[language]") // the demo's people quote nothing themselves
	page.Open("about:blank")                                       // avoids an error of its stream
	p.Stop()
	if _, err := os.Stat(p.Data); err == nil {
		t.Errorf("the demo left %s behind", p.Data)
	}
}

// The demo also shows machines: separate processes that end with it, each with a finished session
// and a waiting one.
func TestDemoWithMachines(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Demo: true, Args: []string{"--machines", "2"}})
	page := OpenBrowser(t).Page()
	page.look(1440, 900, "light")
	page.SignIn(p)
	page.Open(p.URL + "/machines")
	page.Wait(card("box2", "Online", "Sessions work in"))
	page.Wait(card("box3", "Online"))
	page.Pictures("machines", "#machines")
	page.Open(p.URL + "/")
	for _, box := range []string{"box2", "box3"} {
		page.WaitText("#inbox", "Shell on "+box)
	}
	page.Wait(`[...document.querySelectorAll('#inbox .ask')].filter(e => e.textContent.includes('sed -i')).length === 2`)
	page.Pictures("inbox", "#inbox")
	page.Open(p.URL + Eval[string](page,
		`[...document.querySelectorAll('#rail a.rail-item')].find(a => a.textContent.includes('git log') && a.textContent.includes('box2')).getAttribute('href')`))
	page.Wait(`document.querySelector('#turns').innerText.includes('exit 0')`)
	page.Says("#turns", "func Greet")
	page.Open("about:blank") // avoids an error of its stream
	dir := filepath.Dir(p.Data)
	if !isNamedByAProgram(t, dir+"/box2") {
		t.Error("no program of a machine is found: whether it ends is not tested")
	}
	p.Stop()
	if isNamedByAProgram(t, dir) {
		t.Error("a machine of the demo goes on")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("the demo left %s behind", dir)
	}
}

// isNamedByAProgram reports whether a running program's command contains a path.
func isNamedByAProgram(t *testing.T, path string) bool {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range commands {
		if raw, err := os.ReadFile(file); err == nil && strings.Contains(string(raw), path) {
			return true
		}
	}
	return false
}
