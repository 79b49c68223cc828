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
)

var formKills = flag.Int("form-kills", 2, "how often each form is killed right after its answer")

// What a form answered is there after a crash: the program is killed the moment the answer comes.
func TestFormsSurviveKill(t *testing.T) {
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
	// Other programs that have a look leave the log alone, in which all that follows is written.
	for _, args := range [][]string{{"backup", "--data", prog.Data, filepath.Join(t.TempDir(), "copy.db")}, {"doctor", "--deep", "--data", prog.Data}} {
		if out, err := prog.Command(args...); err != nil && args[0] == "backup" || args[0] == "doctor" && !strings.Contains(out, "are whole") {
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
			{"a comment", base + "/changes/drafts", url.Values{"file": {file}, "at": {"R1"}, "text": {word("comment")}, "do": {"comment"}}, base + "/threads?state=all", word("comment")},
			{"a review mark", prog.URL + html.UnescapeString(mark[1]), url.Values{"reviewed": {fmt.Sprint(round%2 == 0)}}, base + "/changes", reviewedNote(round%2 == 0)},
		} {
			res, err := noRedirect(c).PostForm(f.post, f.form)
			if err != nil {
				t.Fatal(err)
			}
			prog.Kill9()
			answer, _ := io.ReadAll(res.Body) // as much as came before it was killed
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

// reviewedNote is how the page counts the one file.
func reviewedNote(reviewed bool) string {
	if reviewed {
		return "1/1 reviewed"
	}
	return "0/1 reviewed"
}

// noRedirect is a client that stays where an answer sends it on.
func noRedirect(c *http.Client) *http.Client {
	stays := *c
	stays.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &stays
}

// waitForPage asks for a page until it shows a part.
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

// approveByForm allows the call that waits in a chat.
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

func TestFormSaysWhenDiskIsFull(t *testing.T) {
	disk := smallDisk(t, 48<<20)
	prog := Start(t, Options{Args: []string{"--agent", "script"}, Data: filepath.Join(disk, "data")})
	c, _ := signIn(t, prog.SignIn())
	session := sessionThat(t, c, prog, "say hello")
	base := prog.URL + session
	chat := base + "/c/" + chatOf(t, c, prog, session)
	waitForPage(t, c, base, "hello")
	free := fillDisk(t, disk)

	// The first message may be accepted before the journal finds out; from then on nothing is.
	for i, text := range []string{"first words <b>", "second words"} {
		res, page := postForm(t, c, chat+"/message", url.Values{"text": {text}})
		if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(page, "The disk is full: free some space.") {
			t.Errorf("message %d on a full disk: %s\n%s", i, res.Status, page)
		}
		if !strings.Contains(page, html.EscapeString(text)+"</textarea>") || !strings.Contains(page, "Send again") {
			t.Errorf("message %d: what was typed is not kept:\n%s", i, page)
		}
	}
	req, err := http.NewRequest(http.MethodPost, chat+"/message", strings.NewReader(url.Values{"text": {"third"}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-Fragment", "form")
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a script's form on a full disk: %s", res.Status)
	}
	free()
	waitUntil(t, "the disk has room", func() error {
		if status, text := prog.Get("/readyz"); status != http.StatusOK {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	sendForm(t, c, chat+"/message", url.Values{"text": {"say back again"}})
	page := waitForPage(t, c, base, "back again")
	if strings.Contains(page, "second words") {
		t.Error("what was refused is there")
	}
}

// postForm posts one and returns the answer itself.
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

// fillDisk takes all the room there is, and returns how to give it back.
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
