package pages_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

func TestEveryPageIsServed(t *testing.T) {
	s := open(t)
	base, chat := s.session()
	for path, want := range map[string]string{
		"/": "New session", "/new": "Working directory", "/settings": "Agents",
		"/help": "Next session needing attention",
		base:    "No messages yet", chat: "No messages yet", base + "/t": "No terminals", chat + "?": "Directories",
	} {
		if page := s.get(path); !strings.Contains(page, want) {
			t.Errorf("%s does not show %q", path, want)
		}
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	s := open(t)
	base, chat := s.session()
	for _, c := range []struct {
		path string
		form url.Values
		code int
		says string
	}{
		{"/nosuch", nil, 404, "Page not found."},
		{"/s/nosuch", nil, 404, "Session not found"},
		{base + "/c/nosuch", nil, 404, "Chat not found"},
		{base + "/t/nosuch", nil, 404, "Terminal not found"},
		{"/live", nil, 400, "rooms"},
		{"/live?f=x", nil, 400, "Reload"},
		{chat + "/message", url.Values{"text": {"  "}}, 400, "Write a message"},
		{chat + "/stop", url.Values{}, 409, "Nothing is running"},
		{base + "/title", url.Values{"title": {""}}, 409, "at least one character"},
		{"/new", url.Values{"dir": {"relative"}}, 400, "absolute path"},
		{"/new", url.Values{"dir": {"/no/such/place"}, "agent": {"script"}}, 400, "/no/such/place"},
	} {
		send := func() (*http.Response, error) { return s.web.Get(s.url + c.path) }
		if c.form != nil {
			send = func() (*http.Response, error) { return s.web.PostForm(s.url+c.path, c.form) }
		}
		res, err := send()
		if page := s.body(c.path, res, err, c.code); !strings.Contains(page, c.says) {
			t.Errorf("%s does not say %q:\n%s", c.path, c.says, page)
		}
	}
}

func TestApproveFromTheInbox(t *testing.T) {
	s := open(t)
	_, chat := s.session()
	s.say(chat, "run echo hi")
	page := s.until("/", `class="approval ask-row"`)
	form := formOf(t, page, chat+"/tool")
	form.Set("choice", "approve:"+option(page, "approve"))
	read := form.Get("shown")
	form.Set("shown", "of another request")
	res, err := s.web.PostForm(s.url+chat+"/tool", form)
	if page := s.body(chat, res, err, http.StatusConflict); !strings.Contains(page, "Read it again") {
		t.Errorf("an answer to something else says\n%s", page)
	}
	form.Set("shown", read)
	if to := s.post(chat+"/tool", form); to != chat {
		t.Errorf("an answer leads to %s", to)
	}
	s.until(chat, "approved by Ana")
	res, err = s.web.PostForm(s.url+chat+"/tool", form)
	s.body(chat, res, err, http.StatusConflict)
}

// A message resent with its key after a lost answer is added once, even if it was queued.
func TestMessageSentAgainIsSaidOnce(t *testing.T) {
	s := open(t)
	_, chat := s.session()
	first := url.Values{"text": {"hold"}, "key": {"1f2e3d4c5b6a7988"}}
	queued := url.Values{"text": {"say from the queue"}, "key": {"00112233445566aa"}, "how": {"queue"}}
	for range 2 {
		s.post(chat+"/message", first)
		s.until(chat, "Working…")
		s.post(chat+"/message", queued)
	}
	s.post(chat+"/message", url.Values{"text": {"say another text"}, "key": {"1f2e3d4c5b6a7988"}, "how": {"queue"}})
	s.post(chat+"/stop", url.Values{})
	s.until(chat, ">another text<")
	s.post(chat+"/message", queued)
	page := s.until(chat, ">another text<")
	for said, want := range map[string]int{">hold</div>": 1, ">say from the queue</div>": 1, ">say another text</div>": 1} {
		if n := strings.Count(page, said); n != want {
			t.Errorf("%s is there %d times\n%s", said, n, page)
		}
	}
}

func TestDenyWithAReason(t *testing.T) {
	s := open(t)
	_, chat := s.session()
	s.say(chat, "run echo hi")
	page := s.until(chat, `class="approval"`)
	form := formOf(t, page, chat+"/tool")
	form.Set("choice", "deny:"+option(page, "deny"))
	form.Set("reason", "not on a Friday")
	s.post(chat+"/tool", form)
	s.until(chat, "not on a Friday")
}

func option(page, kind string) string {
	m := regexp.MustCompile(`value="` + kind + `:([^"]*)"`).FindStringSubmatch(page)
	if m == nil {
		return ""
	}
	return m[1]
}

// formOf returns the hidden and filled-in fields of the first form with an action.
func formOf(t *testing.T, page, action string) url.Values {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	form := find(doc, func(n *html.Node) bool { return n.Data == "form" && attr(n, "action") == action })
	if form == nil {
		t.Fatalf("there is no form for %s in\n%s", action, page)
	}
	v := url.Values{}
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Data == "input" && attr(n, "type") == "hidden" {
			v.Add(attr(n, "name"), attr(n, "value"))
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(form)
	return v
}

func questions() []ahp.ChatInputQuestion {
	yes := ahp.Ptr(true)
	opts := []ahp.ChatInputOption{{ID: "a", Label: "Option A"}, {ID: "b", Label: "Option B", Recommended: yes}}
	return []ahp.ChatInputQuestion{
		{Value: &ahp.ChatInputTextQuestion{ID: "t", Title: "Name", Message: "What name?", Required: yes}},
		{Value: &ahp.ChatInputNumberQuestion{Kind: "number", ID: "n", Message: "How much?", Min: ahp.Ptr(0.0),
			Max: ahp.Ptr(1.0)}},
		{Value: &ahp.ChatInputNumberQuestion{Kind: "integer", ID: "i", Message: "How many?"}},
		{Value: &ahp.ChatInputBooleanQuestion{ID: "b", Message: "Tests too?"}},
		{Value: &ahp.ChatInputSingleSelectQuestion{ID: "s", Message: "Which one?", Options: opts}},
		{Value: &ahp.ChatInputMultiSelectQuestion{ID: "m", Message: "Which ones?", Options: opts,
			AllowFreeformInput: yes}},
	}
}

func TestQuestionsOfAllKinds(t *testing.T) {
	s := open(t)
	base, chat, uri, _ := s.held()
	s.agent(uri, &ahp.ChatInputRequestedAction{Request: ahp.ChatInputRequest{ID: "r", Message: "Some questions",
		Questions: questions()}})
	b := s.tab(base)
	for _, want := range []string{`type="number"`, `step="1"`, `min="0"`, `type="radio"`, `type="checkbox"`, "Option A",
		"What name?"} {
		if !strings.Contains(b.html("ask-r"), want) {
			t.Errorf("the form has no %s:\n%s", want, b.html("ask-r"))
		}
	}
	res, err := s.web.PostForm(s.url+chat+"/input", url.Values{"request": {"r"}, "response": {"accept"}})
	s.body("an empty answer", res, err, http.StatusConflict)

	answers := url.Values{"request": {"r"}, "q.t": {"greet"}, "q.n": {"0.5"}, "q.i": {"3"}, "q.b": {"true"},
		"q.s": {"a"}, "q.m": {"a", "b"}, "other.m": {"and c"}}
	draft := url.Values{"question": {"t"}}
	for k, v := range answers {
		draft[k] = v
	}
	s.post(chat+"/answer", draft)
	s.until(base, "greet") // another viewer sees the values before they are sent

	answers.Set("response", "accept")
	s.post(chat+"/input", answers)
	b.wait("ask-r", "Answered")
	for _, want := range []string{"greet", "0.5", "3", "Yes", "Option A", "Option A, Option B"} {
		if !strings.Contains(b.text("ask-r"), want) {
			t.Errorf("the answers do not show %q:\n%s", want, b.text("ask-r"))
		}
	}
}

func TestQueueCanBeEdited(t *testing.T) {
	s := open(t)
	base, chat, uri, _ := s.held()
	for _, m := range []string{"first", "second"} {
		s.post(chat+"/message", url.Values{"text": {m}, "how": {"queue"}})
	}
	state, _ := hub.StateOf[*ahp.ChatState](s.hub, uri)
	queue := state.QueuedMessages
	s.post(chat+"/queue/up", url.Values{"id": {queue[1].ID}})
	s.post(chat+"/queue/edit", url.Values{"id": {queue[0].ID}, "text": {"first, but better"}})
	page := s.get(base)
	if i, j := strings.Index(page, "second"), strings.Index(page, "first, but better"); i < 0 || j < i {
		t.Errorf("the queue is not second, first: at %d and %d", i, j)
	}
	s.post(chat+"/queue/remove", url.Values{"id": {queue[1].ID}, "kind": {"queued"}})
	if page := s.get(base); strings.Contains(page, ">second<") {
		t.Error("a removed message is still queued")
	}
}

func TestFailedTurnCanBeResumed(t *testing.T) {
	s := open(t)
	_, chat := s.session()
	s.say(chat, "fail the model is away\nsay back again")
	page := s.until(chat, "This turn failed")
	s.post(chat+"/resume", formOf(t, page, chat+"/resume"))
	s.until(chat, "back again")
}

func TestPreferencesAreKept(t *testing.T) {
	s := open(t)
	if to := s.post("/settings/theme", url.Values{"theme": {"dark"}, "back": {"/help"}}); to != "/help" {
		t.Errorf("the toggle leads to %s", to)
	}
	if page := s.get("/"); !strings.Contains(page, `data-theme="dark"`) {
		t.Error("the dark theme was not kept")
	}
	for _, to := range []string{"//evil.example", "https://evil.example", `/\evil.example`} {
		if got := s.post("/settings/theme", url.Values{"theme": {"light"}, "back": {to}}); got != "/" {
			t.Errorf("a form can send people to %s", got)
		}
	}
	_, chat := s.session()
	s.get(chat + "?pane=none")
	if page := s.get(chat); !strings.Contains(page, "data-pane-closed") {
		t.Error("the changed files were closed, and are open again on the next page")
	}
}

func TestGuestsSeeOneSession(t *testing.T) {
	s := open(t)
	one, chat := s.session()
	two, _ := s.session()
	uri, _ := s.host.SessionByShort(strings.TrimPrefix(one, "/s/"))
	s.who = access.Principal{ID: "guest:ben", Name: "Ben", Role: access.RoleViewer, Session: uri, Link: "l"}
	page := s.get(one)
	if strings.Contains(page, two) || strings.Contains(page, `id="rail"`) {
		t.Error("a guest's page tells of other sessions")
	}
	res, err := s.web.Get(s.url + two)
	s.body(two, res, err, http.StatusNotFound)
	res, err = s.web.PostForm(s.url+chat+"/message", url.Values{"text": {"hi"}})
	s.body(chat, res, err, http.StatusConflict)
	res, err = s.web.Get(s.url + "/")
	s.body("/", res, err, http.StatusSeeOther)
	if to := res.Header.Get("Location"); to != one {
		t.Errorf("a guest's inbox leads to %q", to)
	}
}

// Names of models, people and files may be hostile anywhere on a page.
func TestHostileTextIsText(t *testing.T) {
	s := open(t)
	base, chat, uri, turn := s.held()
	for i, evil := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`,
		`</textarea><script>alert(1)</script>`,
		`</title><script>alert(1)</script>`, `javascript:alert(1)`, "\x1b]8;;javascript:alert(1)\x07x\x1b]8;;\x07",
		`<svg onload=alert(1)>`, `{{constructor}}`, "</pre><iframe src=x>",
	} {
		id := turn + string(rune('a'+i))
		plain := ahp.Plain(evil)
		input := ahp.ToolInput{Text: evil}
		s.agent(uri,
			text(turn, id), delta(turn, id, evil),
			&ahp.ChatResponsePartAction{TurnID: turn, Part: ahp.ResponsePart{Value: &ahp.ReasoningResponsePart{ID: id +
				"r", Content: ahp.NewText(evil)}}},
			&ahp.ChatToolCallStartAction{TurnID: turn, ToolCallID: evil, ToolName: evil, DisplayName: evil,
				Intention: evil},
			&ahp.ChatToolCallReadyAction{TurnID: turn, ToolCallID: evil, InvocationMessage: plain, ToolInput: &input,
				ConfirmationTitle: &plain, Editable: ahp.Ptr(true),
				Options: []ahp.ConfirmationOption{{ID: evil, Label: evil, Kind: "approve"}}},
			&ahp.ChatInputRequestedAction{Request: ahp.ChatInputRequest{ID: evil, Message: evil, URL: evil,
				Questions: []ahp.ChatInputQuestion{
					{Value: &ahp.ChatInputTextQuestion{ID: evil, Title: evil, Message: evil, DefaultValue: evil}}}}},
			&ahp.ChatActivityChangedAction{Activity: evil})
		s.post(base+"/title", url.Values{"title": {evil}})
		s.post(chat+"/message", url.Values{"text": {evil}, "how": {"queue"}})
	}
	for _, path := range []string{base, "/", base + "/t", chat} {
		doc, err := html.Parse(strings.NewReader(s.get(path)))
		if err != nil {
			t.Fatal(err)
		}
		harmless(t, path, doc)
	}
}

func harmless(t *testing.T, path string, n *html.Node) {
	if n.Type == html.ElementNode {
		switch n.Data {
		case "script":
			if !strings.HasPrefix(attr(n, "src"), "/assets/") {
				t.Errorf("%s has a script of somebody else's", path)
			}
		case "img", "iframe", "object", "embed", "base", "style":
			if n.Data != "iframe" || !strings.HasPrefix(attr(n, "src"), "/s/") {
				t.Errorf("%s has a <%s>", path, n.Data)
			}
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" ||
				strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:") &&
					(a.Key == "href" || a.Key == "action" || a.Key == "formaction") {
				t.Errorf("%s has %s=%q on a <%s>", path, a.Key, a.Val, n.Data)
			}
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		harmless(t, path, c)
	}
}
