package pages_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/threads"
)

// papers keeps documents in memory.
type papers struct {
	mu  sync.Mutex
	all map[string][]byte
}

func (p *papers) Put(_ context.Context, bucket, key string, v []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string][]byte{}
	}
	p.all[bucket+"\x00"+key] = v
	return nil
}

func (p *papers) Delete(_ context.Context, bucket, key string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, bucket+"\x00"+key)
	return nil
}

func (p *papers) Each(_ context.Context, bucket string, visit func(string, []byte) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, v := range p.all {
		if b, key, _ := strings.Cut(k, "\x00"); b == bucket {
			if err := visit(key, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// reviewed returns a session whose directory has one new file, and the key of the file.
func (s *testSite) reviewed(text string) (base, dir, file string) {
	s.t.Helper()
	s.pages.Review.Docs = &papers{}
	dir = s.t.TempDir()
	base = s.post("/new", url.Values{"dir": {dir}, "agent": {script.Provider}})
	s.until(base+"/changes?scope=session", "No changes in this scope")
	if err := os.WriteFile(filepath.Join(dir, "n.txt"), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	page := s.until(base+"/changes?scope=session", `id="file-`)
	return base, dir, regexp.MustCompile(`id="file-([0-9a-f]+)"`).FindStringSubmatch(page)[1]
}

func (s *testSite) draft(base, file, at, text string) {
	s.t.Helper()
	s.post(base+"/changes/drafts", url.Values{"q": {"scope=session"}, "do": {"save"}, "file": {file}, "at": {at},
		"text": {text}})
}

// Plain forms finish a review: drafts become threads, the verdict is on every page, a suggestion is applied.
func TestFinishingAReviewWithoutJavaScript(t *testing.T) {
	s := open(t)
	base, dir, file := s.reviewed("one\ntwo\nthree\n")
	ben := access.Principal{ID: "guest:ben", Name: "Ben", Role: access.RoleCommenter, Session: s.session0(base)}
	seen := regexp.MustCompile(`name="seen" value="([0-9a-f]+)"`).FindStringSubmatch(s.get(base +
		"/changes?scope=session"))
	if seen == nil {
		t.Fatal("the page does not say which changes a verdict is about")
	}

	s.who = ben
	s.draft(base, file, "R2", "@Ana so:\n```suggestion\nTWO\n```")
	s.draft(base, file, "R3", "and this")
	if page := s.get(base + "/changes?scope=session"); !strings.Contains(page, "Publishes 2 pending comments.") {
		t.Error("the form does not say what happens to the drafts")
	}
	s.refuses(base+"/verdict", url.Values{"kind": {"approve"}, "seen": {"0123"}}, http.StatusConflict, "Look again")
	s.post(base+"/verdict", url.Values{"q": {"scope=session"}, "do": {"give"}, "kind": {"changes"}, "seen": {seen[1]}})
	page := s.get(base + "/threads")
	for _, want := range []string{"Ben requests changes", "See the 2 comments.", `<span class="called">@Ana</span>`,
		`<div class="suggest-add">`, "Apply to working tree", "1 of 2"} {
		if !strings.Contains(page, want) {
			t.Errorf("the threads page lacks %q", want)
		}
	}
	ref := regexp.MustCompile(`name="ref" value="([^"]+)"`).FindStringSubmatch(page)[1]
	s.refuses(base+"/suggestions", url.Values{"ref": {ref}, "do": {"apply"}}, http.StatusForbidden, "owner")
	s.refuses(base+"/suggestions", url.Values{"ref": {"x"}, "do": {"apply"}}, http.StatusBadRequest,
		"Suggestion not found")

	s.who = ana
	if inbox := s.get("/"); !strings.Contains(inbox, "Ben requests changes") ||
		!strings.Contains(inbox, "Ben mentioned you") {
		t.Error("the inbox does not say what Ben did")
	}
	if back := s.post(base+"/suggestions", url.Values{"ref": {ref}, "do": {"apply"}}); !strings.Contains(back,
		"/threads?state=all#thread-") {
		t.Errorf("afterwards the page is %s", back)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "n.txt")); err != nil || string(got) != "one\nTWO\nthree\n" {
		t.Errorf("the file reads %q: %v", got, err)
	}
	s.refuses(base+"/suggestions", url.Values{"ref": {ref}, "do": {"apply"}}, http.StatusConflict, "othing was changed")
	if inbox := s.get("/"); strings.Contains(inbox, "Ben mentioned you") {
		t.Error("what Ana has dealt with is announced still")
	}
	s.post(base+"/verdict", url.Values{"do": {"dismiss"}, "who": {"guest:ben"}})
	if page := s.get(base + "/threads?state=resolved"); !strings.Contains(page, "dismissed by Ana") ||
		!strings.Contains(page, "Applied the suggestion.") {
		t.Error("the threads page does not say what Ana did")
	}
	if md := s.get(base + "/threads.md"); !strings.Contains(md, "dismissed by Ana") ||
		!strings.Contains(md, "```suggestion") {
		t.Errorf("the review as Markdown is\n%s", md)
	}

	s.who = access.Principal{ID: "guest:vic", Name: "Vic", Role: access.RoleViewer, Session: ben.Session}
	s.refuses(base+"/verdict", url.Values{"kind": {"approve"}}, http.StatusForbidden, "submit a review")
}

func (s *testSite) session0(base string) string {
	uri, _ := s.host.SessionByShort(strings.TrimPrefix(base, "/s/"))
	return uri
}

// refuses submits a form that must be refused with a reason.
func (s *testSite) refuses(path string, form url.Values, status int, says string) {
	s.t.Helper()
	res, err := s.web.PostForm(s.url+path, form)
	if body := s.body(path, res, err, status); !strings.Contains(body, says) {
		s.t.Errorf("%s: the refusal does not say %q:\n%.600s", path, says, body)
	}
}

// Open pages of the session and the inbox show a verdict and its end without a reload.
func TestVerdictsAreLive(t *testing.T) {
	s := open(t)
	base, _, _ := s.reviewed("one\n")
	tab, inbox := s.tab(base+"/threads"), s.tab("/")
	ben := core.Caller{Principal: access.Principal{ID: "guest:ben", Name: "Ben", Role: access.RoleCommenter,
		Session: s.session0(base)}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.host.Threads.GiveVerdict(t.Context(), ben, s.session0(base), threads.GivenVerdict{Kind: "approve",
		Summary: "fine"}))
	tab.wait("verdicts", "Ben approved")
	tab.wait("verdict-list", "fine")
	inbox.wait("inbox", "Ben approved")
	must(s.host.Threads.DismissVerdict(t.Context(), ben, s.session0(base), ""))
	tab.wait("verdict-list", "dismissed")
	inbox.wait("inbox", "now")
	if strings.Contains(tab.text("verdicts"), "Ben") {
		t.Error("a verdict that was taken back stands in the head")
	}
}
