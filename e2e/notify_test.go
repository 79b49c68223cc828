package e2e

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// receiver accepts webhooks, and checks them as docs/notifications.md describes.
type receiver struct {
	*httptest.Server
	t      *testing.T
	secret string

	mu    sync.Mutex
	got   []hooked
	fails int           // number of webhooks to refuse first
	hold  chan struct{} // while open, requests are not answered
}

type hooked struct {
	ID, Event, Title, Text, URL string
	Session                     struct{ ID, Title string }
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Server.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	if want := r.sign(req.Header, body); req.Header.Get("Webhook-Signature") != want {
		r.t.Errorf("a webhook is signed %q, want %q", req.Header.Get("Webhook-Signature"), want)
	}
	var h hooked
	if err := json.Unmarshal(body, &h); err != nil || h.ID != req.Header.Get("Webhook-Id") {
		r.t.Errorf("posted is %s: %v", body, err)
	}
	r.got = append(r.got, h)
	refuse, hold := r.fails > 0, r.hold
	r.fails--
	r.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-req.Context().Done():
		}
	}
	if refuse {
		http.Error(w, "not now", http.StatusServiceUnavailable)
	}
}

func (r *receiver) sign(h http.Header, body []byte) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.secret, "whsec_"))
	if err != nil {
		r.t.Error(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", h.Get("Webhook-Id"), h.Get("Webhook-Timestamp"), body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// of returns the webhooks of an event so far.
func (r *receiver) of(event string) (out []hooked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.got {
		if h.Event == event {
			out = append(out, h)
		}
	}
	return out
}

func (r *receiver) set(change func(*receiver)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

// mailServer is a process that accepts mail, and its directory.
type mailServer struct{ dir, at string }

func newMailServer(t *testing.T) mailServer {
	dir := t.TempDir()
	line, _ := runServer(t, "listening", "./smtp", []string{"SMTP_PASSWORD=s3cret-of-the-hub"}, dir)
	return mailServer{dir, strings.TrimPrefix(line, "listening ")}
}

func (m mailServer) options(more ...string) Options {
	return Options{
		Args: append([]string{"--agent", "script", "--owner-name", "Ana", "--smtp", m.at, "--smtp-user", "hub",
			"--smtp-from", "Hub <hub@example.com>", "--notify-allow", "127.0.0.0/8"}, more...),
		Env: []string{"AHPHUB_SMTP_PASSWORD=s3cret-of-the-hub", "SSL_CERT_FILE=" + filepath.Join(m.dir, "cert.pem")},
	}
}

// mails returns the accepted mails, oldest first.
func (m mailServer) mails(t *testing.T) (out []string) {
	files, err := filepath.Glob(filepath.Join(m.dir, "*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.ReplaceAll(strings.ReplaceAll(string(b), "\r\n", "\n"), "=\n", ""))
	}
	return out
}

// wait returns the first n mails.
func (m mailServer) wait(t *testing.T, n int) (got []string) {
	t.Helper()
	waitUntil(t, fmt.Sprint(n, " mails"), func() error {
		if got = m.mails(t); len(got) < n {
			return fmt.Errorf("there are %d", len(got))
		}
		return nil
	})
	return got
}

// on enables a fault of the server, and off disables it.
func (m mailServer) on(t *testing.T, fault string) (off func()) {
	t.Helper()
	path := filepath.Join(m.dir, fault)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() { _ = os.Remove(path) }
}

const settingsPath = "/settings/notifications"

// hookTo creates a webhook by the form.
func hookTo(t *testing.T, c *http.Client, prog *Program, r *receiver, everything string) {
	t.Helper()
	page, _ := sendForm(t, c, prog.URL+settingsPath+"/hooks", url.Values{"url": {r.URL + "/in"},
		"everything": {everything}})
	m := regexp.MustCompile(`value="(whsec_[^"]+)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no secret is shown:\n%s", page)
	}
	r.set(func(r *receiver) { r.secret = strings.ReplaceAll(m[1], "&#43;", "+") })
}

// mailTo enters an address, reads the code in the mail, and enters it.
func mailTo(t *testing.T, c *http.Client, prog *Program, m mailServer, address string) {
	t.Helper()
	have := len(m.mails(t))
	sendForm(t, c, prog.URL+settingsPath+"/mail", url.Values{"do": {"set"}, "address": {address}})
	got := m.wait(t, have+1)
	code := regexp.MustCompile(`Subject: Code (\d{6})`).FindStringSubmatch(got[have])
	if code == nil {
		t.Fatalf("there is no code in the mail:\n%s", got[have])
	}
	sendForm(t, c, prog.URL+settingsPath+"/mail/verify", url.Values{"code": {code[1]}})
}

// sessionThat creates a session with an immediate command, and returns its path.
func sessionThat(t *testing.T, c *http.Client, prog *Program, what string) string {
	t.Helper()
	_, res := sendForm(t, c, prog.URL+"/new", url.Values{"message": {what}, "dir": {prog.opts.Dir}})
	return strings.Join(strings.Split(res.Request.URL.Path, "/")[:3], "/")
}

// The owner is notified by webhook and mail of pending requests: signed, once each, by a server
// that is down at first, and no more after one click in the mail.
func TestWebhookAndEmailNotifications(t *testing.T) {
	t.Parallel()
	mail, hook := newMailServer(t), newReceiver(t)
	prog := Start(t, mail.options())
	c, _ := signIn(t, prog.SignIn())
	hookTo(t, c, prog, hook, "no")
	mailTo(t, c, prog, mail, "ana@example.com")
	hook.set(func(r *receiver) { r.fails = 1 })
	back := mail.on(t, "away")

	session := sessionThat(t, c, prog, "run echo --password=hunter22")
	waitUntil(t, "the webhook's second attempt", func() error {
		if got := hook.of("approval"); len(got) != 2 || got[0] != got[1] {
			return fmt.Errorf("there are %+v", got)
		}
		return nil
	})
	got := hook.of("approval")[0]
	if !strings.HasPrefix(got.URL, prog.URL+session+"/c/") || !strings.Contains(got.URL, "#tool-") ||
		got.Session.ID != strings.TrimPrefix(session, "/s/") || strings.Contains(fmt.Sprint(got), "hunter22") {
		t.Errorf("posted is %+v", got)
	}
	waitUntil(t, "the page says that the mail server is away", func() error {
		if _, page := get(t, c, prog.URL+settingsPath); !strings.Contains(page, "come again later") {
			return fmt.Errorf("it does not")
		}
		return nil
	})
	back()
	text := mail.wait(t, 2)[1]
	for _, want := range []string{"from hub@example.com\nto ana@example.com\n", "From: \"Hub\" <hub@example.com>",
		"=?UTF-8?q?Approval_needed", "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
		"Auto-Submitted: auto-generated", "text/plain", "text/html", session + "/c/"} {
		if !strings.Contains(text, want) {
			t.Errorf("the mail lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "hunter22") {
		t.Errorf("the mail says a secret:\n%s", text)
	}

	// One click, by a mail program without a cookie, only ends the mail.
	link := regexp.MustCompile(`List-Unsubscribe:\s+<([^>]+)>`).FindStringSubmatch(text)
	if link == nil {
		t.Fatalf("the mail has no link:\n%s", text)
	}
	res, err := http.Get(link[1])
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	sendForm(t, http.DefaultClient, link[1], url.Values{"List-Unsubscribe": {"One-Click"}})
	sessionThat(t, c, prog, "fail too bad")
	waitUntil(t, "the next webhook", func() error {
		if len(hook.of("failed")) != 1 {
			return fmt.Errorf("there are %d", len(hook.of("failed")))
		}
		return nil
	})
	_, page := get(t, c, prog.URL+settingsPath)
	if !strings.Contains(page, "Delivered: the receiver answered 200") || strings.Contains(page, hook.secret) ||
		strings.Contains(page, "/in\"") {
		t.Errorf("the page says of the webhook:\n%s", page)
	}
	if n := len(mail.mails(t)); n != 2 {
		t.Errorf("%d mails after unsubscribing", n)
	}
	_, audit := get(t, c, prog.URL+"/audit.jsonl")
	for _, want := range []string{"created a webhook: " + hook.URL + "/…", "changed email notifications",
		"unsubscribed from email: owner"} {
		if !strings.Contains(audit, want) {
			t.Errorf("the audit lacks %q", want)
		}
	}
}

// A member gets mail about what concerns them, at their address, until they are removed.
func TestMailMember(t *testing.T) {
	t.Parallel()
	mail := newMailServer(t)
	prog := Start(t, mail.options())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	owner := dial(t, ctx, prog, prog.Token())
	session := newOverProtocol(t, ctx, owner)
	if err := owner.Subscribe(ctx, session+"/annotations"); err != nil {
		t.Fatal(err)
	}
	say := func(id, text string) {
		t.Helper()
		thread := ahp.Annotation{ID: id, Origin: ahp.AnnotationOrigin{Session: session}, Resource: "file:///a.go",
			Entries: []ahp.AnnotationEntry{{ID: id, Text: ahp.Plain(text)}}}
		if _, err := owner.Dispatch(ctx, session+"/annotations",
			&ahp.AnnotationsSetAction{Annotation: thread}); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := signIn(t, prog.SignIn())
	short := shortOf(t, c, prog, session)
	page, _ := sendForm(t, c, prog.URL+"/people/invite", url.Values{"role": {"commenter"}, "for": {"Ben"}})
	_, token, invited := strings.Cut(page, "/invite#")
	if token, _, _ = strings.Cut(token, `"`); !invited {
		t.Fatalf("no invitation was made:\n%s", page)
	}
	ben, _ := signIn(t, prog.URL+"/signin#nothing") // creates a cookie jar
	sendForm(t, ben, prog.URL+"/invite", url.Values{"token": {token}, "name": {"Ben"}, "password": {memberWords}})
	get(t, ben, prog.URL+"/s/"+short) // only visitors can be mentioned
	mailTo(t, c, prog, mail, "ana@example.com")
	mailTo(t, ben, prog, mail, "ben@example.com")

	say("one", "@Ben <b>look</b> here\nBcc: everybody@example.com")
	text := mail.wait(t, 3)[2]
	for _, want := range []string{"from hub@example.com\nto ben@example.com\n", "You_were_mentioned_by_Ana",
		"@Ben &lt;b&gt;look&lt;/b&gt; here", "/s/" + short + "/threads#thread-one"} {
		if !strings.Contains(text, want) {
			t.Errorf("the member's mail lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "everybody@example.com") {
		t.Errorf("the member's mail has more than a line of the comment:\n%s", text)
	}

	_, people := get(t, c, prog.URL+"/people")
	remove := regexp.MustCompile(`action="(/people/members/[^"]+/remove)"`).FindStringSubmatch(people)
	if remove == nil {
		t.Fatalf("the member cannot be removed:\n%s", people)
	}
	sendForm(t, c, prog.URL+remove[1], nil)
	say("two", "@Ben look again")
	sessionThat(t, c, prog, "fail too bad") // the owner gets this mail later than Ben would have got the other
	if got := mail.wait(t, 4); len(got) != 4 || !strings.Contains(got[3], "to ana@example.com\n") {
		t.Errorf("there are %d mails, the last one:\n%s", len(got), got[3])
	}
}

// A host killed during a delivery repeats it once with the same id, and nothing a third time.
func TestNotificationsAfterCrash(t *testing.T) {
	t.Parallel()
	mail, hook := newMailServer(t), newReceiver(t)
	prog := Start(t, mail.options())
	c, _ := signIn(t, prog.SignIn())
	hookTo(t, c, prog, hook, "yes")
	mailTo(t, c, prog, mail, "ana@example.com")
	release, off := make(chan struct{}), mail.on(t, "hold")
	hook.set(func(r *receiver) { r.hold = release })
	sessionThat(t, c, prog, "fail too bad")
	mail.wait(t, 2) // accepted, but not confirmed
	prog.Kill9()
	close(release)
	off()
	prog.Restart()
	got := mail.wait(t, 3)
	waitUntil(t, "the webhook again", func() error {
		if got := hook.of("failed"); len(got) != 2 || got[0].ID != got[1].ID {
			return fmt.Errorf("there are %+v", got)
		}
		return nil
	})
	id := regexp.MustCompile(`(?i)Message-ID: *(\S+)`)
	first, second := id.FindStringSubmatch(got[1]), id.FindStringSubmatch(got[2])
	if first == nil || second == nil || first[1] != second[1] {
		t.Errorf("the mail that came again has another id: %v, %v", first, second)
	}
	sessionThat(t, c, prog, "fail once more")
	got = mail.wait(t, 4)
	if len(got) != 4 || len(hook.of("failed")) != 3 {
		t.Errorf("%d mails and %d webhooks, want 4 and 3", len(got), len(hook.of("failed")))
	}
}
