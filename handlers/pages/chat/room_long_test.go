package chat

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

// openPage is a page's blocks: their HTML by id, as patches leave it.
type openPage map[string]string

var blockElement = regexp.MustCompile(`(?s)<div id="(b[0-9a-z]+\.[0-9]+)">(.*?)\n?</div>`)

func (o openPage) apply(t *testing.T, patches []live.Patch) {
	t.Helper()
	for _, p := range patches {
		switch {
		case p.Op == live.OpRemove:
			delete(o, p.ID)
		case p.Op == live.OpGrow:
			if _, ok := o[p.ID]; !ok {
				t.Fatalf("text grows in %s, which the page does not have", p.ID)
			}
			o[p.ID] += p.Grow.HTML
		case strings.Contains(p.HTML, "<article"):
			clear(o)
			fallthrough
		default:
			for _, m := range blockElement.FindAllStringSubmatch(p.HTML, -1) {
				o[m[1]] = m[2]
			}
		}
	}
}

func (o openPage) size() (n int) {
	for _, html := range o {
		n += len(html)
	}
	return n
}

// TestPageOfALongTurnStaysSmallWhileItStreams streams two megabytes into an open page, which always has only the
// beginning and the end, like a reloaded page.
func TestPageOfALongTurnStaysSmallWhileItStreams(t *testing.T) {
	chat := ahp.State(&ahp.ChatState{Resource: "ahp-chat:/b", Status: ahp.SessionStatusInProgress,
		ActiveTurn: &ahp.ActiveTurn{ID: "t",
			ResponseParts: ahp.NewParts(ahp.ResponsePart{Value: &ahp.MarkdownResponsePart{ID: "p"}})}})
	room := &chatRoom{chat: "ahp-chat:/b", session: "ahp-session:/a", steers: func() bool { return false },
		base: "/s/a/c/b"}
	states := live.States{room.chat: chat, room.session: &ahp.SessionState{}}
	room.Opened(states)
	page, sent, most := openPage{}, 0, 0
	for i := range 400 {
		text := fmt.Sprintf("paragraph %d\n%s\n", i, strings.Repeat(strings.Repeat("w ", 50)+"\n", 50))
		if i%4 == 0 {
			text += "\n"
		}
		chat = ahp.Reduce(chat, &ahp.ChatDeltaAction{TurnID: "t", PartID: "p", Content: text})
		states = live.States{room.chat: chat, room.session: &ahp.SessionState{}}
		patches := room.Changed(states, live.News{})
		page.apply(t, patches)
		most = max(most, page.size())
		for _, p := range patches {
			sent += len(p.HTML) + len(p.Grow.HTML)
		}
	}
	if most > 256<<10 {
		t.Errorf("the page had %d KB of a turn of 2 MB", most>>10)
	}
	if sent > 40<<20 {
		t.Errorf("%d MB were sent for 2 MB of text", sent>>20)
	}
	turns := turnsOf(room.state(states), room.base, "")
	turns[0].Measure()
	reloaded := openPage{}
	reloaded.apply(t, []live.Patch{{Op: live.OpAppend, HTML: live.Render(part.TurnPart(turns[0]))}})
	if len(reloaded) != len(page) {
		t.Fatalf("the open page has %d blocks, a reloaded one %d", len(page), len(reloaded))
	}
	for id := range reloaded {
		if page[id] == "" {
			t.Errorf("the open page lacks block %s", id)
		}
	}
	if html := live.Render(part.TurnPart(turns[0])); !strings.Contains(html, "paragraph 0") ||
		!strings.Contains(html, "paragraph 399") || !strings.Contains(html, "Show more") {
		t.Error("the page does not have the beginning, the end and a link to the rest")
	}
}
