package e2e

import (
	"flag"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/e2e/fixture"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

var formKills = flag.Int("form-kills", 2, "how often each form is killed right after its answer")

// A form's effect survives a crash: the program is killed when the answer arrives.
func TestFormsSurviveKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prog := Start(t, Options{Args: []string{"--agent", "script"}, Dir: dir})
	c, _ := signIn(t, prog.SignIn())
	session := sessionThat(t, c, prog, "run printf 'one\\ntwo\\n' > a.txt")
	base := prog.URL + session
	chat := base + "/c/" + chatOf(t, c, prog, session)
	approveByForm(t, c, chat)
	changes := waitForPage(t, c, base+"/changes", `data-path="a.txt"`)
	mark := regexp.MustCompile(`formaction="([^"]*/reviewed\?[^"]*)"`).FindStringSubmatch(changes)
	if mark == nil {
		t.Fatalf("the page has no file to review:\n%s", changes)
	}
	_, file, _ := strings.Cut(mark[1], "file=")
	// Other programs that open the database must not touch the log, which later writes need.
	for _, args := range [][]string{{"backup", "--data", prog.Data, filepath.Join(t.TempDir(), "copy.db")},
		{"doctor", "--deep", "--data", prog.Data}} {
		if out, err := prog.Command(args...); err != nil && args[0] == "backup" || args[0] == "doctor" &&
			!strings.Contains(out, "are whole") {
			t.Errorf("ahphub %s: %v\n%s", args[0], err, out)
		}
	}
	for round := range *formKills {
		word := func(what string) string { return fmt.Sprintf("%s-%d", what, round) }
		for _, f := range []struct {
			name, post string
			form       url.Values
			page, want string
		}{
			{"a title", base + "/title", url.Values{"title": {word("title")}}, base, word("title")},
			{"a message", chat + "/message", url.Values{"text": {"say " + word("message")}}, base, word("message")},
			{"a comment", base + "/changes/drafts", url.Values{"file": {file}, "at": {"R1"}, "text": {word("comment")},
				"do": {"comment"}}, base + "/threads?state=all", word("comment")},
			{"a review mark", prog.URL + html.UnescapeString(mark[1]),
				url.Values{"reviewed": {fmt.Sprint(round%2 == 0)}}, base + "/changes", reviewedNote(round%2 == 0)},
		} {
			res, err := noRedirect(c).PostForm(f.post, f.form)
			if err != nil {
				t.Fatal(err)
			}
			prog.Kill9()
			answer, _ := io.ReadAll(res.Body) // as much as arrived before the kill
			res.Body.Close()
			if res.StatusCode != http.StatusSeeOther {
				t.Fatalf("%s: %s\n%s", f.name, res.Status, answer)
			}
			prog.Restart()
			if _, page := get(t, c, f.page); !strings.Contains(page, f.want) {
				t.Errorf("%s was answered and is lost: %s does not show %q", f.name, f.page, f.want)
			}
		}
	}
}

// reviewedNote returns the page's count for the one file.
func reviewedNote(reviewed bool) string {
	if reviewed {
		return "1/1 reviewed"
	}
	return "0/1 reviewed"
}

// noRedirect returns a client that does not follow redirects.
func noRedirect(c *http.Client) *http.Client {
	stays := *c
	stays.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &stays
}

// waitForPage requests a page until it contains part.
func waitForPage(t *testing.T, c *http.Client, address, part string) (page string) {
	t.Helper()
	waitUntil(t, part, func() error {
		var status int
		if status, page = get(t, c, address); status != http.StatusOK || !strings.Contains(page, part) {
			return fmt.Errorf("%s: %d without %q", address, status, part)
		}
		return nil
	})
	return page
}

// approveByForm approves the pending call of a chat.
func approveByForm(t *testing.T, c *http.Client, chat string) {
	t.Helper()
	page := waitForPage(t, c, chat, `name="choice"`)
	form := url.Values{"choice": {"approve:"}}
	for _, name := range []string{"turn", "call"} {
		m := regexp.MustCompile(`name="` + name + `" value="([^"]+)"`).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("the card has no %s:\n%s", name, page)
		}
		form.Set(name, html.UnescapeString(m[1]))
	}
	sendForm(t, c, chat+"/tool", form)
}

// A full disk: accepted changes are saved, forms report that no more are accepted and keep their
// input, reads work, and a restart works. Once there is room, everything works again.
func TestFullDiskLosesNothingAndAnswersReads(t *testing.T) {
	disk := fixture.SmallDisk(t, 48<<20)
	prog := Start(t, Options{Args: []string{"--agent", "script"}, Data: filepath.Join(disk, "data")})
	c, _ := signIn(t, prog.SignIn())
	path := sessionThat(t, c, prog, "say hello")
	base := prog.URL + path
	chat := base + "/c/" + chatOf(t, c, prog, path)
	waitForPage(t, c, base, "hello")
	w := watch(t, prog, "reader")
	session := w.onlySession()
	w.mirror(session)
	note := filepath.Join(prog.opts.Dir, "note.txt")
	if err := os.WriteFile(note, []byte("a note"), 0o600); err != nil {
		t.Fatal(err)
	}
	free := fillDisk(t, disk)

	// The first message fills the remaining room, so it is written into the reserve.
	res, page := postForm(t, c, chat+"/message", url.Values{"text": {"say " + strings.Repeat("first words ", 10_000)}})
	if res.StatusCode != http.StatusSeeOther {
		t.Errorf("the first message on a full disk: %s\n%s", res.Status, page)
	}
	waitUntil(t, "read-only", func() error {
		if status, text := prog.Get("/readyz"); status != http.StatusServiceUnavailable ||
			!strings.Contains(text, "the disk is full") {
			return fmt.Errorf("/readyz: %d %s", status, text)
		}
		return nil
	})
	const typed = "second words <b>"
	if res, page = postForm(t, c, chat+"/message",
		url.Values{"text": {typed}}); res.StatusCode != http.StatusServiceUnavailable ||
		!strings.Contains(page, "The disk is full: free some space.") {
		t.Errorf("a message on a full disk: %s\n%s", res.Status, page)
	}
	if !strings.Contains(page, html.EscapeString(typed)+"</textarea>") || !strings.Contains(page, "Try again") {
		t.Errorf("what was typed is not kept:\n%s", page)
	}
	w.readsAreAnswered(session, note)
	if _, page := get(t, c, base); !strings.Contains(page, "first words") {
		t.Error("the session's page does not show what was accepted")
	}
	newcomer := watch(t, prog, "newcomer")
	newcomer.mirror(session)

	prog.Kill9()
	prog.Restart()
	if _, page := get(t, c, base); !strings.Contains(page, "first words") || strings.Contains(page, "second words") {
		t.Error("after a restart on a full disk the page is another one")
	}
	free()
	waitUntil(t, "the disk has room", func() error {
		if status, text := prog.Get("/readyz"); status != http.StatusOK {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	sendForm(t, c, chat+"/message", url.Values{"text": {"say back again"}})
	waitForPage(t, c, base, "back again")
}

// readsAreAnswered reads without needing the disk, and checks that a write is refused.
func (w *watcher) readsAreAnswered(session ahp.URI, file string) {
	w.t.Helper()
	ctx, cancel := w.patient()
	defer cancel()
	var list ahp.ListSessionsResult
	if err := w.Call(ctx, "listSessions", map[string]any{"channel": ahp.RootURI}, &list); err != nil ||
		len(list.Items) != 1 {
		w.t.Errorf("listSessions answers %d sessions, %v", len(list.Items), err)
	}
	uri := core.FileURI(file)
	var read ahp.ResourceReadResult
	if err := w.Call(ctx, "resourceRead", ahp.ResourceReadParams{Channel: ahp.RootURI, URI: uri}, &read); err != nil ||
		read.Data != "a note" {
		w.t.Errorf("resourceRead answers %+v, %v", read, err)
	}
	err := w.Call(ctx, "resourceWrite", ahp.ResourceWriteParams{Channel: ahp.RootURI, URI: uri, Data: "another note",
		Encoding: "utf-8"}, nil)
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		w.t.Errorf("resourceWrite answers %v", err)
	}
	if b, err := os.ReadFile(file); string(b) != "a note" {
		w.t.Errorf("it wrote %q, %v", b, err)
	}
	w.mirror(session + "/annotations")
}

// postForm posts a form and returns the response itself.
func postForm(t *testing.T, c *http.Client, address string, form url.Values) (*http.Response, string) {
	t.Helper()
	res, err := noRedirect(c).PostForm(address, form)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(page)
}

// fillDisk fills the disk, and returns how to free it.
func fillDisk(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 4 << 10} {
		for {
			if _, err := f.Write(make([]byte, size)); err != nil {
				break // full
			}
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
