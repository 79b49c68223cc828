package hub_test

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Two connections are equally behind, and one of them got a private envelope in between: the merge
// they share does not contain it.
func TestMergeExcludesPrivateEnvelopes(t *testing.T) {
	for _, first := range []string{"told", "other"} {
		h := newHub(t, hub.Config{})
		conns := map[string]*hub.Conn{"told": connect(t, h, "told", chatURI), "other": connect(t, h, "other", chatURI)}
		for range 100 {
			do(t, h, chatURI, delta("a"))
		}
		e := conns["told"].Tell(chatURI, &ahp.ChatTurnsLoadedAction{Turns: []*ahp.Turn{}})
		for range 100 {
			do(t, h, chatURI, delta("b"))
		}
		want := strings.Repeat("a", 100) + strings.Repeat("b", 100)
		for _, who := range []string{first, map[string]string{"told": "other", "other": "told"}[first]} {
			text, told := "", 0
			for _, it := range next(t, conns[who]) {
				switch {
				case it.Env == e:
					told++
				case it.Env != nil:
					text += it.Env.Action.(*ahp.ChatDeltaAction).Content
				}
			}
			if text != want || told != map[string]int{"told": 1}[who] {
				t.Errorf("%s, %s first, read %d letters and was told %d times", who, first, len(text), told)
			}
		}
	}
}

// Connections behind by different amounts read the same, whichever merges first.
func TestMergeExtendsShorterMerge(t *testing.T) {
	h := newHub(t, hub.Config{})
	early, late, latest := connect(t, h, "early", chatURI), connect(t, h, "late", chatURI),
		connect(t, h, "latest", chatURI)
	read := map[*hub.Conn]string{}
	drain := func(c *hub.Conn) {
		for _, it := range next(t, c) {
			if it.Env != nil {
				read[c] += it.Env.Action.(*ahp.ChatDeltaAction).Content
			}
		}
	}
	want := ""
	for i := range 300 {
		letter := string(rune('a' + i%26))
		do(t, h, chatURI, delta(letter))
		want += letter
		if i == 69 || i == 150 || i == 299 {
			drain(early)
		}
		if i == 75 || i == 299 {
			drain(late)
		}
	}
	drain(latest)
	for name, c := range map[string]*hub.Conn{"early": early, "late": late, "latest": latest} {
		if read[c] != want {
			t.Errorf("%s read %d letters, not the 300 there are: %q", name, len(read[c]), read[c])
		}
	}
}
