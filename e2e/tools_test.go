package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// A third-party agent reads the review's comments, answers them and has an editor run a tool, over
// HTTP and over the bridge; the editor, a protocol client, sees everything, as does an open page.
func TestToolsOfTheHost(t *testing.T) { // AHP requirements 136, 141
	for _, mode := range []string{"http", "stdio"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			toolJourney(t, mode)
		})
	}
}

func toolJourney(t *testing.T, mode string, args ...string) {
	dir := t.TempDir()
	note := filepath.Join(dir, "servers")
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config.toml")
	text := fmt.Sprintf("[[agent]]\nname = \"tools\"\ntitle = \"Tools\"\ncommand = %q\ndefault = true\nenv = { "+
		"TOOL_AGENT = %q, TOOL_AGENT_NOTE = %q }\n", os.Args[0], mode, note)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := Start(t, Options{Args: append([]string{"--config", config}, args...), Dir: dir})
	w := watch(t, p, "editor")
	j := &toolTalk{watcher: w, session: "ahp-session:/" + uuid.NewString()}
	j.begin()

	j.dispatch(j.session, &ahp.SessionActiveClientSetAction{ActiveClient: ahp.SessionActiveClient{ClientID: "editor",
		DisplayName: "Ana's editor", Tools: []ahp.ToolDefinition{{Name: "open_file", Description: "Opens a file.",
			InputSchema: json.RawMessage(`{"type":"object"}`)}}}})
	said := j.say("tools")
	// the tool list arrives a moment after the editor connects
	for try := 0; try < 100 && !strings.Contains(said, "open_file"); try++ {
		said = j.say("tools")
	}
	if !strings.Contains(said, "list_comments") || !strings.Contains(said, "open_file") {
		t.Fatalf("the agent has the tools %q", said)
	}

	j.dispatch(j.session+"/annotations", &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: "why",
		Resource: core.FileURI(filepath.Join(dir, "a.txt")),
		Origin:   ahp.AnnotationOrigin{Session: j.session},
		Entries:  []ahp.AnnotationEntry{{ID: "e1", Text: ahp.Markdown("Why?")}}}})
	if said := j.say("call list_comments {}"); !strings.Contains(said, "id why: a.txt") {
		t.Errorf("the agent reads %q", said)
	}
	var page *Page
	if mode == "http" { // one browser is enough
		page = OpenBrowser(t).Page()
		page.SignIn(p)
		page.Open(p.URL + "/s/" + core.ShortID(j.session) + "/threads?state=all")
		page.WaitText("#review", "Why?")
		page.Live()
	}
	j.say(`call reply_to_comment {"id":"why","text":"Because of **two**."}`)
	if page != nil {
		page.WaitText("#review", "Because of two.")
		page.WaitText("#review", "Tools")
		page.Shot("tools-thread")
	}
	j.say(`call resolve_comment {"id":"why"}`)
	j.wait("the agent's answer in the thread", func() bool {
		s, _ := j.State(j.session + "/annotations").(*ahp.AnnotationsState)
		if s == nil || len(s.Annotations) != 1 || len(s.Annotations[0].Entries) != 2 || !s.Annotations[0].Resolved {
			return false
		}
		by, _ := core.ReadStamp(s.Annotations[0].Entries[1].Meta)
		return by.By.Name == "Tools" && by.By.ID == "agent:tools"
	})

	j.start(`call open_file {"path":"a.txt"}`)
	j.finishCall("a.txt is open")
	if said := j.ended(); said != "failed false: a.txt is open" {
		t.Errorf("the agent got %q", said)
	}
	j.check()
	j.noToken(p, note)
}

// toolTalk is an editor's conversation with the agent.
type toolTalk struct {
	*watcher
	session, chatURI ahp.URI
	turns            int
}

func (j *toolTalk) dispatch(channel ahp.URI, a ahp.Action) {
	j.t.Helper()
	if _, err := j.Dispatch(j.ctx, channel, a); err != nil {
		j.t.Fatal(err)
	}
}

func (j *toolTalk) begin() {
	j.t.Helper()
	ctx, cancel := j.patient()
	defer cancel()
	if err := j.Call(ctx, "createSession", ahp.CreateSessionParams{Channel: j.session}, nil); err != nil {
		j.t.Fatal(err)
	}
	j.mirror(j.session)
	j.mirror(j.session + "/annotations")
	j.wait("the agent to open",
		func() bool { return j.watcher.session(j.session).Lifecycle == ahp.SessionLifecycleReady })
	j.chatURI = j.watcher.session(j.session).DefaultChat
	j.mirror(j.chatURI)
}

func (j *toolTalk) start(text string) {
	j.t.Helper()
	j.turns++
	j.dispatch(j.chatURI, &ahp.ChatTurnStartedAction{TurnID: uuid.NewString(), Message: ahp.Message{Text: text,
		Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}})
}

// ended waits for the end of the turn, and returns the agent's text.
func (j *toolTalk) ended() (said string) {
	j.t.Helper()
	j.wait("the end of a turn", func() bool {
		s := j.chat(j.chatURI)
		return s.ActiveTurn == nil && len(s.Turns) == j.turns
	})
	for _, p := range j.chat(j.chatURI).Turns[j.turns-1].ResponseParts {
		if text, ok := p.Value.(*ahp.MarkdownResponsePart); ok {
			said += text.Content.String()
		}
	}
	return said
}

func (j *toolTalk) say(text string) string {
	j.t.Helper()
	j.start(text)
	return j.ended()
}

// finishCall answers the pending call of the editor's tool.
func (j *toolTalk) finishCall(text string) {
	j.t.Helper()
	var call *ahp.SessionToolClientExecutionRequest
	j.wait("a call of the editor's tool", func() bool {
		for _, r := range j.watcher.session(j.session).InputNeeded {
			call, _ = r.Value.(*ahp.SessionToolClientExecutionRequest)
		}
		return call != nil
	})
	if call.ClientID != "editor" || call.ToolCall.ToolInput.Text != `{"path":"a.txt"}` {
		j.t.Errorf("the editor is asked for %+v", call)
	}
	j.dispatch(call.Chat, &ahp.ChatToolCallCompleteAction{TurnID: call.TurnID, ToolCallID: call.ToolCall.ToolCallID,
		Result: ahp.ToolCallResult{Success: true,
			PastTenseMessage: ahp.Plain("Opened a.txt"),
			Content:          []ahp.ToolResultContent{{Value: &ahp.ToolResultTextContent{Text: text}}}}})
}

// noToken searches everything the program wrote for the agent's token.
func (j *toolTalk) noToken(p *Program, note string) {
	j.t.Helper()
	servers, err := os.ReadFile(note)
	token := regexp.MustCompile(`[A-Z2-7]{40,}`).FindString(string(servers))
	if err != nil || token == "" {
		j.t.Fatalf("the agent was given no token: %v %s", err, servers)
	}
	if strings.Contains(p.Log(), token) {
		j.t.Error("the token is in the log")
	}
	err = filepath.WalkDir(p.Data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(raw), token) {
			j.t.Errorf("the token is in %s", path)
		}
		return err
	})
	if err != nil {
		j.t.Error(err)
	}
}
