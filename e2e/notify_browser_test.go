package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// A guest's page is only notified of their session and of what they can answer.
func TestGuestIsNotifiedOfTheirSessionOnly(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	owner := dial(t, ctx, prog, prog.Token())
	mine := newOverProtocol(t, ctx, owner)
	c, _ := signIn(t, prog.SignIn())
	short := shortOf(t, c, prog, mine)
	guest := cookieFor(t, prog, linkOver(t, c, prog, short, "commenter"))
	all := []string{"approval", "question", "failed", "finished", "mention", "comment", "verdict"}
	sendForm(t, guest, prog.URL+settingsPath, url.Values{"browser": all, "webhook": all, "mail": all})
	get(t, guest, prog.URL+"/s/"+short)
	events := noticesOf(t, ctx, prog, guest)

	sessionThat(t, c, prog, "run echo "+canary) // another session, with the canary also in its title
	sessionThat(t, c, prog, "fail "+canary)
	sendForm(t, c, prog.URL+"/s/"+short+"/verdict", url.Values{"kind": {"comment"}, "summary": {"hm"}})
	if err := owner.Subscribe(ctx, mine+"/annotations"); err != nil {
		t.Fatal(err)
	}
	thread := ahp.Annotation{ID: "t1", Origin: ahp.AnnotationOrigin{Session: mine}, Resource: "file:///a.go",
		Entries: []ahp.AnnotationEntry{{ID: "e1", Text: ahp.Plain("@Ana see")}}}
	if _, err := owner.Dispatch(ctx, mine+"/annotations", &ahp.AnnotationsSetAction{Annotation: thread}); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for e := range events {
		kinds = append(kinds, e.Kind)
		if e.Session != core.ShortID(mine) || strings.Contains(fmt.Sprint(e), canary) {
			t.Errorf("a guest is told %+v", e)
		}
		if e.Kind == "mention" {
			break
		}
	}
	if got := strings.Join(kinds, " "); got != "verdict mention" {
		t.Errorf("a guest is told %s", got)
	}
	// They have neither mail nor webhooks, whatever they post.
	for _, path := range []string{"/mail", "/mail/verify", "/hooks", "/hooks/x/test", "/hooks/x/remove"} {
		res, err := guest.PostForm(prog.URL+settingsPath+path, url.Values{"url": {"https://hooks.example.com/"},
			"address": {"ana@example.com"}, "do": {"set"}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("POST %s as a guest: %s", path, res.Status)
		}
	}
	if _, page := get(t, guest, prog.URL+settingsPath); strings.Contains(page, "Webhook") ||
		strings.Contains(page, "Email") {
		t.Error("a guest is shown what they cannot have")
	}
}

type notice struct{ ID, Kind, Session, Title, Text, Path string }

// noticesOf reads the stream that a browser's tab reads.
func noticesOf(t *testing.T, ctx context.Context, prog *Program, c *http.Client) <-chan notice {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, prog.URL+"/notifications/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	out := make(chan notice)
	go func() {
		defer close(out)
		defer res.Body.Close()
		scan := bufio.NewScanner(res.Body)
		for scan.Scan() {
			data, is := strings.CutPrefix(scan.Text(), "data: ")
			var n notice
			if !is || json.Unmarshal([]byte(data), &n) != nil {
				continue
			}
			select {
			case out <- n:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// fakeNotifications replaces the system's notifications: it records what a page shows, and needs no
// permission.
const fakeNotifications = `
window.shown = [];
window.Notification = class {
  static get permission() { return localStorage.getItem('permission') || 'default'; }
  static async requestPermission() { localStorage.setItem('permission', localStorage.getItem('answer') || 'granted'); return this.permission; }
  constructor(title, options) { Object.assign(this, options, { title }); window.shown.push(this); }
  close() {}
};
document.hasFocus = () => sessionStorage.getItem('focused') === 'yes';
`

// One of two tabs shows an event, once; a click opens its page; nothing is shown about a visible or
// a muted session. A browser that refuses notifications says so.
func TestBrowserNotifications(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	b := OpenBrowser(t)
	one := b.Page()
	two := one.tab()
	for _, p := range []*Page{one, two} {
		p.inject(fakeNotifications)
	}
	one.SignIn(prog)
	one.Open(prog.URL + settingsPath)
	Eval[bool](one, `(localStorage.setItem('answer', 'denied'), true)`)
	one.Click("#notify-here form .btn")
	one.Says("#notify-state", "are blocked")
	Eval[bool](one, `(localStorage.removeItem('permission'), localStorage.removeItem('answer'), true)`)
	one.Open(prog.URL + settingsPath)
	one.Says("#notify-state", "Off in this browser.")
	one.Click("#notify-here form .btn")
	one.Says("#notify-state", "On in this browser.")
	one.Click("#notify-try")
	one.Wait(`shown.length === 1 && shown[0].title === 'Test notification'`)
	one.Pictures("notifications", "#hooks")

	one.Open(prog.URL + "/")
	one.Wait(`document.documentElement.dataset.notify === 'on'`)
	two.Open(prog.URL + "/")
	two.Wait(`document.querySelector('#inbox')`)
	c, _ := signIn(t, prog.SignIn())
	session := sessionThat(t, c, prog, "run echo hello")
	one.Wait(`shown.length === 1 && shown[0].title.startsWith('Approval needed')`)
	if n := Eval[int](two, `shown.length`); n != 0 {
		t.Errorf("the other tab shows %d too", n)
	}
	Eval[bool](one, `(shown[0].onclick(), true)`)
	one.Wait(`location.pathname.startsWith('` + session +
		`/c/') && location.hash.startsWith('#tool-') && document.readyState === 'complete'`)

	// Either tab may show it; not while the session is visible.
	two.Wait(`document.documentElement.dataset.notify === 'on'`)
	chat := Eval[string](one, `location.pathname`)
	sendForm(t, c, prog.URL+chat+"/stop", url.Values{})
	sendForm(t, c, prog.URL+chat+"/message", url.Values{"text": {"fail once"}})
	one.Wait(`shown.length === 1 && shown[0].title.startsWith('Failed')`)
	Eval[bool](one, `(sessionStorage.setItem('focused', 'yes'), true)`)
	sendForm(t, c, prog.URL+chat+"/message", url.Values{"text": {"fail twice"}})
	other := sessionThat(t, c, prog, "fail elsewhere")
	two.Wait(`shown.length === 1 && shown[0].title.includes('fail elsewhere')`)

	// Muting is a button in the session's menu.
	two.Open(prog.URL + other)
	two.Click(`summary[aria-label="Session menu"]`)
	two.Click(`.menu button[name=muted][value=yes]`)
	two.Wait(`!!document.querySelector('.menu button[name=muted][value=no]')`)
	one.Open(prog.URL + "/")
	two.Open(prog.URL + "/")
	sendForm(t, c, prog.URL+other+"/c/"+chatOf(t, c, prog, other)+"/message", url.Values{"text": {"fail quietly"}})
	sessionThat(t, c, prog, "fail aloud")
	both := func() []string {
		return append(Eval[[]string](one, `shown.map(x => x.title)`), Eval[[]string](two, `shown.map(x => x.title)`)...)
	}
	waitUntil(t, "one of the tabs tells", func() error {
		if got := both(); len(got) != 1 || !strings.Contains(got[0], "fail aloud") {
			return fmt.Errorf("shown is %q", got)
		}
		return nil
	})
	one.Open(prog.URL + settingsPath)
	one.Says("main", "Muted sessions")
}

// tab opens another tab for the same person.
func (p *Page) tab() *Page {
	p.t.Helper()
	p.Open("about:blank")
	ctx, cancel := chromedp.NewContext(p.Ctx)
	other := &Page{Ctx: ctx, t: p.t, close: cancel}
	open.Lock()
	open.pages[p.t] = append([]*Page{other}, open.pages[p.t]...)
	open.Unlock()
	if err := chromedp.Listen(ctx, other.listen); err != nil {
		p.t.Fatal(err)
	}
	return other
}

// inject runs a script in every page before its own.
func (p *Page) inject(script string) {
	p.t.Helper()
	p.Do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument,
			cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return chromedp.Void{}, err
	})
}

func chatOf(t *testing.T, c *http.Client, prog *Program, session string) string {
	t.Helper()
	_, page := get(t, c, prog.URL+session)
	m := regexp.MustCompile(`action="` + session + `/c/([^/"]+)/message"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("%s has no composer", session)
	}
	return m[1]
}
