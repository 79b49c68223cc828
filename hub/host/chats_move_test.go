package host

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func chatsOf(s *ahp.SessionState) (uris []ahp.URI) {
	for _, c := range s.Chats {
		uris = append(uris, c.Resource)
	}
	return uris
}

// A moved chat keeps its turns and the subscribers that may see it. A guest of the old session is
// unsubscribed.
func TestAMovedChat(t *testing.T) {
	inWorld(t, func(w *world) {
		c, guest := w.create(), w.connect(viewer, "vic")
		const chat, two = "ahp-chat:/2", "ahp-session:/two"
		w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: two}))
		w.must(w.host.CreateChat(w.t.Context(), c.caller, ahp.CreateChatParams{Channel: session, Chat: chat}))
		c.subscribe(chat, session, two)
		guest.subscribe(chat, session)
		c.do(chat, &ahp.ChatTurnStartedAction{TurnID: "t1", Message: user("one")})
		synctest.Wait()
		to := ahp.MoveChatDestination{Value: &ahp.MoveChatSessionDestination{Session: two}}
		_, err := w.host.MoveChat(w.t.Context(), guest.caller, ahp.MoveChatParams{Channel: chat, Destination: to})
		if code(err) != ahp.CodePermissionDenied {
			t.Errorf("a guest moves chats: %v", err)
		}
		res, err := w.host.MoveChat(w.t.Context(), c.caller, ahp.MoveChatParams{Channel: chat, Destination: to})
		if err != nil || res.Session != two {
			t.Fatalf("moved to %s, %v", res.Session, err)
		}
		c.do(chat, &ahp.ChatTurnStartedAction{TurnID: "t2", Message: user("two")})
		synctest.Wait()
		st, _ := hub.StateOf[*ahp.SessionState](w.hub, two)
		if got := chatsOf(st); len(got) != 2 || got[0] != chat || slices.Contains(chatsOf(w.session()), ahp.URI(chat)) {
			t.Errorf("the chats are %v and %v", chatsOf(w.session()), got)
		}
		if info, _ := w.hub.Info(chat); info.Session != two {
			t.Errorf("it is of %s", info.Session)
		}
		if got := guest.caller.Conn.Subscribed(); slices.Contains(got, chat) {
			t.Error("a guest of the session it left follows it")
		}
		if got := w.agent.prompts(); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("the agents were asked %v", got)
		}
		c.converged()
	})
}

// The source of a side chat reaches the agent once, with the selection (AHP requirement 95).
func TestSideChatKnowsItsSource(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.create()
		w.agent.prompt = nil
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t1", Message: user("what was asked")})
		synctest.Wait()
		w.must(w.host.CreateChat(w.t.Context(), c.caller, ahp.CreateChatParams{Channel: session, Chat: "ahp-chat:/2",
			Source: &ahp.ChatSource{Value: &ahp.SideChatSource{Chat: w.chat(), TurnID: "t1",
				Selection: &ahp.SideChatSelection{Text: "this bit"}}}}))
		c.do("ahp-chat:/2", &ahp.ChatTurnStartedAction{TurnID: "a", Message: user("why?")})
		synctest.Wait()
		c.do("ahp-chat:/2", &ahp.ChatTurnStartedAction{TurnID: "b", Message: user("and?")})
		synctest.Wait()
		first, second := given(w.agent.turns[1]), given(w.agent.turns[2])
		if !strings.Contains(first, "what was asked") || !strings.Contains(first, "this bit") || second != "" {
			t.Errorf("the agent was given %q, then %q", first, second)
		}
	})
}

func given(t agent.Turn) (text string) {
	for _, a := range t.Message.Attachments {
		if v, ok := a.Value.(*ahp.SimpleMessageAttachment); ok {
			text += v.ModelRepresentation
		}
	}
	return text
}

func TestDirectoriesChange(t *testing.T) { // AHP requirements 83 and 117
	a, b, other := core.FileURI(t.TempDir()), core.FileURI(t.TempDir()), core.FileURI(t.TempDir())
	set := func(d ahp.URI) ahp.Action { return &ahp.SessionWorkingDirectorySetAction{Directory: d} }
	remove := func(d ahp.URI) ahp.Action { return &ahp.SessionWorkingDirectoryRemovedAction{Directory: d} }
	replace := func(d, by ahp.URI) ahp.Action {
		return &ahp.SessionWorkingDirectoryReplacedAction{Directory: d, Replacement: by}
	}
	immutable := &ahp.MultipleWorkingDirectoriesCapability{ImmutablePrimary: ahp.Ptr(true)}
	replaceable := &ahp.MultipleWorkingDirectoriesCapability{ImmutablePrimary: ahp.Ptr(true),
		PrimaryReplacement: ahp.Ptr(true)}
	free := &ahp.MultipleWorkingDirectoriesCapability{}
	cases := map[string]struct {
		can     *ahp.MultipleWorkingDirectoriesCapability
		do      ahp.Action
		want    []ahp.URI
		refused string
	}{
		"one agent, one directory":     {nil, set(other), []ahp.URI{a}, "fixed"},
		"added":                        {free, set(other), []ahp.URI{a, b, other}, ""},
		"added as it is spelled":       {free, set(other + "/"), []ahp.URI{a, b, other}, ""},
		"added again":                  {free, set(b), []ahp.URI{a, b}, ""},
		"not there":                    {free, set("file:///no/such"), []ahp.URI{a, b}, "does not exist"},
		"not of this machine":          {free, set("https://x/y"), []ahp.URI{a, b}, "not a file://"},
		"removed":                      {immutable, remove(b), []ahp.URI{a}, ""},
		"the first removed":            {free, remove(a), []ahp.URI{b}, ""},
		"the first, which stays":       {immutable, remove(a), []ahp.URI{a, b}, "can't be removed"},
		"the first, not replaced":      {immutable, replace(a, other), []ahp.URI{a, b}, "can't be replaced"},
		"the first replaced":           {replaceable, replace(a, other), []ahp.URI{other, b}, ""},
		"replaceable is not removable": {replaceable, remove(a), []ahp.URI{a, b}, "can't be removed"},
		"replaced":                     {free, replace(b, other), []ahp.URI{a, other}, ""},
		"replaced by the first":        {free, replace(b, a), []ahp.URI{a}, ""},
		"what is not there, replaced":  {free, replace(other, a), []ahp.URI{a, b}, "no such directory"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				many := &fake{about: &ahp.AgentCapabilities{MultipleWorkingDirectories: tc.can}}
				w := newWorld(t, Config{Agents: map[string]agent.Backend{"fake": many}}, hub.Config{})
				defer w.stop()
				c := w.connect(owner, "ana-1")
				w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: session,
					WorkingDirectories: []ahp.URI{a, b}}))
				c.subscribe(session)
				synctest.Wait()
				if reason := c.try(session, tc.do); (reason != "") != (tc.refused != "") ||
					!strings.Contains(reason, tc.refused) {
					t.Errorf("refused with %q, want %q", reason, tc.refused)
				}
				if d := cmp.Diff(tc.want, w.session().WorkingDirectories); d != "" {
					t.Error(d)
				}
				c.say("go on")
				synctest.Wait()
				if d := cmp.Diff(core.LocalPaths(tc.want), many.spec.Dirs); d != "" {
					t.Errorf("the agent works in %s", d)
				}
				c.converged()
			})
		})
	}
}
