package e2e

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/ahphub/ahphub/handlers/pages"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine/localtest"
	"github.com/ahphub/ahphub/static"
	"github.com/ahphub/ahphub/web"
)

// gathering holds the pages of several people with different roles, each with a cookie.
type gathering struct {
	t       *testing.T
	browser *Browser
	url     string
	session ahp.URI
	base    string // of the session's terminals
}

func gather(t *testing.T) *gathering {
	t.Helper()
	for _, kv := range household(t) {
		key, value, _ := strings.Cut(kv, "=")
		t.Setenv(key, value)
	}
	var h *host.Host
	timeline := hub.New(hub.Config{Derive: func(tx *hub.Tx, e *hub.Envelope) { h.Derive(tx, e) }})
	data := t.TempDir()
	h, err := host.New(host.Config{Hub: timeline, Machine: localtest.New(t, data),
		Agents: map[string]agent.Backend{script.Provider: script.Backend{}}, DataDir: data, DefaultDir: t.TempDir(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := h.Start(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = h.Run(ctx) }()
	assets, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	all := pages.New(pages.Deps{Host: h, Automations: h.Automations, Customs: h.Customs, Reviews: h.Threads,
		Changes: h.Changes, Worktrees: h.Worktrees, Sandboxes: h.Sandboxes, Terminals: h.Terminals, Files: h.Files,
		Hub: timeline, Assets: assets})
	session := "ahp-session:/" + uuid.NewString()
	owner := access.Owner("root")
	if err := h.CreateSession(ctx, core.Caller{Principal: owner}, ahp.CreateSessionParams{Channel: session,
		Provider: script.Provider}); err != nil {
		t.Fatal(err)
	}
	people := map[string]access.Principal{
		"root": owner,
		"ana":  {ID: "guest-ana", Name: "Ana", Role: access.RoleDriver, Type: true, Session: session, Link: "l1"},
		"ben":  {ID: "guest-ben", Name: "Ben", Role: access.RoleViewer, Session: session, Link: "l2"},
	}
	r := chi.NewRouter()
	r.Get("/assets/*", assets.ServeHTTP)
	r.Group(func(r chi.Router) {
		r.Use(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c, err := r.Cookie("who"); err == nil {
					r = r.WithContext(access.WithPrincipal(r.Context(), people[c.Value]))
				}
				next.ServeHTTP(w, r)
			})
		})
		web.PageRoutes{Pages: all}.Routes(r)
	})
	srv := httptest.NewServer(r)
	x := &gathering{t: t, browser: OpenBrowser(t), url: srv.URL, session: session}
	t.Cleanup(func() {
		closePages(t)
		all.Close()
		srv.CloseClientConnections()
		srv.Close()
		cancel()
		<-done
	})
	return x
}

// opened opens a shell as the owner and returns the page.
func (x *gathering) opened() *Page {
	x.t.Helper()
	p := x.person("root")
	x.base = "/s/" + core.ShortID(x.session) + "/t"
	p.Open(x.url + x.base)
	p.Click(".termbar form button")
	opened(p)
	prompted(p, 0)
	return p
}

// person opens a tab for one of them.
func (x *gathering) person(name string) *Page {
	x.t.Helper()
	p := x.browser.Page()
	p.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, network.SetCookie, network.SetCookieParams{Name: "who", Value: name, URL: x.url})
		return chromedp.Void{}, err
	})
	return p
}

// One person controls the terminal, and their window its size; others read and request control,
// which is granted or refused.
func TestKeyboardGoesFromOneToAnother(t *testing.T) {
	x := gather(t)
	p, ana, ben := x.opened(), x.person("ana"), x.person("ben")
	for _, g := range []*Page{ana, ben} {
		g.Open(x.url + x.base)
		g.Wait(`document.querySelector('.termframe')?.contentDocument?.getElementById('term')?.xterm`)
		g.Live()
	}
	ana.look(800, 540, "light")
	size := Eval[string](p, termIn(0)+`.cols + 'x' + `+termIn(0)+`.rows`)
	run(p, 0, `for i in $(seq 60); do printf '%0150d' $i; echo; done`)
	for _, g := range []*Page{ana, ben} {
		g.Wait(shows(0) + `.includes('0060') && ` + shows(0) + `.endsWith('$')`)
		g.Wait(termIn(0) + `.cols + 'x' + ` + termIn(0) + `.rows === '` + size + `'`)
		g.Wait(inFrame(0, `(s => s.getBoundingClientRect().right <= window.innerWidth + 1 && s.getBoundingClientRect().bottom <= document.getElementById('state').getBoundingClientRect().top + 1)(document.querySelector('.xterm-screen'))`))
		g.Says(".holder", "is in control")
	}
	prompted(p, 0)
	if same := Eval[string](ana, shows(0)); same != Eval[string](p, shows(0)) {
		t.Errorf("a smaller window shows other text:\n%s", same)
	}
	run(ana, 0, "echo not$((1+1))")
	ana.Wait(inFrame(0, `document.querySelector('#who.nudge') !== null`))
	if Eval[bool](ben, `[...document.querySelectorAll('.holder button, .termbar form button')].some(b => b.checkVisibility())`) {
		t.Error("somebody who only reads is shown buttons for the keyboard")
	}
	ana.Pictures("reads", ".termpane")

	ana.Click(`.holder button[value=ask]`)
	ana.Wait(`document.querySelector('.asking').checkVisibility()`)
	p.Says(".asks-keyboard", "Ana requests control")
	p.Pictures("asked", ".termpane")
	p.Click(`.asks-keyboard button[value=deny]`)
	ana.Wait(`document.querySelector('.refused').checkVisibility()`)
	ana.Click(`.holder button[value=ask]`)
	p.Click(`.asks-keyboard button[value=grant]`)
	ana.Says(".termpane.is-mine", "You're in control")
	p.Says(".termpane.is-held", "Ana is in control")
	run(ana, 0, "echo by$((1+1))ana; stty size")
	p.Wait(shows(0) + `.includes('by2ana')`)
	if strings.Contains(Eval[string](p, shows(0)), "not2") {
		t.Error("keys of somebody without the keyboard reached the shell")
	}
	p.Wait(termIn(0) + `.cols === ` + strconv.Itoa(Eval[int](ana, termIn(0)+`.cols`)))
	p.Pictures("lost", ".termpane")
	ana.Open(x.url + x.base)
	ana.Says(".termpane.is-mine", "You're in control") // a reload

	p.Click(`.holder button[value=take]`)
	p.Says(".termpane.is-mine", "You're in control")
	ana.Click(`.holder button[value=ask]`)
	p.Says(".asks-keyboard", "Ana requests")
	p.leave()
	ana.Says(".termpane.is-mine", "You're in control")
	ana.leave()
	ben.Says(".termpane.is-free", "No one is in control")
}
