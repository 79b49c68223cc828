package hub_test

import (
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

func TestStateOfReadsOnlyItsType(t *testing.T) {
	h := newHub(t, hub.Config{Journal: true})
	b, _ := h.Unjournaled(t.Context())
	h.Durable(b.Upto, 0)
	if !h.Sleep(chat2URI, time.Now().Add(time.Hour)) {
		t.Fatal("the second chat does not sleep")
	}
	want, _, _ := h.State(chatURI)
	must(t, h.Do(func(tx *hub.Tx) {
		if s, ok := hub.StateOf[*ahp.ChatState](tx, chatURI); !ok || ahp.State(s) != want {
			t.Errorf("the step reads %v, %t, want the chat", s, ok)
		}
		for _, uri := range []ahp.URI{termURI, chat2URI, "ahp-chat:/none"} {
			if s, ok := hub.StateOf[*ahp.ChatState](tx, uri); ok || s != nil {
				t.Errorf("the step reads a chat at %s: %v, %t", uri, s, ok)
			}
		}
	}))
	if s, ok := hub.StateOf[*ahp.ChatState](h, chatURI); !ok || ahp.State(s) != want {
		t.Errorf("the hub reads %v, %t, want the chat", s, ok)
	}
	for _, uri := range []ahp.URI{termURI, chat2URI, "ahp-chat:/none"} {
		if s, ok := hub.StateOf[*ahp.ChatState](h, uri); ok || s != nil {
			t.Errorf("the hub reads a chat at %s: %v, %t", uri, s, ok)
		}
	}
}
