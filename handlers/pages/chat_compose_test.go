package pages_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/agent/script"
)

var onePixel = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89")

// sendFiles posts a message without JavaScript, and returns the answer's status and text.
func (s *testSite) sendFiles(chat, text string, files map[string][]byte) (int, string) {
	s.t.Helper()
	return s.postFiles(chat+"/message", url.Values{"text": {text}}, files)
}

func (s *testSite) postFiles(path string, fields url.Values, files map[string][]byte) (int, string) {
	s.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name := range fields {
		_ = w.WriteField(name, fields.Get(name))
	}
	for name, data := range files {
		f, err := w.CreateFormFile("attach", name)
		if err != nil {
			s.t.Fatal(err)
		}
		_, _ = f.Write(data)
	}
	_ = w.Close()
	res, err := s.web.Post(s.url+path, w.FormDataContentType(), &body)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var out bytes.Buffer
	_, _ = out.ReadFrom(res.Body)
	return res.StatusCode, out.String()
}

// The first message of a new session accepts files, like any other; refused files create no session.
func TestNewSessionTakesFiles(t *testing.T) {
	s := open(t)
	dir := t.TempDir()
	form := url.Values{"dir": {dir}, "agent": {script.Provider}, "message": {"say seen"}}
	if status, page := s.postFiles("/new", form,
		map[string][]byte{"program.bin": {0xff, 0x00, 0xfe}}); status != http.StatusBadRequest ||
		!strings.Contains(page, "neither an image nor text") || !strings.Contains(page, "choose the files again") ||
		!strings.Contains(page, "say seen") {
		t.Errorf("%d\n%.600s", status, page)
	}
	session := regexp.MustCompile(`href="(/s/[0-9a-f]+)"`)
	if m := session.FindString(s.get("/")); m != "" {
		t.Errorf("a session was created: %s", m)
	}
	status, _ := s.postFiles("/new", form, map[string][]byte{"dot.png": onePixel})
	m := session.FindStringSubmatch(s.get("/"))
	if status != http.StatusSeeOther || m == nil {
		t.Fatalf("%d, and the inbox has %v", status, m)
	}
	if page := s.until(m[1], "seen</p>"); !strings.Contains(page, `alt="dot.png"`) {
		t.Errorf("the picture is not in the transcript:\n%s", page)
	}
}

// Files can be sent without a script; pictures are served with their media type, and nothing as a page.
func TestFilesGoAlongWithAMessage(t *testing.T) {
	s := open(t)
	_, chat := s.session()
	for _, c := range []struct {
		name, says string
		data       []byte
		status     int
	}{
		{"program.bin", "neither an image nor text", []byte{0xff, 0x00, 0xfe}, 400},
		{"large.txt", "at most 10 files", bytes.Repeat([]byte("x"), 700*1024+1), 413},
	} {
		if status, page := s.sendFiles(chat, "look", map[string][]byte{c.name: c.data}); status != c.status ||
			!strings.Contains(page, c.says) {
			t.Errorf("%s: %d\n%.600s", c.name, status, page)
		}
	}
	if status, page := s.sendFiles(chat, "say seen",
		map[string][]byte{"../../dot.png": onePixel}); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, page)
	}
	page := s.until(chat, "seen</p>")
	at := regexp.MustCompile(`<img class="thumb"[^>]* src="([^"]+)" alt="dot.png"`).FindStringSubmatch(page)
	if at == nil {
		t.Fatalf("the picture is not in the transcript:\n%s", page)
	}
	res, err := s.web.Get(s.url + at[1])
	if got := s.body(at[1], res, err, http.StatusOK); got != string(onePixel) ||
		res.Header.Get("Content-Type") != "image/png" || !strings.Contains(res.Header.Get("Content-Security-Policy"),
		"sandbox") {
		t.Errorf("%q as %v", got, res.Header)
	}
	if status, _ := s.sendFiles(chat, "say page",
		map[string][]byte{"page.html": []byte("<script>alert(1)</script>")}); status != http.StatusSeeOther {
		t.Fatal(status)
	}
	at = regexp.MustCompile(`href="([^"]+/attachments/[^"]+)"[^>]*><svg[^\n]*page.html`).FindStringSubmatch(
		strings.Join(strings.Fields(s.until(chat, "page</p>")), " "))
	if at == nil {
		t.Fatal("the text is not in the transcript")
	}
	res, err = s.web.Get(s.url + at[1])
	if s.body(at[1], res, err, http.StatusOK); !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") ||
		res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("HTML is served as %v", res.Header)
	}
}

// Without a script, the changes of a call are a page; a script gets a fragment.
func TestChangesOfACall(t *testing.T) {
	s := open(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := s.post("/new", url.Values{"dir": {dir}, "agent": {"script"}, "message": {"edit a.txt three <b>"}})
	card := s.until(base, `data-edits="`)
	at := strings.ReplaceAll(regexp.MustCompile(`data-edits="([^"]+)"`).FindStringSubmatch(card)[1], "&amp;", "&")
	page := s.get(at)
	if !strings.Contains(page, "<!doctype html>") && !strings.Contains(page, "<!DOCTYPE html>") ||
		!strings.Contains(page, "three &lt;b&gt;") || !strings.Contains(page, "Back to chat") {
		t.Errorf("the page of a change:\n%s", page)
	}
	res, err := s.web.Get(s.url + strings.Replace(at, "/edits/", "/edits/x", 1))
	s.body(at, res, err, http.StatusNotFound)
}

// An edit takes the place of its message, and of nothing that its author did not see.
func TestResend(t *testing.T) {
	s := open(t)
	_, chat := s.session()
	for _, word := range []string{"say one", "say two", "say three"} {
		s.say(chat, word)
		s.until(chat, strings.TrimPrefix(word, "say ")+"</p>")
		s.until(chat, `value="send"`)
	}
	md := s.get(chat + "?as=md")
	for _, want := range []string{"> say one", "\none\n", "> say three"} {
		if !strings.Contains(md, want) {
			t.Errorf("the saved chat lacks %q:\n%s", want, md)
		}
	}
	turns := regexp.MustCompile(`\?edit=([^#"]+)#compose`).FindAllStringSubmatch(s.get(chat), -1)
	second := turns[1][1]
	if page := s.get(chat + "?edit=" + second); !strings.Contains(page, "Remove the turn after it") ||
		!strings.Contains(page, ">say two</textarea>") {
		t.Errorf("the composer does not hold the message:\n%s", page)
	}
	res, err := s.web.PostForm(s.url+chat+"/message", url.Values{"text": {"say 2"}, "edit": {second}, "later": {"0"}})
	if page := s.body(chat, res, err, http.StatusConflict); !strings.Contains(page, "has continued since") {
		t.Errorf("turns nobody saw go:\n%s", page)
	}
	s.post(chat+"/message", url.Values{"text": {"say 2"}, "edit": {second}, "later": {"1"}})
	page := s.until(chat, "<p>2</p>")
	if !strings.Contains(page, "<p>one</p>") || strings.Contains(page, "<p>two</p>") ||
		strings.Contains(page, "<p>three</p>") {
		t.Errorf("the chat after an edit:\n%s", page)
	}
	if to := s.post(chat+"/fork", url.Values{"turn": {turns[0][1]}}); strings.Contains(s.get(to), "<p>2</p>") ||
		!strings.Contains(s.get(to), "<p>one</p>") {
		t.Errorf("the fork at %s is not the beginning of its source", to)
	}
}
