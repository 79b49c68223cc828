package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/ahphub/ahphub/hub/notify/webpush/webpushtest"
)

// startPushService starts a push service on this computer, allowed by the returned options.
func startPushService(t *testing.T) (*webpushtest.Service, Options) {
	t.Helper()
	s := &webpushtest.Service{}
	srv := httptest.NewServer(s)
	s.Origin = srv.URL
	t.Cleanup(func() {
		srv.Close()
		for _, err := range s.Problems() {
			t.Error("the push service says:", err)
		}
	})
	return s, Options{Args: []string{"--agent", "script", "--owner-name", "Ana", "--notify-allow", "127.0.0.0/8"}}
}

// pushKeyOf returns the key for subscriptions from the settings page.
func pushKeyOf(t *testing.T, c *http.Client, prog *Program) string {
	t.Helper()
	_, page := get(t, c, prog.URL+settingsPath)
	m := regexp.MustCompile(`id="push" data-key="([\w-]{87})"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the settings have no key for push messages")
	}
	return m[1]
}

func subscriptionForm(b *webpushtest.Browser) url.Values {
	key, secret := b.Keys()
	return url.Values{"endpoint": {b.Endpoint}, "p256dh": {key}, "auth": {secret}}
}

type pushedMessage struct{ ID, Kind, Session, Title, Text, Path string }

// pushedTo returns the messages sent to a browser.
func pushedTo(t *testing.T, s *webpushtest.Service, name string) (out []pushedMessage) {
	t.Helper()
	for _, m := range s.Messages() {
		var x pushedMessage
		if err := json.Unmarshal(m.Text, &x); err != nil {
			t.Errorf("a message is %q: %v", m.Text, err)
		}
		if m.Path == "/push/"+name {
			out = append(out, x)
		}
	}
	return out
}

// A subscription is posted as browsers do: its device gets messages without an open page, until it
// unsubscribes or signs out.
func TestPushReachesDevice(t *testing.T) {
	t.Parallel()
	service, options := startPushService(t)
	prog := Start(t, options)
	c, _ := signIn(t, prog.SignIn())
	service.Key = pushKeyOf(t, c, prog)

	inside := subscriptionForm(webpushtest.NewBrowser("https://169.254.169.254/"))
	if res, err := c.PostForm(prog.URL+settingsPath+"/push", inside); err != nil || res.StatusCode != http.StatusBadRequest {
		t.Errorf("an address of this network is subscribed: %v, %v", res, err)
	}
	sendForm(t, c, prog.URL+settingsPath+"/push", subscriptionForm(service.Subscribe("laptop")))
	session := sessionThat(t, c, prog, "run echo hello")
	waitUntil(t, "the approval is pushed", func() error {
		got := pushedTo(t, service, "laptop")
		if len(got) != 1 || !strings.HasPrefix(got[0].Title, "Approval needed · ") ||
			!strings.HasPrefix(got[0].Path, session+"/c/") || !strings.Contains(got[0].Path, "#tool-") {
			return fmt.Errorf("pushed are %+v", got)
		}
		return nil
	})

	losesDeviceWhenRemoved(t, c, prog, service)

	other, _ := signIn(t, prog.SignIn())
	sendForm(t, other, prog.URL+settingsPath+"/push", subscriptionForm(service.Subscribe("phone")))
	_, page := get(t, other, prog.URL+settingsPath)
	if n := strings.Count(page, "/settings/notifications/push/"); n != 4 || strings.Contains(page, service.Origin) {
		t.Errorf("the settings have %d buttons for two devices, or show an address", n)
	}
	sendForm(t, other, prog.URL+"/signout", url.Values{})
	service.Answer(webpushtest.Answer{Status: http.StatusGone})
	sessionThat(t, c, prog, "run echo gone")
	waitUntil(t, "both devices are removed", func() error {
		if _, page := get(t, c, prog.URL+settingsPath); strings.Contains(page, "/settings/notifications/push/") {
			return fmt.Errorf("a device is left")
		}
		return nil
	})
	if got := pushedTo(t, service, "phone"); len(got) != 0 {
		t.Errorf("a browser that was signed out is sent %+v", got)
	}
}

// losesDeviceWhenRemoved invites a member, who gets messages until the account is removed.
func losesDeviceWhenRemoved(t *testing.T, c *http.Client, prog *Program, service *webpushtest.Service) {
	t.Helper()
	page, _ := sendForm(t, c, prog.URL+"/people/invite", url.Values{"role": {"commenter"}, "for": {"Ben"}})
	_, token, _ := strings.Cut(page, "/invite#")
	token, _, _ = strings.Cut(token, `"`)
	ben, _ := signIn(t, prog.URL+"/signin#nothing") // creates a cookie jar
	sendForm(t, ben, prog.URL+"/invite", url.Values{"token": {token}, "name": {"Ben"}, "password": {memberWords}})
	sendForm(t, ben, prog.URL+settingsPath+"/push", subscriptionForm(service.Subscribe("bens")))
	session := sessionThat(t, c, prog, "fail first")
	get(t, ben, prog.URL+session) // only visitors are notified
	fail := func(what string) {
		sendForm(t, c, prog.URL+session+"/c/"+chatOf(t, c, prog, session)+"/message", url.Values{"text": {what}})
	}
	told := func(name, text string) func() error {
		return func() error {
			got := pushedTo(t, service, name)
			if !slices.ContainsFunc(got, func(x pushedMessage) bool { return x.Text == text }) {
				return fmt.Errorf("pushed to %s are %+v", name, got)
			}
			return nil
		}
	}
	waitUntil(t, "the owner is told", told("laptop", "first"))
	fail("fail again")
	waitUntil(t, "the member is told", told("bens", "again"))
	_, people := get(t, c, prog.URL+"/people")
	remove := regexp.MustCompile(`action="(/people/members/[^"]+/remove)"`).FindStringSubmatch(people)
	if remove == nil {
		t.Fatalf("the member cannot be removed:\n%s", people)
	}
	sendForm(t, c, prog.URL+remove[1], nil)
	fail("fail once more")
	waitUntil(t, "the owner is told", told("laptop", "once more"))
	if told("bens", "once more")() == nil {
		t.Error("a member who was removed is told")
	}
}

// pushWorker is a page's running service worker.
type pushWorker struct {
	registration serviceworker.RegistrationID
	target       target.ID
}

// findPushWorker waits for the worker that shows push messages.
func (p *Page) findPushWorker() pushWorker {
	p.t.Helper()
	found := make(chan pushWorker, 16)
	err := chromedp.Listen(p.Ctx, func(ev any) {
		e, ok := ev.(*serviceworker.EventWorkerVersionUpdated)
		if !ok {
			return
		}
		for _, v := range e.Versions {
			if v.Status == serviceworker.VersionStatusActivated && v.TargetID != "" {
				select {
				case found <- pushWorker{v.RegistrationID, v.TargetID}:
				default:
				}
			}
		}
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.Do(func(ctx context.Context, page *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, page, serviceworker.Enable, cdp.Empty{})
		return chromedp.Void{}, err
	})
	ctx, cancel := context.WithTimeout(p.Ctx, patience)
	defer cancel()
	select {
	case w := <-found:
		return w
	case <-ctx.Done():
		p.t.Fatal("no service worker runs")
		return pushWorker{}
	}
}

// fakeSubscription replaces the push service of the browser's vendor, which is unreachable here.
const fakeSubscription = `
PushManager.prototype.getSubscription = async () => null;
PushManager.prototype.subscribe = async function (options) {
  window.subscribed = options;
  return { toJSON: () => (%s), unsubscribe: async () => true };
};
`

// A person enables push notifications by a button. The worker shows pushed messages except for the
// visible session, and a click opens the message's page without losing text typed elsewhere.
func TestBrowserShowsPushMessages(t *testing.T) {
	t.Parallel()
	service, options := startPushService(t)
	prog := Start(t, options)
	b := OpenBrowser(t)
	p := b.Page()
	p.SignIn(prog)
	p.Do(func(ctx context.Context, page *chromedp.Target) (chromedp.Void, error) {
		c := chromedp.FromContext(ctx)
		_, err := cdp.Call(ctx, c.Browser, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: "notifications"}, Setting: browser.PermissionSettingGranted,
			BrowserContextID: c.BrowserContextID})
		return chromedp.Void{}, err
	})
	device := service.Subscribe("laptop")
	key, secret := device.Keys()
	p.inject(fmt.Sprintf(fakeSubscription, fmt.Sprintf(`{endpoint: %q, keys: {p256dh: %q, auth: %q}}`, device.Endpoint,
		key, secret)))
	p.saysWhyNoPush(prog)
	p.Open(prog.URL + settingsPath)
	p.Says("#push-state", "Off on this device.")
	p.Click("#push-on")
	p.Says("#push .card", "this device")
	p.Says("#notify-state", "This browser gets push notifications")
	worker := p.findPushWorker()
	p.Pictures("push", "#push")

	inside, cancel := chromedp.NewContext(p.Ctx, chromedp.WithTargetID(worker.target))
	defer cancel()
	if err := chromedp.Do(inside); err != nil { // ending the first call would end everything
		t.Fatal(err)
	}
	w := &Page{Ctx: inside, t: t}
	Eval[bool](w, recordShown)
	p.Submit("#push .card .btn")
	var raw []byte
	waitUntil(t, "the test is pushed", func() error {
		got := service.Messages()
		if len(got) == 0 {
			return fmt.Errorf("nothing is pushed")
		}
		raw = got[len(got)-1].Text
		return nil
	})
	p.deliver(prog, worker, string(raw))
	w.waitShown("Test notification")

	c, _ := signIn(t, prog.SignIn())
	session := sessionThat(t, c, prog, "run echo hello")
	var m pushedMessage
	waitUntil(t, "the approval is pushed", func() error {
		got := pushedTo(t, service, "laptop")
		if m = got[len(got)-1]; m.Kind != "approval" {
			return fmt.Errorf("pushed are %+v", got)
		}
		raw = service.Messages()[len(got)-1].Text
		return nil
	})
	p.deliver(prog, worker, string(raw))
	w.waitShown("Approval needed · ")
	p.deliver(prog, worker, "no JSON")
	w.waitShown("ahphub")

	if to := w.clickNotification("Approval needed"); to != prog.URL+m.Path || !strings.HasPrefix(m.Path, session) {
		t.Errorf("a click opens %q, want %q", to, m.Path)
	}
	p.deliver(prog, worker, `{"title": "Elsewhere", "path": "https://example.com/"}`)
	w.waitShown("Elsewhere")
	if to := w.clickNotification("Elsewhere"); to != prog.URL+"/" {
		t.Errorf("a click leaves this server for %q", to)
	}
	p.leavesOutViewed(prog, worker, w, session)
	w.renews(service)
	if Eval[bool](w, `'onfetch' in self && self.onfetch !== null`) {
		t.Error("the worker answers requests of pages")
	}

	p.Open(prog.URL + settingsPath)
	p.Submit("#push .card .btn")
	waitUntil(t, "the renewed subscription is pushed to", func() error {
		if got := pushedTo(t, service, "renewed"); len(got) != 1 || got[0].Title != "Test notification" {
			return fmt.Errorf("pushed are %+v", got)
		}
		return nil
	})
	p.Click("#push .card .btn.bad")
	p.Wait(`!document.querySelector('#push .card')`)
	p.Says("#push-state", "Off on this device.")
}

// clickNotification has a worker handle a click on a notification, which closes it, and returns the
// address that it opens. A real click is impossible here, so the worker's way to open pages is
// replaced.
func (p *Page) clickNotification(title string) string {
	p.t.Helper()
	return awaited[string](p, fmt.Sprintf(`(async () => {
		const {data} = self.shown.findLast(n => n.title.startsWith(%q));
		const opened = new Promise(done => { self.clients.openWindow = async (to) => done(to); });
		let closed = false;
		const e = new ExtendableEvent('notificationclick');
		e.notification = {data, close() { closed = true; }};
		self.dispatchEvent(e);
		const to = await opened;
		return closed ? to : 'it is still shown';
	})()`, title))
}

// leavesOutViewed views a session: messages about it are not shown, and a click on one goes to the
// open page.
func (p *Page) leavesOutViewed(prog *Program, worker pushWorker, w *Page, session string) {
	p.t.Helper()
	p.Open(prog.URL + session)
	p.Wait(`document.querySelector('.approval')`)
	p.Do(func(ctx context.Context, page *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, page, cdppage.BringToFront, cdp.Empty{})
		return chromedp.Void{}, err
	})
	p.Wait(`document.hasFocus()`)
	short := strings.TrimPrefix(session, "/s/")
	p.deliver(prog, worker, fmt.Sprintf(`{"title": "Viewed", "session": %q, "kind": "failed", "path": "/"}`, short))
	p.deliver(prog, worker, `{"title": "Of another session", "session": "0123456789ab", "kind": "failed", "path": "/"}`)
	w.waitShown("Of another session")
	if shown := Eval[string](w, `self.shown.map(n => n.title).join()`); strings.Contains(shown, "Viewed") {
		p.t.Errorf("shown are %s while the session is in view", shown)
	}
}

// renews has the worker of a page replace its subscription, as browsers do occasionally.
func (p *Page) renews(service *webpushtest.Service) {
	p.t.Helper()
	device := service.Subscribe("renewed")
	key, secret := device.Keys()
	Eval[bool](p, fmt.Sprintf(`(() => {
		PushManager.prototype.subscribe = async () => ({toJSON: () => ({endpoint: %q, keys: {p256dh: %q, auth: %q}})});
		const e = new ExtendableEvent('pushsubscriptionchange');
		e.oldSubscription = {options: {userVisibleOnly: true}};
		const fetch = self.fetch;
		self.renewed = new Promise(done => { self.fetch = async (...args) => { const r = await fetch(...args); done(r.status); return r; }; });
		self.dispatchEvent(e);
		return true;
	})()`, device.Endpoint, key, secret))
	if status := awaited[int](p, `self.renewed`); status != http.StatusNoContent {
		p.t.Errorf("the new subscription is answered with %d", status)
	}
}

// saysWhyNoPush opens the settings in browsers that lack something.
func (p *Page) saysWhyNoPush(prog *Program) {
	p.t.Helper()
	for lack, want := range map[string]string{
		"delete window.PushManager": "doesn't support push notifications",
		"Object.defineProperty(Notification, 'permission', {get: () => 'denied'})":                     "are blocked",
		"Object.defineProperty(window, 'isSecureContext', {get: () => false})":                         "only at https addresses",
		"PushManager.prototype.subscribe = async () => { throw new DOMException('x', 'AbortError'); }": "can't reach its push service",
	} {
		one := p.tab()
		one.inject(lack)
		one.Open(prog.URL + settingsPath)
		if strings.Contains(lack, "AbortError") {
			one.Click("#push-on")
		} else if Eval[bool](one, `document.querySelector('#push-on').checkVisibility()`) {
			p.t.Errorf("the button is shown after %s", lack)
		}
		one.Says("#push-state", want)
		one.leave()
	}
}

// deliver has the browser pass a message to the worker, as if from the push service.
func (p *Page) deliver(prog *Program, to pushWorker, message string) {
	p.t.Helper()
	p.Do(func(ctx context.Context, page *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, page, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{
			Origin: prog.URL, RegistrationID: to.registration, Data: message})
		return chromedp.Void{}, err
	})
}

// recordShown has a worker record its notifications, because a headless browser neither shows nor
// keeps them.
const recordShown = `(() => {
	self.shown = [];
	const show = ServiceWorkerRegistration.prototype.showNotification;
	ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
		await show.call(this, title, options);
		self.shown.push({title, ...options});
	};
	return true;
})()`

// waitShown waits until a worker showed a notification whose title has this prefix.
func (p *Page) waitShown(title string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf(`self.shown.some(n => n.title.startsWith(%q) && n.icon.endsWith('/img/icon-192.png'))`, title))
}
