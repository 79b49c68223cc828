package e2e

import (
	"os"
	"testing"
)

// A newcomer sees the product in a minute: every session of the demo is there, none of its
// pages complains, and nothing is left behind.
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
	page.Open(p.URL + "/")
	page.Open(p.URL + Eval[string](page,
		`[...document.querySelectorAll('#rail a.rail-item')].find(a => a.textContent.includes('Greet in the language')).getAttribute('href')`) + "/changes")
	page.WaitText("#review", "An unknown language is greeted in English")
	page.Shot("review")
	page.Open(Eval[string](page, "location.href.replace('/changes', '/threads?state=all')"))
	page.WaitText(".excerpt", "format, ok := greetings[language]") // the demo's people quote nothing themselves
	page.Open("about:blank")                                       // or its stream would complain
	p.Stop()
	if _, err := os.Stat(p.Data); err == nil {
		t.Errorf("the demo left %s behind", p.Data)
	}
}
