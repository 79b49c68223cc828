package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// soaking returns opencode with a fake model, for the journeys of make soak.
func soaking(t *testing.T) (*hosted, *model) {
	t.Helper()
	dir := installed(t, "AHPHUB_AGENTS_SOAK")
	m := startModel(t)
	return hosting(t, opencodeConfig(t, dir, m)), m
}

// Review comments are sent to opencode, whose model reads, answers and resolves them with the
// host's tools; the browser shows that immediately.
func TestAgentsSoakComments(t *testing.T) {
	h, m := soaking(t)
	h.begin("write: " + h.repo + "/made.txt")
	h.approve("made.txt")
	h.turn(1)
	if !slices.ContainsFunc(m.last().tools, func(s string) bool { return strings.HasSuffix(s, "_list_comments") }) {
		t.Fatalf("opencode's model has the tools %v", m.last().tools)
	}
	chat := Eval[string](h.ana, "location.href")
	h.ana.Open(chat + "/changes")
	h.ana.Live()
	h.ana.Wait("document.querySelector('.r.a')")
	for range 20 {
		if Eval[bool](h.ana, "!!document.querySelector('.r.a.cur')") {
			break
		}
		h.ana.Press("j")
	}
	h.ana.Press("c")
	h.ana.Wait("document.activeElement?.matches('form.comment-form textarea')")
	h.ana.Type("Greet the world, please.")
	h.ana.Click("form.comment-form button[value=comment]")
	h.ana.Wait("!document.querySelector('#files form.comment-form')")
	h.ana.Click("#finish")
	h.ana.Says("#send-note", "1 open comment")
	reader := h.browser.Page()
	reader.SignIn(h.program)
	reader.Open(chat + "/threads?state=all")
	reader.WaitText("#review", "Greet the world, please.")
	reader.Live()
	h.ana.Click("#verdict-form button[value=give]")
	h.turn(2)
	reader.WaitText("#review", "It greets the world now.")
	reader.WaitText("#review", "Opencode")
	reader.Wait("/resolved/i.test(document.querySelector('#review').innerText)")
	reader.Shot("answered")
	h.converged()
}

// A client runs its own tool when opencode's model calls it.
func TestAgentsSoakClientTool(t *testing.T) {
	h, m := soaking(t)
	h.begin("Say something")
	h.turn(1)
	if _, err := h.watcher.Dispatch(t.Context(), h.session,
		&ahp.SessionActiveClientSetAction{ActiveClient: ahp.SessionActiveClient{ClientID: "watcher",
			DisplayName: "Ana's editor", Tools: []ahp.ToolDefinition{{Name: "open_file", Description: "Opens a file.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}}}); err != nil {
		t.Fatal(err)
	}
	turns := 1
	has := func() bool {
		return slices.ContainsFunc(m.last().tools, func(s string) bool { return strings.HasSuffix(s, "_open_file") })
	}
	for ; turns < 20 && !has(); turns++ { // the tool list arrives a moment after the editor connects
		h.say("What have you got?")
		h.turn(turns + 1)
	}
	if !has() {
		t.Fatalf("opencode's model has the tools %v", m.last().tools)
	}
	h.say(`call: open_file {"path":"a.txt"}`)
	var call *ahp.SessionToolClientExecutionRequest
	h.watcher.wait("a call of the editor's tool", func() bool {
		for _, r := range h.watcher.session(h.session).InputNeeded {
			call, _ = r.Value.(*ahp.SessionToolClientExecutionRequest)
		}
		return call != nil
	})
	if _, err := h.watcher.Dispatch(t.Context(), call.Chat, &ahp.ChatToolCallCompleteAction{TurnID: call.TurnID,
		ToolCallID: call.ToolCall.ToolCallID, Result: ahp.ToolCallResult{Success: true,
			PastTenseMessage: ahp.Plain("Opened a.txt"),
			Content:          []ahp.ToolResultContent{{Value: &ahp.ToolResultTextContent{Text: "a.txt is open"}}}}}); err != nil {
		t.Fatal(err)
	}
	h.turn(turns + 1)
	if !m.saw("a.txt is open") {
		t.Error("opencode's model was not told what the editor did")
	}
	h.converged()
}

// A picture, a command, another model and mode, a fork, a steering message, and a policy that stops
// asking.
func TestAgentsSoakChat(t *testing.T) {
	h, m := soaking(t)
	h.begin("Say something about pelicans")
	h.turn(1)

	Eval[bool](h.ana, picture+"('paste'), true")
	h.ana.Wait("document.querySelector('#attached canvas')")
	h.say("What is in the picture?")
	h.turn(2)
	if !m.saw("data:image/") {
		t.Error("the model was not shown the picture")
	}

	h.ana.pick("#setting-model", "fake/n")
	h.ana.pick("#setting-mode", "plan")
	h.say("And which one are you?")
	h.turn(3)
	if q := m.last(); q.model != "n" || !strings.Contains(q.raw, "Plan") {
		t.Errorf("the model is %q; plan mode %v", q.model, strings.Contains(q.raw, "Plan"))
	}
	h.ana.pick("#setting-mode", "build")

	h.ana.Fill("#composer textarea", "")
	h.ana.Press("/")
	h.ana.WaitText("#offers", "/init")
	h.ana.Press("\x1b")
	h.say("/hello Ana")
	h.turn(4)
	if !m.saw("Greet Ana warmly") {
		t.Error("the command was not expanded")
	}

	h.say("write: " + h.repo + "/made.txt")
	h.ana.WaitText(".approval", "made.txt")
	Eval[bool](h.ana, "[...document.querySelectorAll('.approval button[data-kind=approve]')].find(b => "+
		"/always/i.test(b.innerText)).click(), true")
	h.turn(5)
	h.ana.pick("#setting-approval", "auto")
	h.ana.Wait("document.querySelector('#setting-approval').classList.contains('bad')")
	h.say("write: " + h.repo + "/other.txt")
	h.turn(6)
	h.say("run: echo ran >ran.txt")
	h.turn(7)
	for _, name := range []string{"made.txt", "other.txt", "ran.txt"} {
		if _, err := os.Stat(h.repo + "/" + name); err != nil {
			t.Error(err)
		}
	}

	h.say("wait for ever")
	<-m.hung
	h.ana.WaitText("#turns", "I am thinking.")
	h.say("Another way, please")
	h.ana.Click("#composer button[formaction$='/stop']")
	h.turn(9)
	if !m.saw("Another way, please") {
		t.Error("what was queued was not said")
	}

	before := m.last().count
	// the page is updated after the watcher
	h.ana.Wait(`document.querySelectorAll('#turns .turn')[8]?.querySelector('form[action$="/fork"] button')`)
	Eval[bool](h.ana, `document.querySelectorAll('#turns .turn')[8].querySelector('form[action$="/fork"] button').click(), true`)
	h.ana.Wait("document.querySelectorAll('#chats a').length === 2")
	h.ana.Live()
	h.say("Go on here")
	h.ana.Wait("document.querySelectorAll('#turns .turn').length === 10 && " + settled)
	if q := m.last(); q.count <= before || strings.Contains(q.raw, "This is what was said here so far") {
		t.Errorf("the fork is not opencode's own: the model was sent %d messages after %d", q.count, before)
	}
	h.ana.Shot("fork")
}

// Two concurrent sessions with separate programs do not affect each other.
func TestAgentsSoakTwoSessions(t *testing.T) {
	h, m := soaking(t)
	h.begin("wait for ever")
	<-m.hung
	second := h.browser.Page()
	second.look(1440, 900, "light")
	second.SignIn(h.program)
	begin(h.program, second, greetRepository(t), "Say something about herons")
	second.WaitText("#turns", "First half, second half.")
	if m.saw("wait for ever") {
		t.Error("one session knows of the other")
	}
	h.ana.Click("#composer button[formaction$='/stop']")
	if turn := h.turn(1); turn.State != ahp.TurnStateCancelled {
		t.Errorf("a stopped turn is %s", turn.State)
	}
	h.say("Say something about pelicans")
	h.turn(2)
	h.converged()
}
