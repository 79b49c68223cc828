package pages_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// The clock of the regular expressions for syntax highlighting runs a moment longer.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}

// held starts a turn that does nothing until it is stopped, so that a test can act as the agent.
func (s *testSite) held() (base, chat string, uri ahp.URI, turn string) {
	s.t.Helper()
	base, chat = s.session()
	s.say(chat, "hold")
	s.until(base, "Working…")
	session, _ := s.host.SessionByShort(strings.TrimPrefix(base, "/s/"))
	state, _ := hub.StateOf[*ahp.SessionState](s.hub, session)
	c, _ := hub.StateOf[*ahp.ChatState](s.hub, state.DefaultChat)
	return base, chat, state.DefaultChat, c.ActiveTurn.ID
}

// agent dispatches actions on a chat like the agent.
func (s *testSite) agent(uri ahp.URI, actions ...ahp.Action) {
	s.t.Helper()
	err := s.hub.Do(func(tx *hub.Tx) {
		for _, a := range actions {
			tx.Apply(uri, a)
		}
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func text(turn, part string) ahp.Action {
	return &ahp.ChatResponsePartAction{TurnID: turn, Part: ahp.ResponsePart{Value: &ahp.MarkdownResponsePart{ID: part}}}
}

func delta(turn, part, s string) ahp.Action {
	return &ahp.ChatDeltaAction{TurnID: turn, PartID: part, Content: s}
}

const answer = "Here is **the plan** for `main.go`, with <b>no</b> HTML:\n\n1. read\n2. write\n\n3. check\n\n" +
	"```go\nfunc main() {\n\n\tprintln(\"<hi> & bye\")\n}\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 " +
	"|\n\n> quoted\n\nThe *end*."

// A page that followed the stream must equal a reloaded page, however the text was split.
func TestWatchedPageEqualsReload(t *testing.T) {
	s := open(t)
	base, _, uri, turn := s.held()
	b := s.tab(base)
	s.agent(uri, text(turn, "p1"))
	for i := 0; i < len(answer); i += 7 {
		s.agent(uri, delta(turn, "p1", answer[i:min(i+7, len(answer))]))
		if i%5 == 0 {
			b.wait("turns", answer[:4]) // render some of it in between
		}
	}
	s.agent(uri,
		&ahp.ChatToolCallStartAction{TurnID: turn, ToolCallID: "c1", ToolName: "read", DisplayName: "Read"},
		&ahp.ChatToolCallReadyAction{TurnID: turn, ToolCallID: "c1", InvocationMessage: ahp.Markdown("Read `x`"),
			Confirmed: ahp.ToolCallConfirmationReasonNotNeeded},
		&ahp.ChatToolCallCompleteAction{TurnID: turn, ToolCallID: "c1", Result: ahp.ToolCallResult{Success: true,
			PastTenseMessage: ahp.Plain("Read it")}},
		text(turn, "p2"), delta(turn, "p2", "After the tool."))
	b.wait("turns", "After the tool.")
	s.post(base+strings.TrimPrefix(s.chatOf(base), base)+"/stop", url.Values{})
	b.wait("turns", "Stopped")
	settle(b, s, base)
}

func (s *testSite) chatOf(base string) string {
	page := s.get(base)
	_, rest, _ := strings.Cut(page, `action="`+base+"/c/")
	id, _, _ := strings.Cut(rest, "/")
	return base + "/c/" + id
}

// settle reads until a page shows what a reload shows, or says where they differ.
func settle(b *tab, s *testSite, path string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	for {
		fresh := s.tab(path)
		_ = fresh.ws.CloseNow()
		want, got := fresh.html("turns"), b.html("turns")
		if plain(want) == plain(got) {
			return
		}
		if err := b.read(ctx); err != nil {
			b.t.Fatalf("watched:\n%s\n\nreloaded:\n%s", got, want)
		}
	}
}

// plain leaves out space between tags, which parsing a whole page and a piece of one treat differently.
func plain(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "> <", "><"), " </", "</")
}

func TestStreamedTextCostsItsOwnBytes(t *testing.T) {
	s := open(t)
	base, _, uri, turn := s.held()
	b := s.tab(base)
	s.agent(uri, text(turn, "p"))
	long := strings.Repeat("All work and no play makes a dull page. ", 100)
	fence := "```\n" + strings.Repeat("x := <-ch // and so on\n", 300) + "```\n"
	list := strings.Repeat("- a point that is made\n", 60)
	whole := long + "\n\n" + fence + "\n" + list + "\nThe end."
	for i := 0; i < len(whole); i += 64 {
		s.agent(uri, delta(turn, "p", whole[i:min(i+64, len(whole))]))
		b.t.Helper()
	}
	b.wait("turns", "The end.")
	sent := 0
	for _, f := range b.raw {
		sent += len(f)
	}
	if shown := len(b.html("turns")); sent > 3*shown {
		t.Errorf("%d bytes were sent for %d bytes of HTML", sent, shown)
	}
}

// An answer that came and was over before anybody drew it is no patch that keeps a page from answering keys.
func TestAnAnswerAtOnceComesInPieces(t *testing.T) {
	s := open(t)
	base, _, uri, turn := s.held()
	b := s.tab(base)
	whole := strings.Repeat("All work and no play makes a dull page.\n\n", 500) + "The end."
	s.agent(uri, text(turn, "p"), delta(turn, "p", whole), &ahp.ChatTurnCompleteAction{TurnID: turn})
	b.wait("turns", "The end.")
	pieces := 0
	for _, raw := range b.raw {
		var frame []json.RawMessage
		var patches [][]any
		if json.Unmarshal(raw, &frame) != nil || json.Unmarshal(frame[2], &patches) != nil {
			t.Fatalf("a frame is %s", raw)
		}
		for _, p := range patches {
			if html, ok := p[len(p)-1].(string); ok && len(html) > 8000 {
				t.Errorf("a patch has %d characters: %.60s", len(html), html)
			}
			pieces++
		}
	}
	if pieces < 500 {
		t.Errorf("500 paragraphs came as %d patches", pieces)
	}
	settle(b, s, base)
}

func TestOneRenderForAllViewers(t *testing.T) {
	s := open(t)
	base, _, uri, turn := s.held()
	tabs := make([]*tab, 10)
	for i := range tabs {
		tabs[i] = s.tab(base)
	}
	s.agent(uri, text(turn, "p"), delta(turn, "p", "start"))
	for _, b := range tabs {
		b.wait("turns", "start")
		b.raw = nil
	}
	before := s.pages.Renders()
	for i := range 20 {
		s.agent(uri, delta(turn, "p", fmt.Sprintf(" word%d.", i)))
		tabs[0].wait("turns", fmt.Sprintf("word%d.", i))
	}
	for _, b := range tabs {
		b.wait("turns", "word19.")
	}
	if drawn := s.pages.Renders() - before; drawn != 20 {
		t.Errorf("20 updates for ten viewers were drawn %d times", drawn)
	}
	for _, b := range tabs[1:] {
		if !bytes.Equal(bytes.Join(b.raw, nil), bytes.Join(tabs[0].raw, nil)) {
			t.Error("two viewers were sent different bytes")
		}
	}
}

func TestStreamResumesAfterBreak(t *testing.T) {
	s := open(t)
	base, _, uri, turn := s.held()
	b := s.tab(base)
	s.agent(uri, text(turn, "p"), delta(turn, "p", "one "))
	b.wait("turns", "one")
	_ = b.ws.CloseNow()
	other := s.tab(base) // somebody else keeps watching
	s.agent(uri, delta(turn, "p", "two "))
	other.wait("turns", "two")
	b.raw = nil
	b.connect(s)
	b.wait("turns", "two")
	if strings.Contains(string(b.raw[0]), `"r","turns"`) {
		t.Error("the whole transcript was sent again although one patch was missing")
	}
	settle(b, s, base)
}

func TestStreamOfEarlierRunIsSentWhole(t *testing.T) {
	s := open(t)
	base, _, uri, turn := s.held()
	b := s.tab(base)
	s.agent(uri, text(turn, "p"), delta(turn, "p", "only the new run knows this"))
	s.until(base, "only the new run")
	for name, m := range b.mark {
		parts := strings.Split(m, "~")
		b.mark[name] = parts[0] + "~0badc0de~" + parts[2]
	}
	_ = b.ws.CloseNow()
	b.connect(s)
	b.wait("turns", "only the new run knows this")
	settle(b, s, base)
}

func TestHeadFollowsTheSession(t *testing.T) {
	s := open(t)
	base, chat := s.session()
	b := s.tab(base)
	s.say(chat, "hold")
	b.wait("status", "Running")
	b.wait("composer-mode", "Send next")
	b.wait("rail-list", "Running")
	s.post(base+"/title", url.Values{"title": {"A <better> title"}})
	b.wait("title", "A <better> title")
	s.post(chat+"/message", url.Values{"text": {"next please"}, "how": {"queue"}})
	b.wait("queue", "next please")
	s.post(chat+"/stop", url.Values{})
	b.wait("turns", "Stopped")
}

func TestInboxIsLive(t *testing.T) {
	s := open(t)
	b := s.tab("/")
	_, chat := s.session()
	b.wait("inbox", "New session")
	s.say(chat, "run echo hi")
	b.wait("inbox", "Needs you")
	if attr(b.id("inbox"), "data-needs") != "1" {
		t.Errorf("the inbox counts %q sessions that wait", attr(b.id("inbox"), "data-needs"))
	}
}
