package acp_test

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/agent/agenttest"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// asked waits for a question of the agent.
func (w *world) asked() *ahp.ChatInputRequest {
	w.t.Helper()
	var found *ahp.ChatInputRequest
	w.until("a question is asked", func() bool {
		c := w.chat()
		if c.ActiveTurn == nil {
			return false
		}
		for _, p := range c.ActiveTurn.ResponseParts.All() {
			if v, ok := p.Value.(*ahp.InputRequestResponsePart); ok && v.Response == "" {
				found = &v.Request
			}
		}
		return found != nil
	})
	return found
}

func submitted(v ahp.ChatInputAnswerValueValue) ahp.ChatInputAnswer {
	return ahp.ChatInputAnswer{Value: &ahp.ChatInputAnswered{State: ahp.ChatInputAnswerStateSubmitted,
		Value: ahp.ChatInputAnswerValue{Value: v}}}
}

func TestElicitation(t *testing.T) {
	answers := map[string]ahp.ChatInputAnswer{
		"name":  submitted(&ahp.ChatInputTextAnswerValue{Value: "ana@example.org"}),
		"size":  submitted(&ahp.ChatInputNumberAnswerValue{Value: 3}),
		"ratio": submitted(&ahp.ChatInputNumberAnswerValue{Value: 0.5}),
		"sure":  submitted(&ahp.ChatInputBooleanAnswerValue{}),
		"color": submitted(&ahp.ChatInputSelectedAnswerValue{Value: "r"}),
		"q.6":   submitted(&ahp.ChatInputSelectedAnswerValue{Value: "y"}),
		"many":  submitted(&ahp.ChatInputSelectedManyAnswerValue{Value: []string{"a", "b"}}),
	}
	for _, test := range []struct {
		say      string
		response ahp.ChatInputResponseKind
		want     string
	}{
		{"form", ahp.ChatInputResponseKindAccept,
			`markdown {"action":"accept","content":{"color":"r","many":["a","b"],"name":"ana@example.org","old style":"y","ratio":0.5,"size":3,"sure":false}}`},
		{"form", ahp.ChatInputResponseKindDecline, `markdown {"action":"decline"}`},
		{"form session/elicitation", ahp.ChatInputResponseKindCancel, `markdown {"action":{"action":"cancel"}}`},
	} {
		w := newWorld(t, acp.Backend{Program: program("plain")})
		w.begin(agenttest.User(test.say))
		req := w.asked()
		if len(req.Questions) != 7 || req.Message != "A few things" {
			t.Fatalf("it asks %+v", req)
		}
		first, _ := req.Questions[0].Value.(*ahp.ChatInputTextQuestion)
		if first == nil || first.Format != "email" || *first.Min != 2 || first.DefaultValue != "a@b.c" ||
			!*first.Required ||
			first.Message != "Name" {
			t.Errorf("the first question is %+v", first)
		}
		if pick, _ := req.Questions[4].Value.(*ahp.ChatInputSingleSelectQuestion); pick == nil ||
			pick.Options[1].Label != "Green" || pick.Options[1].Recommended == nil {
			t.Errorf("the fifth question is %+v", pick)
		}
		done := &ahp.ChatInputCompletedAction{RequestID: req.ID, Response: test.response}
		if test.response == ahp.ChatInputResponseKindAccept {
			done.Answers = answers
		}
		w.do(done)
		wants(t, w.ended(), test.want+"\n")
	}
}

func TestElicitationOfAddress(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain")})
	w.begin(agenttest.User("openurl https://example.org/login"))
	if req := w.asked(); req.URL != "https://example.org/login" {
		t.Errorf("it asks %+v", req)
	}
	w.do(&ahp.ChatInputCompletedAction{RequestID: w.asked().ID, Response: ahp.ChatInputResponseKindAccept})
	wants(t, w.ended(), `markdown {"action":"accept"}`)
	wants(t, w.say("openurl javascript:alert(1)"), "only http and https addresses")
}

// A question that the program no longer needs is removed.
func TestElicitationIsWithdrawn(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain")})
	wants(t, w.say("withdraw done"), `markdown {"action":"accept"}`)
	wants(t, w.say("withdraw now"), `markdown {"action":"cancel"}`)
	if w.session().InputNeeded != nil {
		t.Errorf("still asked: %+v", w.session().InputNeeded)
	}
}

// A cancelled turn answers its open questions.
func TestElicitationIsCancelled(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain")})
	before := w.say("pid")
	id := w.begin(agenttest.User("form"))
	w.asked()
	w.do(&ahp.ChatTurnCancelledAction{TurnID: id})
	wants(t, w.ended(), "cancelled\n")
	if w.say("pid") != before {
		t.Error("the program had to be killed: its question was not answered")
	}
}

func TestPromptContent(t *testing.T) {
	picture := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))
	m := agenttest.User("blocks")
	m.Attachments = []ahp.MessageAttachment{
		{Value: &ahp.MessageEmbeddedResourceAttachment{Label: "shot.png", Data: picture, ContentType: "image/png"}},
		{Value: &ahp.MessageEmbeddedResourceAttachment{Label: "n.txt", Data: "aGk=", ContentType: "text/plain"}},
		{Value: &ahp.MessageEmbeddedResourceAttachment{Label: "../x.bin", Data: "/w==",
			ContentType: "application/octet-stream"}},
		{Value: &ahp.MessageEmbeddedResourceAttachment{Label: "a.wav", Data: "/w==", ContentType: "audio/wav"}},
		{Value: &ahp.MessageResourceAttachment{Label: "f.go", URI: "file:///x/f.go",
			Selection: &ahp.TextSelection{Range: ahp.TextRange{Start: ahp.TextPosition{Line: 1},
				End: ahp.TextPosition{Line: 4}}}}},
	}
	for mode, want := range map[string]string{
		"rich": `text | image image/png | resource attachment:///n.txt hi | resource attachment:///../x.bin /w== | ` +
			`resource_link audio/wav file://FILE/a.wav | resource_link file:///x/f.go | text`,
		"plain": `text | resource_link image/png file://FILE/shot.png | text | resource_link application/octet-stream file://FILE/x.bin | ` +
			`resource_link audio/wav file://FILE/a.wav | resource_link file:///x/f.go | text`,
	} {
		w := newWorld(t, acp.Backend{Program: program(mode)})
		w.begin(m)
		got := regexp.MustCompile(`file:///\S*/attachments/\w+`).ReplaceAllString(w.ended(), "file://FILE")
		wants(t, got, "markdown "+want+"\n", "notice Fake takes no audio in messages: a.wav was handed over as a file.")
		if mode == "plain" {
			wants(t, got, "notice Fake takes no image in messages: shot.png was handed over as a file.")
		}
	}
}

// A sub-agent's work is in a chat of its own, below the call it works for.
func TestSubAgents(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain")})
	got := w.say("task")
	if want := "think completed true: Task [not-needed]\nmarkdown meanwhile\nmarkdown done\ncomplete\n"; strings.Replace(
		got, "markdown meanwhiledone", "markdown meanwhile\nmarkdown done", 1) != want {
		t.Errorf("the chat is\n%s", got)
	}
	call := w.chat().Turns[0].ResponseParts[0].Value.(*ahp.ToolCallResponsePart).ToolCall.Value.(*ahp.ToolCallCompletedState)
	sub, ok := call.Content[0].Value.(*ahp.ToolResultSubagentContent)
	if !ok || sub.Title != "Find it" || sub.AgentName != "explorer" || len(call.Content) != 2 {
		t.Fatalf("the call has %+v", call.Content)
	}
	chat, _ := hub.StateOf[*ahp.ChatState](w.hub, sub.Resource)
	if len(chat.Turns) != 1 || chat.Turns[0].Message.Text != "Find the thing" {
		t.Fatalf("the sub-agent's chat is %+v", chat)
	}
	if got := agenttest.Text(
		chat.Turns[0]); got != "markdown I look\nread completed true: Read it [not-needed]\ncomplete\n" {
		t.Errorf("the sub-agent did\n%s", got)
	}
	if from := chat.Origin.Value.(*ahp.ChatOriginTool); from.ToolCallID != call.ToolCallID {
		t.Errorf("it comes from %+v", from)
	}
}

// A sub-agent's questions are asked in its chat; ending that turn does not end the one it works
// for.
func TestSubAgentAsks(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		w := newWorld(t, acp.Backend{Program: program("plain")})
		w.begin(agenttest.User("task ask"))
		var sub *ahp.ChatState
		var pending *ahp.ToolCallPendingConfirmationState
		w.until("the sub-agent asks", func() bool {
			for _, c := range w.session().Chats {
				if s, _ := hub.StateOf[*ahp.ChatState](w.hub, c.Resource); c.Origin != nil && s.ActiveTurn != nil {
					sub = s
				}
			}
			if sub == nil {
				return false
			}
			for _, p := range sub.ActiveTurn.ResponseParts.All() {
				if call, ok := p.Value.(*ahp.ToolCallResponsePart); ok {
					pending, _ = call.ToolCall.Value.(*ahp.ToolCallPendingConfirmationState)
				}
			}
			return pending != nil
		})
		var answer ahp.Action = &ahp.ChatToolCallConfirmedAction{TurnID: sub.ActiveTurn.ID,
			ToolCallID: pending.ToolCallID, Approved: true}
		want := "read completed true: Read it [user-action]\ncomplete\n"
		if cancel {
			answer, want = &ahp.ChatTurnCancelledAction{TurnID: sub.ActiveTurn.ID}, "cancelled\n"
		}
		w.seq++
		if o, err := w.host.Dispatch(t.Context(), w.caller, sub.Resource, w.seq, answer); err != nil ||
			o.Rejected != "" {
			t.Fatal(err, o.Rejected)
		}
		wants(t, w.ended(), "done\ncomplete\n")
		st, _ := hub.StateOf[*ahp.ChatState](w.hub, sub.Resource)
		wants(t, agenttest.Text(st.Turns[0]), want)
	}
}

// An agent that can fork does, if the chat has not changed since; otherwise it gets the transcript.
func TestFork(t *testing.T) {
	for mode, want := range map[string]string{"rich": "markdown echo again\ncomplete\n",
		"plain": "markdown This is what was said here so far:"} {
		w := newWorld(t, acp.Backend{Program: program(mode)})
		w.say("text")
		fork := "ahp-chat:/fork"
		from := w.session().DefaultChat
		w.must(w.host.CreateChat(t.Context(), w.caller,
			ahp.CreateChatParams{Channel: session, Chat: fork, InitialMessage: &ahp.Message{Text: "echo again"},
				Source: &ahp.ChatSource{Value: &ahp.ForkChatSource{Chat: from, TurnID: w.chat().Turns[0].ID}}}))
		state := func() *ahp.ChatState { st, _ := hub.StateOf[*ahp.ChatState](w.hub, fork); return st }
		w.until("the fork answers", func() bool { return state().ActiveTurn == nil && len(state().Turns) == 2 })
		if got := agenttest.Text(state().Turns[1]); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", mode, got)
		}
	}
}

// A session that could not start is not lost: after the login a message opens it, and so does a
// retry.
func TestRetryAfterLogin(t *testing.T) {
	for how, mode := range map[string]string{"message": "key", "retry": "key", "a key with the request": "handed"} {
		memory := acp.Remember("")
		w := newWorld(t, acp.Backend{Program: program(mode), Memory: memory})
		w.until("the agent was asked and wants a login",
			func() bool { return w.session().Lifecycle == ahp.SessionLifecycleFailed })
		wants(t, w.session().CreationError.Message, "needs a login", "It offers: API key")
		if mode == "key" {
			wants(t, w.session().CreationError.Message, "API key, by setting FAKE_KEY for ahphub")
		}
		wants(t, w.say("text"), "error Fake needs a login")
		root, _ := hub.StateOf[*ahp.RootState](w.hub, ahp.RootURI)
		logins := root.Agents[0].ProtectedResources
		// AHP requirement 191: without its own login the agent may have another
		if len(logins) != 1 || logins[0].ResourceName != "API key" || *logins[0].Required {
			t.Fatalf("the logins are %+v", logins)
		}
		give := func(resource, token string) error {
			_, err := w.host.Authenticate(t.Context(), w.caller,
				ahp.AuthenticateParams{Channel: ahp.RootURI, Resource: resource, Token: token})
			return err
		}
		if err := give("ahphub-agent:/fake/other", "open"); err == nil { // AHP requirement 189
			t.Error("an unknown resource was taken")
		}
		w.must(give(logins[0].Resource, "open")) // AHP requirement 190
		if how == "retry" {
			w.must(w.host.RetrySession(t.Context(), w.caller, session))
			w.until("it is ready", func() bool { return w.session().Lifecycle == ahp.SessionLifecycleReady })
		}
		wants(t, w.say("text"), "markdown Hello you\ncomplete\n")
		if w.session().Lifecycle != ahp.SessionLifecycleReady {
			t.Errorf("%s: the session is %s", how, w.session().Lifecycle)
		}
	}
}

// A guest's prompt is not given to a program that does not ask for permissions.
func TestGuestsNeedAskingMode(t *testing.T) {
	for mode, want := range map[string]string{
		"yolo": "error Fake is in the mode yolo, in which it does not ask about everything.",
		"rich": "markdown Hello you\ncomplete\n"} {
		w := newWorld(t, acp.Backend{Program: program(mode)})
		wants(t, w.say("text"), "markdown Hello you\ncomplete\n")
		guest := access.Principal{ID: "guest:ben", Name: "Ben", Role: access.RoleDriver, Session: session, Prompt: true}
		conn, err := w.hub.Connect(hub.ConnConfig{Principal: guest.ID, ClientID: "ben-1", Audience: guest.Audience()})
		w.must(err)
		t.Cleanup(func() { conn.Close(errors.New("the test is over")) })
		owner := w.caller
		w.caller = core.Caller{Principal: guest, ClientID: "ben-1", Conn: conn}
		wants(t, w.say("text"), want)
		w.caller = owner
	}
}

// A message is added to the turn if the agent can accept it, else it starts the next turn
// (AHP requirement 112).
func TestSteering(t *testing.T) {
	for mode, want := range map[string][]string{
		"steers": {"steered: the other way\n", "notice Ana sent to this turn: the other way\n"},
		"plain":  {"markdown got: the other way\ncomplete\n"},
	} {
		w := newWorld(t, acp.Backend{Program: program(mode)})
		id := w.begin(agenttest.User("hold"))
		w.until("it began", func() bool { return strings.Contains(w.text(), "holding") })
		if w.host.Steers(w.session().DefaultChat) != (mode == "steers") {
			t.Errorf("%s: whether it steers is not known", mode)
		}
		w.do(&ahp.ChatPendingMessageSetAction{Kind: ahp.PendingMessageKindSteering, ID: "s",
			Message: agenttest.User("the other way")})
		if mode == "plain" {
			w.do(&ahp.ChatTurnCancelledAction{TurnID: id})
			w.until("the next turn is over", func() bool { return len(w.chat().Turns) == 2 })
		}
		w.until("nothing waits", func() bool { return w.chat().SteeringMessage == nil && w.chat().ActiveTurn == nil })
		wants(t, w.text(), want...)
	}
}

func TestConfinedAgent(t *testing.T) {
	inside, outside := t.TempDir(), t.TempDir()
	prog := program("plain")
	prog.Dirs = []string{inside}
	b := acp.Backend{Program: prog}
	if err := os.Symlink(outside, filepath.Join(inside, "link")); err != nil {
		t.Fatal(err)
	}
	if err := b.Allows(inside); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{outside, filepath.Join(inside, "link"), filepath.Dir(inside)} {
		if err := b.Allows(dir); err == nil || !strings.Contains(err.Error(), "works only in "+inside) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// A program that reads files itself is not offered reads through the host.
func TestOfferedCapabilities(t *testing.T) {
	for noRead, want := range map[bool]string{false: "read true write true", true: "read false write true"} {
		prog := program("plain")
		prog.NoRead = noRead
		wants(t, newWorld(t, acp.Backend{Program: prog}).say("caps"), "markdown "+want+" terminal true form true\n")
	}
}

func TestProbe(t *testing.T) {
	got, err := acp.Probe(t.Context(), program("rich"), acp.Limits{})
	if err != nil || got.Version != "fake 1.0" || got.Models != 2 || got.Login != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := acp.Probe(t.Context(), program("login"), acp.Limits{}); err != nil ||
		!strings.Contains(got.Login, "Set FAKE_KEY") {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := acp.Probe(t.Context(), program("garbage"), acp.Limits{}); err == nil ||
		!strings.Contains(err.Error(), "does not speak") {
		t.Errorf("garbage: %v", err)
	}
}
