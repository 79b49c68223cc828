package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e/hostile"
	"github.com/ahphub/ahphub/hub/ahp"
)

// hostileScenario has an agent say, think and do everything of the corpus, then wait for an
// approval.
func hostileScenario(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	quoted := func(s string) string { // a JSON string is also a TOML string
		raw, _ := json.Marshal(strings.ToValidUTF8(s, "?"))
		return strings.ReplaceAll(string(raw), "\x7f", `\u007f`)
	}
	step := func(verb, text string) { fmt.Fprintf(&b, "[[turn.step]]\n%s = %s\n", verb, quoted(text)) }
	act := func(a ahp.Action) {
		raw, err := ahp.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		step("action", string(raw))
	}
	b.WriteString("[[turn]]\nprompt = \"play\"\n")
	for _, p := range hostile.Payloads() {
		step("say", p)
	}
	for i, m := range append(hostile.Markups, hostile.Scripts...) {
		m = strings.ToValidUTF8(m, "?")
		step("think", m)
		step("notice", m)
		id := fmt.Sprintf("$call%d", i)
		act(&ahp.ChatToolCallStartAction{TurnID: "$turn", ToolCallID: id, ToolName: m, DisplayName: m, Intention: m})
		act(&ahp.ChatToolCallReadyAction{TurnID: "$turn", ToolCallID: id, InvocationMessage: ahp.Markdown(m),
			ToolInput: &ahp.ToolInput{Text: m}, Confirmed: ahp.ToolCallConfirmationReasonNotNeeded})
		act(&ahp.ChatToolCallCompleteAction{TurnID: "$turn", ToolCallID: id,
			Result: ahp.ToolCallResult{Success: i%2 == 0, PastTenseMessage: ahp.Markdown(m),
				Content: []ahp.ToolResultContent{{Value: &ahp.ToolResultTextContent{Text: m}}},
				Error:   &ahp.ToolCallError{Message: m}}})
	}
	step("run", "echo \u202e\u200b<script>alert(1)</script>\x1b]52;c;aGk=\x07")
	ask, _ := json.Marshal(ahp.ChatInputRequest{Message: hostile.Markups[13], URL: "https://evil.example/",
		Questions: []ahp.ChatInputQuestion{
			{Value: &ahp.ChatInputTextQuestion{ID: "q", Title: hostile.Markups[14], Message: hostile.Markups[0],
				DefaultValue: hostile.Markups[8]}}}})
	b.WriteString("[[turn]]\nprompt = \"ask\"\n")
	step("ask", string(ask))
	file := filepath.Join(t.TempDir(), "hostile.toml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// hostileRepository has names, contents, pictures, a branch and a message from the corpus.
func hostileRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=<img src=x onerror=alert(1)>", "-c",
			"user.email=a@example.com"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if os.MkdirAll(filepath.Dir(file), 0o755) != nil || os.WriteFile(file, []byte(text), 0o644) != nil {
			t.Logf("no file can be called %q", name)
		}
	}
	picture := `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)" width="9" height="9"><script>alert(1)</script><image href="https://evil.example/p.png"/></svg>`
	write("all.md", "before\n")
	write("picture.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>")
	git("init", "-q", "-b", "x<img/src=x/onerror=alert(1)>")
	git("add", "-A")
	git("commit", "-qm", "<script>alert(1)</script>")
	write("all.md", strings.Join(hostile.Payloads(), "\n"))
	write("picture.svg", picture)
	for i, m := range hostile.Markups {
		if i%3 == 0 && len(m) < 120 && !strings.ContainsAny(m, "\x00") && strings.ToValidUTF8(m, "") == m {
			write("n/"+fmt.Sprint(i)+m, m+"\n")
		}
	}
	write("\u202egpj.exe", "\u200bzero width\n")
	return dir
}

// watched is a page whose requests and dialogs are recorded.
type watched struct {
	*Page
	prog *Program

	mu    sync.Mutex
	asked map[network.RequestID]string // requests to other origins that the page's policy allowed
	news  chan struct{}                // signals a change
}

// heard applies a change and signals it.
func (w *watched) heard(change func()) {
	w.mu.Lock()
	change()
	w.mu.Unlock()
	select {
	case w.news <- struct{}{}:
	default: // a signal is pending
	}
}

func guard(t *testing.T, prog *Program, p *Page) *watched {
	t.Helper()
	w := &watched{Page: p, prog: prog, asked: map[network.RequestID]string{}, news: make(chan struct{}, 1)}
	err := chromedp.Listen(p.Ctx, func(ev any) {
		switch ev := ev.(type) {
		case *network.EventRequestWillBeSent:
			if u := ev.Request.URL; !strings.HasPrefix(u, prog.URL+"/") && !strings.HasPrefix(u, "data:") &&
				!strings.HasPrefix(u, "blob:"+prog.URL) && u != "about:blank" {
				w.heard(func() { w.asked[ev.RequestID] = u })
			}
		case *network.EventLoadingFailed:
			if ev.BlockedReason != "" {
				w.heard(func() { delete(w.asked, ev.RequestID) })
			}
		case *cdppage.EventJavascriptDialogOpening:
			p.note("a dialog: " + ev.Message)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		if _, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{}); err != nil {
			return chromedp.Void{}, err
		}
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument,
			cdppage.AddScriptToEvaluateOnNewDocumentParams{
				Source: `for (const f of ['alert', 'confirm', 'prompt', 'msgbox']) window[f] = (x) => console.error('a script ran: ' + f + ' ' + x);`})
		return chromedp.Void{}, err
	})
	return w
}

func (w *watched) elsewhere() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.asked))
}

// harmless checks the current page: no address runs a script, and nothing was loaded from
// elsewhere.
func (w *watched) harmless(name string) {
	w.t.Helper()
	w.Wait(`document.readyState === 'complete'`)
	for _, bad := range Eval[[]string](w.Page,
		`[...document.querySelectorAll('a[href], area[href], form, button[formaction], [src]')]
		.flatMap(e => [e.href, e.getAttribute('formaction') && e.formAction, e.tagName === 'FORM' && e.getAttribute('action') && new URL(e.getAttribute('action'), location).href, e.src])
		.filter(u => typeof u === 'string' && u && !/^(https?:|mailto:|about:invalid|about:blank|data:image)/i.test(u)).slice(0, 5)`) {
		w.t.Errorf("%s: an address runs something: %.120s", name, bad)
	}
	for _, bad := range Eval[[]string](w.Page,
		`[...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => /^on/i.test(a.name))).map(e => e.outerHTML.slice(0, 120)).slice(0, 5)`) {
		w.t.Errorf("%s: a handler: %s", name, bad)
	}
	for _, u := range w.elsewhere() {
		w.t.Errorf("%s: asked for %s", name, u)
	}
	for _, s := range w.Problems() {
		w.t.Errorf("%s: %s", name, s)
	}
}

// Everything that an agent, a repository, a terminal or a guest can write is passed through the
// program into a browser: no script runs, no other origin is requested, no policy is violated.
func TestHostileTextInABrowser(t *testing.T) {
	t.Parallel()
	all := hostile.Payloads()
	if len(all) < 300 {
		t.Fatalf("%d payloads, at least 300 were promised", len(all))
	}
	prog := Start(t, Options{Args: []string{"--agent", "script", "--scenario", hostileScenario(t)}})
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	c, _ := signIn(t, prog.SignIn())
	post := func(path string, form url.Values) string {
		t.Helper()
		res, err := c.PostForm(prog.URL+path, form)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("POST %s: %s", path, res.Status)
		}
		return res.Request.URL.Path
	}
	session := strings.Join(strings.Split(post("/new", url.Values{"dir": {hostileRepository(t)}, "agent": {"script"}}),
		"/")[:3], "/")
	page := guard(t, prog, OpenBrowser(t).Page())
	page.SignIn(prog)

	// Into an open page as patches, then by loading it.
	page.Open(prog.URL + session)
	page.Live()
	page.Fill("#message", "play")
	page.Click("#compose .btn.main")
	page.Wait(`document.querySelector('form.approval')`)
	page.harmless("a chat while it streams")
	if n := Eval[int](page.Page, `document.querySelectorAll('form.approval .hid, .approval .hid').length`); n < 2 {
		t.Errorf("an approval card flags %d of the characters nobody sees", n)
	}
	page.Shot("chat")
	fillHostile(t, ctx, prog, session, all)
	other := strings.Join(strings.Split(post("/new", url.Values{"dir": {t.TempDir()}, "agent": {"script"},
		"message": {"ask"}}), "/")[:3], "/")
	post(session+"/title", url.Values{"title": {hostile.Markups[19]}})
	for i, name := range []string{hostile.Markups[0], hostile.Markups[13], hostile.Markups[10], hostile.Scripts[0],
		"<img src=x onerror=alert(1)>"} {
		res, err := c.PostForm(prog.URL+session+"/share", url.Values{"role": {"viewer"}, "expires": {"24h"},
			"label": {hostile.Markups[i]}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		guest, _ := signIn(t, prog.URL+"/signin#nothing")
		if res, err = guest.PostForm(prog.URL+"/j",
			url.Values{"token": {linkOver(t, c, prog, strings.TrimPrefix(session, "/s/"), "viewer")},
				"name": {name}}); err == nil {
			res.Body.Close()
		}
		if i == 0 {
			guestWS := openLive(t, ctx, prog, guest, session)
			defer guestWS.CloseNow()
		}
	}
	paths := []string{"", "/changes", "/changes?scope=uncommitted", "/changes?scope=uncommitted&view=split",
		"/changes?scope=branch", "/threads?state=all", "/share", "/worktree", "/t"}
	for _, path := range paths {
		page.Open(prog.URL + session + path)
		page.Wait(`document.readyState === 'complete'`)
		if strings.Contains(path, "scope=uncommitted") {
			page.Wait(`document.querySelectorAll('.r').length > 600`)
			if n := Eval[int](page.Page, `document.querySelectorAll('.r .hid').length`); n < 50 {
				t.Errorf("a diff flags %d of the characters nobody sees", n)
			}
		}
		page.harmless(session + path)
		page.Shot("page" + strings.NewReplacer("/", "-", "?", "-", "=", "-", "&", "-").Replace(path))
		if strings.HasSuffix(path, "scope=uncommitted") {
			for _, f := range Eval[[]string](page.Page, `[...document.querySelectorAll('.file img')].map(i => i.src)`) {
				page.picture(f)
			}
		}
	}
	hostileTerminal(t, page, session)
	for _, path := range []string{"/", other, "/people", "/audit", "/account", "/settings", "/new",
		"/nowhere/<script>alert(1)</script>"} {
		page.Allow("404")
		page.Open(prog.URL + path)
		page.harmless(path)
	}

	// The chat shows both ends of a long turn; the rest is on separate pages.
	page.Open(prog.URL + session)
	page.Wait(`document.querySelector('.more a')`)
	picture := ""
	for next := page.moreText(); next != ""; next = page.moreText() {
		page.Open(next)
		page.harmless("more of a turn")
		if Eval[bool](page.Page, `!!document.querySelector('a[data-image][href="https://evil.example/p.png"]')`) {
			picture = next
		}
	}
	if picture == "" {
		t.Fatal("the pages with the rest of a turn do not have the picture")
	}

	// A picture from elsewhere is only loaded by a click.
	page.Open(picture)
	page.Allow(`evil\.example|ERR_|CORS`)
	Eval[bool](page.Page, `document.querySelector('a[data-image][href="https://evil.example/p.png"]').click(), true`)
	page.Wait(`document.querySelector('img.remote')`)
	page.until(func() bool { return len(page.elsewhere()) > 0 })
	if got := page.elsewhere(); len(got) != 1 || got[0] != "https://evil.example/p.png" {
		t.Errorf("a click on a picture asked for %v", got)
	}
	page.leave()
}

// moreText returns the address of more of a turn's text than the page shows, "" for none.
func (w *watched) moreText() string {
	return Eval[string](w.Page,
		`[...document.querySelectorAll('.more a')].find(a => a.textContent === 'Show more')?.href ?? ''`)
}

// until waits for an event that the browser reports.
func (w *watched) until(is func() bool) {
	late := time.After(patience)
	for !is() {
		select {
		case <-w.news:
		case <-late:
			return
		}
	}
}

// picture opens a picture's own address, where its content does not run either.
func (w *watched) picture(address string) {
	w.t.Helper()
	if !strings.HasPrefix(address, w.prog.URL) {
		w.t.Errorf("a picture of a diff is loaded from %s", address)
		return
	}
	w.Allow("sandbox|Content Security Policy|net::ERR_ABORTED")
	ctx, cancel := context.WithTimeout(w.Ctx, patience)
	defer cancel()
	_ = chromedp.Do(ctx, chromedp.Navigate(address)) // a download is not a navigation
	w.until(func() bool { return len(w.elsewhere()) == 0 })
	for _, u := range w.elsewhere() {
		w.t.Errorf("%s asked for %s", address, u)
	}
}

// fillHostile writes threads from the corpus as a protocol client.
func fillHostile(t *testing.T, ctx context.Context, prog *Program, session string, all []string) {
	t.Helper()
	owner := dial(t, ctx, prog, prog.Token())
	var list ahp.ListSessionsResult
	if err := owner.Call(ctx, "listSessions", ahp.ListSessionsParams{Channel: ahp.RootURI}, &list); err != nil ||
		len(list.Items) != 1 {
		t.Fatal(err, len(list.Items))
	}
	uri := list.Items[0].Resource
	if err := owner.Subscribe(ctx, uri); err != nil {
		t.Fatal(err)
	}
	if err := owner.Subscribe(ctx, uri+"/annotations"); err != nil {
		t.Fatal(err)
	}
	s, _ := owner.State(uri).(*ahp.SessionState)
	for begin := 0; begin < len(all); begin += 220 {
		a := ahp.Annotation{ID: uuid.NewString(), Origin: ahp.AnnotationOrigin{Session: uri},
			Resource: s.WorkingDirectories[0] + "/all.md",
			Range: &ahp.TextRange{Start: ahp.TextPosition{Line: int64(begin)},
				End: ahp.TextPosition{Line: int64(begin)}}}
		for i, p := range all[begin:min(begin+220, len(all))] {
			if i%3 == 0 {
				p = "```suggestion\n" + p + "\n```"
			}
			a.Entries = append(a.Entries, ahp.AnnotationEntry{ID: uuid.NewString(),
				Text: ahp.Markdown(strings.ToValidUTF8(p, "?"))})
		}
		if _, err := owner.Dispatch(ctx, uri+"/annotations", &ahp.AnnotationsSetAction{Annotation: a}); err != nil {
			t.Fatal(err)
		}
	}
	if err := owner.Wait(ctx, func() bool { return owner.Unanswered() == 0 }); err != nil {
		t.Fatal(err)
	}
}

// hostileTerminal has a terminal print the whole corpus.
func hostileTerminal(t *testing.T, page *watched, session string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "all")
	text := strings.Join(hostile.Payloads(), "\r\n")
	for _, s := range append(hostile.Scripts, hostile.Markups...) {
		text += "\x1b]0;" + s + "\x07\x1b]2;" + s + "\x1b\\\x1b]8;;" + s +
			"\x07link\x1b]8;;\x07\x1b]52;c;PHNjcmlwdD4=\x07\x1b]1337;File=inline=1:" + s + "\x07\x1b[21t\x1bP$q" + s +
			"\x1b\\\r\n"
	}
	if err := os.WriteFile(file, []byte(text+"\x1b[0m\x1bc\r\nthe end of it\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	page.Open(page.prog.URL + session + "/t")
	page.Click("form[action$='/t'] button")
	page.Wait(`/\/t\/[^/]+$/.test(location.pathname) && document.readyState === 'complete'`)
	prompted(page.Page, 0) // a shell that has not started yet discards input
	Eval[bool](page.Page, fmt.Sprintf(
		`fetch(location.pathname + '/input', {method: 'POST', body: new URLSearchParams({line: %q})}), true`, "cat "+
			file))
	page.Wait(`document.querySelector('iframe')?.contentDocument?.body.innerText.includes('the end of it')`)
	page.harmless("a terminal")
	page.Shot("terminal")
	page.Open(page.prog.URL + session + "/t")
	page.harmless("the list of terminals")
}
