package hub_test

import (
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

func TestTellReachesOneConnectionInOrder(t *testing.T) {
	h := newHub(t, hub.Config{})
	me, other := connect(t, h, "me", chatURI), connect(t, h, "other", chatURI)
	next(t, me)
	next(t, other)
	do(t, h, chatURI, delta("a"))
	e := me.Tell(chatURI, &ahp.ChatTurnsLoadedAction{Turns: []*ahp.Turn{}})
	do(t, h, chatURI, delta("b"))

	last := int64(0)
	var told bool
	for _, it := range next(t, me) {
		if it.Env.Seq <= last {
			t.Errorf("number %d after %d", it.Env.Seq, last)
		}
		last = it.Env.Seq
		told = told || it.Env == e
	}
	if !told {
		t.Error("what was told did not arrive")
	}
	for _, it := range next(t, other) {
		if it.Env == e {
			t.Error("somebody else was told")
		}
	}
	if me.Tell("ahp-chat:/nobody", &ahp.ChatTurnsLoadedAction{}) != nil {
		t.Error("a channel that is not there told something")
	}
}
