package pages_test

import (
	"golang.org/x/net/html"

	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/part"
)

// apart returns a session in two repositories, with a chat that works only in the second one.
func apart(t *testing.T) (x *tree, two string, chat ahp.URI) {
	x = openTree(t)
	two = filepath.Join(t.TempDir(), "two")
	for _, args := range [][]string{{"init", "-q", "-b", "main", two}, {"-C", two, "commit", "-q", "--allow-empty",
		"-m", "first"}} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=Ana", "-c", "user.email=ana@example.org"},
			args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	chat = ahp.URI("ahp-chat:/two-" + part.Tail(x.base))
	session := x.session0(x.base)
	if err := x.hub.Do(func(tx *hub.Tx) {
		tx.Apply(session, &ahp.SessionWorkingDirectorySetAction{Directory: core.FileURI(two)})
	}); err != nil {
		t.Fatal(err)
	}
	who := core.Caller{Principal: ana, ClientID: "ana"}
	if err := x.host.CreateChat(t.Context(), who, ahp.CreateChatParams{Channel: session, Chat: chat,
		WorkingDirectories: []ahp.URI{core.FileURI(two)}}); err != nil {
		t.Fatal(err)
	}
	return x, two, chat
}

// A chat with its own directories has its own changes, with an address, which are live.
func TestChangesOfAChatWithItsOwnDirectories(t *testing.T) {
	x, two, chat := apart(t)
	o := openTree(t)
	if p := o.get(o.base + "/changes"); strings.Contains(p, `id="whose" class`) {
		t.Error("a session whose chats have no directories of their own offers to choose one")
	}
	scope := "/changes?scope=chat." + core.ShortID(chat) + "."
	x.write("a.txt", "outer\n")
	if err := os.WriteFile(filepath.Join(two, "inner.txt"), []byte("inner\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := x.until(x.base+"/changes?scope=uncommitted", `data-path="`)
	for _, want := range []string{"a.txt", "inner.txt", ">Chat 2</b>", `href="` + x.base + scope + `uncommitted"`,
		"<span id=\"scope-now\"><b>Uncommitted</b>"} {
		if !strings.Contains(p, want) {
			t.Errorf("the session's changes do not show %q", want)
		}
	}
	p = x.until(x.base+scope+"uncommitted", "inner.txt")
	if strings.Contains(p, "a.txt") || !strings.Contains(p, "<b>Chat 2: ") || !strings.Contains(p, `href="`+
		x.base+scope+`branch"`) || !strings.Contains(p, `href="`+x.base+`/changes?scope=uncommitted"`) {
		t.Errorf("the chat's changes are not its own:\n%s", p)
	}
	live := x.tab(x.base + scope + "uncommitted")
	if err := os.WriteFile(filepath.Join(two, "more.txt"), []byte("more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	live.wait("files", "more.txt")
	for _, gone := range []string{"chat.nobody.session", "chat." + core.ShortID(chat) + ".turn", "chat.x"} {
		res, err := x.web.Get(x.url + x.base + "/changes?scope=" + gone)
		if err != nil || res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s is answered %v %v", gone, res.StatusCode, err)
		}
		_ = res.Body.Close()
	}
}

// Turns of a chat are listed with those of chats that share a directory with it, for comparison.
func TestTurnsOfChatsAreCompared(t *testing.T) {
	x, two, chat := apart(t)
	session := x.session0(x.base)
	turn := func(in, text, name string) {
		if err := os.WriteFile(filepath.Join(two, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		x.say(in, text)
		x.await("the turn ends", func() bool {
			id := x.turnOf(session, text)
			if id == "" {
				return false
			}
			_, _, _, known := x.host.Changes.TurnTotals(t.Context(), session, id)
			return known
		})
	}
	turn(x.chatOf(x.base), "begin", "b.txt")
	turn(x.base+"/c/"+part.Tail(chat), "go on", "c.txt")
	list := x.turnsOffered()
	if len(list) != 2 || list[0].chat != "Chat 2" || !strings.Contains(list[1].text, "begin") {
		t.Fatalf("the turns offered are %+v", list)
	}
	x.until(x.base+"/changes?scope="+url.QueryEscape("turn."+list[0].id), "<b>Chat 2: ")
	p := x.until(x.base+"/changes?"+url.Values{"from": {list[1].id}, "to": {list[0].id}}.Encode(), "c.txt")
	for _, want := range []string{`<optgroup label="Chat 2">`, "Turn 1 to Chat 2, Turn 1", "<b>Chat 2: "} {
		if !strings.Contains(p, want) {
			t.Errorf("the comparison does not show %q:\n%s", want, p)
		}
	}
	if strings.Contains(p, `data-path="b.txt"`) {
		t.Error("what was there after the first turn is shown as new after the second")
	}
}

// await waits for a condition, for at most ten seconds.
func (s *testSite) await(what string, ok func() bool) {
	s.t.Helper()
	soon(s.t, what, ok)
}

// offeredTurn is a turn offered for comparison.
type offeredTurn struct{ id, chat, text string }

// turnsOffered returns the turns offered by the review page.
func (s *tree) turnsOffered() (list []offeredTurn) {
	s.t.Helper()
	doc, err := html.Parse(strings.NewReader(s.get(s.base + "/changes")))
	if err != nil {
		s.t.Fatal(err)
	}
	from := find(doc, func(n *html.Node) bool { return attr(n, "id") == "turn-from" })
	if from == nil {
		return nil
	}
	for n := range from.Descendants() {
		if n.Type == html.ElementNode && n.Data == "option" && attr(n, "value") != "" {
			list = append(list, offeredTurn{attr(n, "value"), attr(n.Parent, "label"), textIn(n)})
		}
	}
	return list
}

func textIn(n *html.Node) (text string) {
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			text += d.Data
		}
	}
	return text
}

// turnOf finds the finished turn of a session that answers a message; "" when there is none.
func (s *tree) turnOf(session ahp.URI, message string) string {
	for _, c := range s.pages.SessionState(session).Chats {
		chat, _ := hub.StateOf[*ahp.ChatState](s.hub, c.Resource)
		if chat == nil {
			continue
		}
		for _, t := range chat.Turns {
			if t.Message.Text == message {
				return t.ID
			}
		}
	}
	return ""
}
