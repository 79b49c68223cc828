package host

import (
	"encoding/json"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// commander is an agent with two commands.
type commander struct{ *fake }

func (commander) Commands() []agent.SlashCommand {
	return []agent.SlashCommand{{Name: "hello", Description: "Say \"hello\"", Hint: "[name]"}, {Name: "help"}}
}

// Editors drop commands without these keys.
func TestCommandsAreOfferedAsEditorsReadThem(t *testing.T) {
	w := newWorld(t, Config{Agents: map[string]agent.Backend{"fake": commander{&fake{}}}}, hub.Config{})
	defer w.stop()
	c := w.connect(owner, "ana-1")
	w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: session}))
	res, err := w.host.Completions(w.t.Context(), c.caller, ahp.CompletionsParams{Channel: session, Kind: "userMessage",
		Text: "/hel", Offset: 4})
	w.must(err)
	var got []string
	for _, item := range res.Items {
		a, _ := item.Attachment.Value.(*ahp.SimpleMessageAttachment)
		raw, _ := json.Marshal([]json.RawMessage{a.Meta["command"], a.Meta["description"], a.Meta["argumentHint"]})
		got = append(got, item.InsertText+string(raw))
	}
	if len(got) != 2 || got[0] != `/hello ["hello","Say \"hello\"","[name]"]` || got[1] != `/help ["help","",null]` {
		t.Errorf("offered are %q", got)
	}
}
