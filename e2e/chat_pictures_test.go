package e2e

import (
	"strings"
	"testing"
)

// Pictures in an answer and in a tool's output are shown; content that is not a picture is named
// and never served.
func TestAgentPicturesAreShown(t *testing.T) {
	t.Parallel()
	p, _, ana, dir := withChatAgent(t)
	begin(p, ana, dir, "paint")
	ana.WaitText(".parts", "given: ")
	ana.Click(".tool .fold summary")
	const shown = "[...document.querySelectorAll('.parts .picture img')].filter(i => i.naturalWidth === 300 && i.checkVisibility()).length"
	Eval[any](ana, "document.querySelectorAll('.picture img').forEach(i => i.loading = 'eager')")
	ana.Wait(shown + " === 2")
	if got := Eval[int](ana, "document.querySelectorAll('.parts > div > .picture').length"); got != 1 {
		t.Errorf("the answer has %d pictures", got)
	}
	for _, says := range []string{"An image (image/svg+xml) is not shown: its content is not PNG, JPEG, GIF or WebP.",
		"An image (image/png) is not shown: its content is not PNG"} {
		ana.Says(".parts", says)
	}
	ana.Pictures("pictures", ".picture")
	const served = "Promise.all([...document.querySelectorAll('.picture')].map(a => fetch(a.href).then(r => " +
		"[r.status, r.headers.get('content-type'), r.headers.get('content-security-policy')].join(' ')))).then(l => l.join('\\n'))"
	const ok = "200 image/png default-src 'none'; sandbox"
	if got := awaited[string](ana, served); got != ok+"\n"+ok {
		t.Errorf("the pictures are served as\n%s", got)
	}
	ana.Allow("404")
	const hidden = "fetch(document.querySelector('.tool .picture').href.replace(/0$/, '1')).then(r => r.status)"
	if got := awaited[int](ana, hidden); got != 404 {
		t.Errorf("SVG that is called a PNG is answered by %d", got)
	}
	ana.Open(Eval[string](ana, "location.href"))
	Eval[any](ana, "document.querySelectorAll('.picture img').forEach(i => i.loading = 'eager')")
	ana.Wait("document.querySelector('.parts > div > .picture img').naturalWidth === 300")
}

// A guest sees an agent's pictures in the link's session, in an answer and in a tool's output.
// Guests of other sessions and unknown visitors cannot load them by address.
func TestGuestSeesPicturesOfSharedSessionAlone(t *testing.T) {
	t.Parallel()
	p, b, ana, dir := withChatAgent(t)
	begin(p, ana, dir, "paint")
	ana.WaitText(".parts", "given: ")
	ana.Wait("document.querySelectorAll('.picture').length === 2")
	session := Eval[string](ana, "location.pathname")
	pictures := Eval[string](ana, "JSON.stringify([...document.querySelectorAll('.picture')].map(a => a.href))")
	fetched := "Promise.all(" + pictures + ".map(a => fetch(a, {redirect: 'manual'}).then(r => r.headers.get('content-type') + ' ' + r.status)))" +
		".then(l => l.join(', '))"
	begin(p, ana, t.TempDir(), "hello")
	other := Eval[string](ana, "location.pathname")

	ben, cy, none := b.Page(), b.Page(), b.Page()
	join(ben, share(ana, p, session, "viewer"), "Ben")
	join(cy, share(ana, p, other, "viewer"), "Cy")
	if got := awaited[string](ben, fetched); got != "image/png 200, image/png 200" {
		t.Errorf("a guest of the session is answered %s", got)
	}
	ben.Open(p.URL + session)
	Eval[any](ben, "document.querySelectorAll('.picture img').forEach(i => i.loading = 'eager')")
	ben.Wait("document.querySelector('.parts > div > .picture img')?.naturalWidth === 300")
	for who, page := range map[string]*Page{"a guest of another session": cy, "a stranger": none} {
		page.Allow("40[134]")
		if page == none {
			page.Open(p.URL + "/signin")
		}
		if got := awaited[string](page, fetched); strings.Contains(got, "image/") || strings.Contains(got, " 200") {
			t.Errorf("%s is answered %s", who, got)
		}
	}
}
