package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// waitingTurn is a turn of an agent that waits for a person.
type waitingTurn struct {
	agent, prompt string // the prompt makes its agent ask
	answered      string // part of the agent's text after the answer
	session, chat ahp.URI
	turn          string
	began         time.Time
	old           map[string]bool // ids of earlier requests
}

// TestRestartInterruptsWaitingTurns stops and kills the program while turns of every kind of agent
// wait for approvals and answers: they end as interrupted, stay readable, and ask again when
// resumed.
func TestRestartInterruptsWaitingTurns(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sessions := t.TempDir()
	config := agentConfig(t, "asking", []string{exe}, map[string]string{"ASKING_AGENT": sessions})
	page := OpenBrowser(t).Page()
	p := Start(t, Options{Args: []string{"--agent", "script", "--config", config}})
	page.SignIn(p)
	page.Allow(hostAway)
	w := watch(t, p, "ana")
	turns := []*waitingTurn{
		{agent: "shell", prompt: "echo answered: $((6*7))", answered: "answered: 42"},
		{agent: "script", prompt: "ask all", answered: "You cancelled the questions"},
		{agent: "asking", prompt: "an approval", answered: `"optionId":"yes"`},
		{agent: "asking", prompt: "a question", answered: `"action":"cancel"`},
	}
	for _, x := range turns {
		x.open(w, t.TempDir())
		x.waits(w)
	}
	shell := "/s/" + core.ShortID(turns[0].session)
	page.Open(p.URL + shell)
	page.Live()
	page.Says("#turns .approval", "echo answered:")

	for _, end := range []struct {
		how string
		end func()
	}{{"SIGTERM", p.Stop}, {"SIGKILL", p.Kill9}} {
		end.end()
		ended := time.Now()
		p.Restart()
		w.reconnect()
		for _, x := range turns {
			x.wasInterrupted(w, end.how, ended)
		}
		page.Open(p.URL + shell)
		page.Live()
		page.Says("#turns .turn:last-child", "Interrupted by a restart")
		page.Says("#turns .turn:last-child", "ahphub restarted during this turn. Resume to continue from here.")
		page.Says("#turns .turn:last-child .tool .subject", "echo answered:")
		page.Says("#turns .turn:last-child details[open]", "ahphub restarted before this was answered.")
		page.Says("#turns .turn:last-child .tool", "Not answered")
		if Eval[bool](page, `!!document.querySelector('#turns .tool button')`) {
			t.Errorf("%s: the card still has buttons", end.how)
		}
		if n := Eval[int](page, `document.querySelectorAll('#turns form[action$="/resume"]').length`); n != 1 {
			t.Errorf("%s: there are %d buttons to resume, want one", end.how, n)
		}
		page.Pictures("interrupted-"+end.how, "#turns .turn:last-child")
		page.Open(p.URL + "/")
		page.Live()
		if got := page.Text("#inbox"); strings.Contains(got, "Failed") ||
			strings.Count(got, "Interrupted by a restart") != len(turns) {
			t.Errorf("%s: the inbox says %q", end.how, got)
		}
		for _, x := range turns {
			x.resume(w)
			x.waits(w)
		}
	}
	for _, x := range turns {
		x.answerOld(w)
		x.answer(w)
	}
	if loaded, _ := filepath.Glob(filepath.Join(sessions, "session-*", "loaded")); len(loaded) != 2 {
		t.Errorf("%d sessions of the agent were loaded, want 2", len(loaded))
	}
	page.Open(p.URL + shell)
	page.Live()
	page.Says("#turns .turn:last-child", "answered: 42")
	page.leave()
}

func (x *waitingTurn) open(w *watcher, dir string) {
	w.t.Helper()
	ctx, cancel := w.patient()
	defer cancel()
	x.session, x.turn, x.old = ahp.URI("ahp-session:/"+uuid.NewString()), uuid.NewString(), map[string]bool{}
	err := w.Call(ctx, "createSession", ahp.CreateSessionParams{Channel: x.session, Provider: x.agent,
		WorkingDirectories: []ahp.URI{"file://" + dir}}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mirror(x.session)
	w.wait("the session", func() bool { return w.session(x.session).Lifecycle == ahp.SessionLifecycleReady })
	x.chat = w.session(x.session).DefaultChat
	w.mirror(x.chat)
	x.began = time.Now()
	w.say(x.chat, x.turn, x.prompt)
}

// asked returns the id of the pending approval or question, and which of them it is.
func (x *waitingTurn) asked(w *watcher) (id string, question bool) {
	turn := w.chat(x.chat).ActiveTurn
	if turn == nil {
		return "", false
	}
	for _, p := range turn.ResponseParts.All() {
		switch p := p.Value.(type) {
		case *ahp.InputRequestResponsePart:
			if p.Response == "" {
				id, question = p.Request.ID, true
			}
		case *ahp.ToolCallResponsePart:
			if c, ok := p.ToolCall.Value.(*ahp.ToolCallPendingConfirmationState); ok {
				id = c.ToolCallID
			}
		}
	}
	return id, question
}

func (x *waitingTurn) waits(w *watcher) {
	w.t.Helper()
	w.wait(x.agent+" to ask by a new id: "+x.prompt, func() bool { id, _ := x.asked(w); return id != "" && !x.old[id] })
	id, _ := x.asked(w)
	x.old[id] = true
}

func (x *waitingTurn) wasInterrupted(w *watcher, how string, ended time.Time) {
	w.t.Helper()
	w.wait("the end of the turn of "+x.agent+" after "+how, func() bool { return w.chat(x.chat).ActiveTurn == nil })
	turns := w.chat(x.chat).Turns
	last := turns[len(turns)-1]
	part, ok := last.ResponseParts[len(last.ResponseParts)-1].Value.(*ahp.ErrorResponsePart)
	if !ok || part.Error.ErrorType != "interrupted" || part.Resumable == nil || !*part.Resumable {
		w.t.Fatalf("%s: the turn of %s ended with %+v", how, x.agent,
			last.ResponseParts[len(last.ResponseParts)-1].Value)
	}
	lasted, most := time.Duration(*last.Duration)*time.Millisecond, ended.Sub(x.began)
	if lasted <= 0 || lasted > most+time.Second || lasted < most-3*time.Second && how == "SIGTERM" {
		w.t.Errorf("%s: the turn of %s lasted %v, and it was running for %v", how, x.agent, lasted, most)
	}
	for _, p := range last.ResponseParts {
		if call, ok := p.Value.(*ahp.ToolCallResponsePart); ok {
			c, ok := call.ToolCall.Value.(*ahp.ToolCallCancelledState)
			if !ok || c.Reason != ahp.ToolCallCancellationReasonSkipped || c.ToolInput == nil &&
				c.InvocationMessage.Text == "" {
				w.t.Errorf("%s: the call of %s is %+v", how, x.agent, call.ToolCall.Value)
			}
		}
	}
}

func (x *waitingTurn) resume(w *watcher) {
	w.t.Helper()
	ctx, cancel := w.patient()
	defer cancel()
	if _, err := w.Dispatch(ctx, x.chat, &ahp.ChatTurnResumeAction{TurnID: x.turn}); err != nil {
		w.t.Fatal(err)
	}
	w.wait("the turn to go on", func() bool { return w.chat(x.chat).ActiveTurn != nil })
}

// reply answers a request by id: it approves, or cancels a question.
func (x *waitingTurn) reply(w *watcher, id string, question bool) {
	w.t.Helper()
	ctx, cancel := w.patient()
	defer cancel()
	var a ahp.Action = &ahp.ChatToolCallConfirmedAction{TurnID: x.turn, ToolCallID: id, Approved: true,
		Confirmed: ahp.ToolCallConfirmationReasonUserAction}
	if question {
		a = &ahp.ChatInputCompletedAction{RequestID: id, Response: ahp.ChatInputResponseKindCancel}
	}
	if _, err := w.Dispatch(ctx, x.chat, a); err != nil {
		w.t.Fatal(err)
	}
}

// answerOld answers requests from before the restarts: that changes nothing.
func (x *waitingTurn) answerOld(w *watcher) {
	w.t.Helper()
	now, question := x.asked(w)
	for id := range x.old {
		if id != now {
			x.reply(w, id, question)
		}
	}
	ctx, cancel := w.patient()
	defer cancel()
	// by then the answers were accepted or refused
	if err := w.Call(ctx, "ping", map[string]any{"channel": ahp.RootURI}, nil); err != nil {
		w.t.Fatal(err)
	}
	if id, _ := x.asked(w); id != now {
		w.t.Errorf("an old answer was applied to the new question of %s", x.agent)
	}
}

func (x *waitingTurn) answer(w *watcher) {
	w.t.Helper()
	id, question := x.asked(w)
	x.reply(w, id, question)
	w.wait("the end of the turn of "+x.agent, func() bool { return w.chat(x.chat).ActiveTurn == nil })
	turns := w.chat(x.chat).Turns
	last := turns[len(turns)-1]
	raw, err := json.Marshal(last.ResponseParts)
	if err != nil {
		w.t.Fatal(err)
	}
	if said := strings.ReplaceAll(string(raw), `\"`, `"`); last.State != ahp.TurnStateComplete ||
		!strings.Contains(said, x.answered) {
		w.t.Errorf("answered, %s ended its turn %s and said %s", x.agent, last.State, said)
	}
}
