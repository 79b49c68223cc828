package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
)

func client(id string) core.Caller { return core.Caller{Principal: ana, ClientID: id} }

// offers returns an action by which a client joins with tools.
func offers(id, name string, tools ...string) *ahp.SessionActiveClientSetAction {
	a := &ahp.SessionActiveClientSetAction{ActiveClient: ahp.SessionActiveClient{ClientID: id, DisplayName: name,
		Tools: []ahp.ToolDefinition{}}}
	for _, t := range tools {
		a.ActiveClient.Tools = append(a.ActiveClient.Tools,
			ahp.ToolDefinition{Name: t, Title: "Do " + t, Description: "Does " + t + ".",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)})
	}
	return a
}

// clientsCall waits for a call of a client's tool in the chat.
func (w *world) clientsCall(session ahp.URI) (turn string, call *ahp.ToolCallRunningState) {
	w.Helper()
	w.until("a call of a client's tool", func() bool {
		for _, r := range w.session(session).InputNeeded {
			if v, ok := r.Value.(*ahp.SessionToolClientExecutionRequest); ok {
				turn, call = v.TurnID, &v.ToolCall
			}
		}
		return call != nil
	})
	return turn, call
}

type answer struct {
	text   string
	failed bool
}

// calling calls a tool and returns a channel for its answer.
func (w *world) calling(c *mcp.ClientSession, tool string, args any) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		res, err := c.CallTool(w.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			got <- answer{err.Error(), true}
			return
		}
		a := answer{failed: res.IsError}
		for _, part := range res.Content {
			raw, _ := json.Marshal(part)
			a.text += string(raw)
		}
		got <- a
	}()
	return got
}

func TestClientTools(t *testing.T) { // AHP requirements 136, 140, 141, 144
	w := newWorld(t, Limits{})
	changed := make(chan struct{}, 100)
	c := w.connect(w.open(one), &mcp.ClientOptions{ToolListChangedHandler: func(context.Context,
		*mcp.ToolListChangedRequest) {
		changed <- struct{}{}
	}})
	has := func(names ...string) func() bool {
		return func() bool {
			list := w.names(c)
			return len(list) == 6+len(names) && !slices.ContainsFunc(names,
				func(n string) bool { return !slices.Contains(list, n) })
		}
	}
	w.do(client("vs-1"), one, offers("vs-1", "Ana's editor", "open_file", "list_comments", "a.b/c"))
	<-changed
	w.until("the first client's tools", has("open_file", "list_comments_Ana_s_editor", "a_b_c"))
	w.do(client("vs-2"), one, offers("vs-2", "Laptop", "open_file"))
	<-changed
	w.until("the second client's tool", has("open_file", "list_comments_Ana_s_editor", "a_b_c", "open_file_Laptop"))

	w.fails(c, "open_file", map[string]any{"path": "x"}, "No turn is running")
	w.say(one, "t1")
	got := w.calling(c, "open_file_Laptop", map[string]any{"path": "a.txt"})
	turn, call := w.clientsCall(one)
	by, ok := call.Contributor.Value.(*ahp.ToolCallClientContributor)
	if !ok || by.ClientID != "vs-2" || call.ToolName != "open_file" || call.ToolInput.Text != `{"path":"a.txt"}` ||
		turn != "t1" {
		t.Errorf("the chat shows %+v", call)
	}
	done := &ahp.ChatToolCallCompleteAction{TurnID: turn, ToolCallID: call.ToolCallID,
		Result: ahp.ToolCallResult{Success: true,
			PastTenseMessage: ahp.Plain("Opened"),
			Content: []ahp.ToolResultContent{{Value: &ahp.ToolResultTextContent{Text: "line one"}},
				{Value: &ahp.ToolResultEmbeddedResourceContent{ContentType: "image/png",
					Data: base64.StdEncoding.EncodeToString([]byte("png"))}}}}}
	chat := w.session(one).DefaultChat
	if out, err := w.host.Dispatch(t.Context(), client("vs-1"), chat, 1, done); err != nil ||
		!strings.Contains(out.Rejected, "only the client that contributed") {
		t.Errorf("another client answers: %v %+v", err, out)
	}
	w.do(client("vs-2"), chat, done)
	if a := <-got; a.failed || !strings.Contains(a.text, "line one") || !strings.Contains(a.text, "image/png") {
		t.Errorf("the agent got %+v", a)
	}

	got = w.calling(c, "open_file", nil)
	w.clientsCall(one)
	w.host.Unsubscribed(client("vs-1"), one)
	if a := <-got; !a.failed || !strings.Contains(a.text, "disconnected") {
		t.Errorf("of a client that left the agent got %+v", a)
	}
	<-changed
	w.until("the first client's tools to go", has("open_file"))
}

func TestAbandonedClientTool(t *testing.T) {
	w := newWorld(t, Limits{Calls: 1})
	c := w.connect(w.open(one), nil)
	w.do(client("vs-1"), one, offers("vs-1", "Editor", "open_file"))
	w.until("the client's tool", func() bool { return slices.Contains(w.names(c), "open_file") })
	w.say(one, "t1")

	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "open_file"})
		ended <- err
	}()
	w.clientsCall(one)
	w.fails(c, "list_comments", nil, "Too many calls")
	giveUp()
	<-ended
	w.until("the call to end in the chat", func() bool { return len(w.session(one).InputNeeded) == 0 })
	w.until("room for another call", func() bool { _, failed := w.call(c, "list_comments", nil); return !failed })

	got := w.calling(c, "open_file", nil)
	w.clientsCall(one)
	w.agent.end <- struct{}{} // the turn ends during the call
	if a := <-got; !a.failed {
		t.Errorf("after its turn's end the agent got %+v", a)
	}
}

// An agent that asks for progress gets it while a client's tool runs, over a bridge as well.
func TestProgressOfClientTool(t *testing.T) {
	for _, bridged := range []bool{false, true} {
		w := newWorld(t, Limits{Progress: time.Millisecond})
		signs := make(chan any, 1)
		opts := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context,
			r *mcp.ProgressNotificationClientRequest) {
			select {
			case signs <- r.Params.ProgressToken:
			default:
			}
		}}
		s := w.open(one)
		c := w.connect(s, opts)
		if bridged {
			c, _ = w.overBridge(s, opts)
		}
		w.do(client("vs-1"), one, offers("vs-1", "Editor", "open_file"))
		w.until("the client's tool", func() bool { return slices.Contains(w.names(c), "open_file") })
		w.say(one, "t1")
		params := &mcp.CallToolParams{Name: "open_file"}
		params.SetProgressToken("mine")
		ended := make(chan error, 1)
		go func() { _, err := c.CallTool(t.Context(), params); ended <- err }()
		if token := <-signs; token != "mine" {
			t.Errorf("the agent hears of %v", token)
		}
		w.host.Unsubscribed(client("vs-1"), one)
		w.must(<-ended)
	}
}

// A call belongs to the turn whose agent reports the tool call.
func TestTurnOfCall(t *testing.T) {
	w := newWorld(t, Limits{})
	c := w.connect(w.open(one), nil)
	w.do(client("vs-1"), one, offers("vs-1", "Editor", "open_file"))
	w.until("the client's tool", func() bool { return slices.Contains(w.names(c), "open_file") })
	first := w.say(one, "t1")
	other := core.NewChatURI()
	w.must(w.host.CreateChat(t.Context(), client("ana"), ahp.CreateChatParams{Channel: one, Chat: other}))
	w.do(client("ana"), other, &ahp.ChatTurnStartedAction{TurnID: "t2",
		Message: ahp.Message{Text: "go", Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}})
	<-w.agent.turns
	w.must(first.Out.Emit(&ahp.ChatToolCallStartAction{ToolCallID: "mine", ToolName: "other",
		DisplayName: "ahphub_open_file"}))
	w.must(first.Out.Emit(&ahp.ChatToolCallReadyAction{ToolCallID: "mine",
		Confirmed: ahp.ToolCallConfirmationReasonNotNeeded}))
	got := w.calling(c, "open_file", nil)
	if turn, _ := w.clientsCall(one); turn != "t1" {
		t.Errorf("the call is in %s", turn)
	}
	w.host.Unsubscribed(client("vs-1"), one)
	<-got
}

func TestNames(t *testing.T) {
	tool := func(client, name string) host.ClientTool {
		return host.ClientTool{Client: ahp.SessionActiveClient{ClientID: client}, Tool: ahp.ToolDefinition{Name: name}}
	}
	long := strings.Repeat("x", 100)
	got := names([]string{"list"}, []host.ClientTool{tool("a", "list"), tool("a", "öffne"), tool("b", "list"),
		tool("a", "list!"), tool("a", "list?"),
		tool("a", long), tool("b", long), tool("b b", long), tool("b.b", long)})
	seen := map[string]bool{"list": true}
	for _, name := range got {
		if seen[name] || len(name) > mostName || slug(name, mostName) != name {
			t.Errorf("%q of %q", name, got)
		}
		seen[name] = true
	}
}

func FuzzNames(f *testing.F) {
	f.Add("open", "open", "Ana", "Ben")
	f.Add("", "tool", "", "")
	f.Fuzz(func(t *testing.T, a, b, one, two string) {
		tools := []host.ClientTool{}
		for _, c := range []string{one, two} {
			for _, name := range []string{a, b} {
				tools = append(tools, host.ClientTool{Client: ahp.SessionActiveClient{ClientID: c},
					Tool: ahp.ToolDefinition{Name: name}})
			}
		}
		got := names([]string{"tool"}, tools)
		for i, name := range got {
			if name == "" || name == "tool" || len(name) > mostName || slices.Contains(got[:i], name) {
				t.Fatalf("%q", got)
			}
		}
	})
}
