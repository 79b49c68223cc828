package access

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

const mine, theirs = "ahp-session:/mine", "ahp-session:/theirs"

var (
	root   = hub.ChannelInfo{URI: ahp.RootURI, Kind: ahp.ChannelRoot}
	myChat = hub.ChannelInfo{URI: "ahp-chat:/1", Kind: ahp.ChannelChat, Session: mine}
	other  = hub.ChannelInfo{URI: "ahp-chat:/2", Kind: ahp.ChannelChat, Session: theirs}
)

func guest(r Role) Principal { return Principal{ID: "guest:1", Name: "Ana", Role: r, Session: mine} }

func TestEveryActionHasARight(t *testing.T) {
	known := map[string]bool{}
	for _, info := range ahp.Actions() {
		known[info.Type] = true
		need, ok := actionRights[info.Type]
		if !ok {
			t.Errorf("%s has no row in actionRights: decide who may dispatch it", info.Type)
		}
		if info.Dispatchable == (need == rightHost) {
			t.Errorf("%s: a client may dispatch it: %v, but the table says %q", info.Type, info.Dispatchable, need)
		}
	}
	if len(known) != 106 {
		t.Errorf("the protocol has %d actions, 106 were expected", len(known))
	}
	for a := range actionRights {
		if !known[a] {
			t.Errorf("actionRights has %s, which is no action of the protocol", a)
		}
	}
	dispatchable := slices.DeleteFunc(slices.Collect(maps.Values(actionRights)),
		func(r Right) bool { return r == rightHost })
	if len(dispatchable) != 47 {
		t.Errorf("%d actions may be dispatched by clients, 47 were expected", len(dispatchable))
	}
}

// hostSends lists the …Params types that only hosts send.
var hostSends = []string{"authRequired", "sessionAdded", "sessionRemoved", "sessionSummaryChanged", "progress",
	"otlpExportLogs", "otlpExportTraces", "otlpExportMetrics"}

// Every …Params type of hub/ahp is a method, except those that only hosts send.
func TestEveryMethodHasARight(t *testing.T) {
	files, err := filepath.Glob("../ahp/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("the protocol's files are not where they were", err)
	}
	params := regexp.MustCompile(`(?m)^type ([A-Z]\w+)Params struct`)
	known := map[string]bool{}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range params.FindAllStringSubmatch(string(src), -1) {
			name := strings.ToLower(m[1][:1]) + m[1][1:]
			if !slices.Contains(hostSends, name) {
				known[name] = true
			}
		}
	}
	for m := range known {
		if _, ok := methodRights[m]; !ok {
			t.Errorf("the method %s has no row in methodRights", m)
		}
	}
	for m := range methodRights {
		if !known[m] {
			t.Errorf("methodRights has %s, which is no method of the protocol", m)
		}
	}
}

func TestUnknownIsRefused(t *testing.T) {
	owner := Owner("")
	for what, err := range map[string]error{
		"action": MayAct(owner, "chat/invented", myChat),
		"method": MayCall(owner, "invented", root),
		"route":  MayVisit(owner, "GET /invented"),
		"socket": MayConnect(owner, "/invented"),
		"host's": MayAct(owner, "chat/delta", myChat),
	} {
		var denied *Denied
		if !errors.As(err, &denied) || denied.Reason == "" {
			t.Errorf("%s: got %v, want a refusal with a sentence", what, err)
		}
	}
}

func TestRolesAndActions(t *testing.T) {
	driver := guest(RoleDriver)
	driver.Prompt, driver.Approve, driver.Type = true, true, true
	who := map[string]Principal{"nobody": {}, "viewer": guest(RoleViewer), "commenter": guest(RoleCommenter),
		"driver without switches": guest(RoleDriver), "driver": driver, "owner": Owner("")}
	for _, test := range []struct {
		action string
		may    string
	}{
		{"annotations/set", "commenter, driver without switches, driver, owner"},
		{"changeset/filesReviewChanged", "commenter, driver without switches, driver, owner"},
		{"chat/turnStarted", "driver, owner"},
		{"chat/toolCallConfirmed", "driver, owner"},
		{"terminal/input", "driver, owner"},
		{"session/configChanged", "owner"},
		{"session/titleChanged", "owner"},
		{"chat/truncated", "owner"},
	} {
		may := strings.Split(test.may, ", ")
		for name, p := range who {
			err := MayAct(p, test.action, myChat)
			if want := slices.Contains(may, name); want != (err == nil) {
				t.Errorf("%s as %s: %v, want allowed %v", test.action, name, err, want)
			}
		}
	}
}

// A viewer's link cannot write anything (C7 of the UI's criteria).
func TestViewerWritesNothing(t *testing.T) {
	for a := range actionRights {
		if MayAct(guest(RoleViewer), a, myChat) == nil {
			t.Errorf("a viewer may dispatch %s", a)
		}
	}
	for m, row := range methodRights {
		if row.need != RightRead && MayCall(guest(RoleViewer), m, myChat) == nil {
			t.Errorf("a viewer may call %s", m)
		}
	}
	theirOwn := []string{"POST /settings/theme", "POST /s/{session}/threads/seen", "POST /settings/notifications",
		"POST /settings/notifications/browser", "POST /s/{session}/mute"} // no other person sees it
	for r := range routeRights {
		if MayVisit(guest(RoleViewer), r) == nil && !strings.HasPrefix(r, "GET ") && !slices.Contains(theirOwn, r) {
			t.Errorf("a viewer may %s", r)
		}
	}
}

func TestGuestsStayInTheirSession(t *testing.T) {
	driver := guest(RoleDriver)
	driver.Prompt, driver.Approve, driver.Type = true, true, true
	otlp := hub.ChannelInfo{URI: "ahp-otlp:/logs", Kind: ahp.ChannelOtlp}
	for a := range actionRights {
		for _, ch := range []hub.ChannelInfo{other, otlp, {}} {
			if MayAct(driver, a, ch) == nil {
				t.Errorf("%s reaches %s", a, ch)
			}
		}
		if MayAct(driver, a, root) == nil {
			t.Errorf("%s reaches root", a)
		}
	}
	for m, row := range methodRights {
		if MayCall(driver, m, other) == nil {
			t.Errorf("%s reaches another session", m)
		}
		if hostwide := MayCall(driver, m, hub.ChannelInfo{}) == nil; hostwide &&
			!(row.hostwide && row.need == RightRead) {
			t.Errorf("%s without a channel reaches the whole host", m)
		}
	}
	if err := MayCall(driver, "initialize", hub.ChannelInfo{}); err != nil {
		t.Error("a guest cannot connect:", err)
	}
}

func TestOthersThreadsAreProtected(t *testing.T) {
	me := guest(RoleCommenter)
	for _, test := range []struct {
		name string
		err  error
		may  bool
	}{
		{"my thread", MayResolve(me, "guest:1"), true},
		{"a thread I wrote in", MayResolve(me, "owner", "guest:1"), true},
		{"a thread of others", MayResolve(me, "owner", "guest:2"), false},
		{"an author nobody knows", MayResolve(Principal{Role: RoleCommenter, Session: mine}, ""), false},
		{"my comment", MayEdit(me, "guest:1"), true},
		{"another's comment", MayEdit(me, "owner"), false},
		{"the owner", MayEdit(Owner(""), "guest:1"), true},
		{"a viewer", MayResolve(guest(RoleViewer), "guest:1"), false},
		{"an agent, what it was sent", MayResolve(Agent("x", "X", mine), "owner", "guest:2"), true},
		{"an agent, another's comment", MayEdit(Agent("x", "X", mine), "owner"), false},
		{"an agent, its comment", MayEdit(Agent("x", "X", mine), "agent:x"), true},
	} {
		if (test.err == nil) != test.may {
			t.Errorf("%s: %v", test.name, test.err)
		}
	}
}

func TestAudienceHidesTheRestOfTheHost(t *testing.T) {
	const canary = "canary-7f3a"
	claim := func(s ahp.URI) ahp.TerminalClaim {
		return ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: s, Chat: "ahp-chat:/1"}}
	}
	terminals := []ahp.TerminalInfo{
		{Resource: "ahp-terminal:/1", Title: "ours", Claim: claim(mine)},
		{Resource: "ahp-terminal:/2", Title: canary, Claim: claim(theirs)},
		{Resource: "ahp-terminal:/3", Title: canary,
			Claim: ahp.TerminalClaim{Value: &ahp.TerminalClientClaim{ClientID: "x"}}},
	}
	agents := []ahp.AgentInfo{{Provider: "shell", DisplayName: "Shell",
		ProtectedResources: []ahp.ProtectedResourceMetadata{{Resource: canary}}}}
	state := &ahp.RootState{Agents: agents, Terminals: terminals, ActiveSessions: ahp.Ptr(int64(41)),
		Meta: ahp.Meta{canary: []byte("1")}, Config: &ahp.RootConfigState{}}
	aud := guest(RoleViewer).Audience()

	seen := aud.State(root, state).(*ahp.RootState)
	text, err := ahp.Marshal(seen)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), canary) || *seen.ActiveSessions == 41 || seen.Config != nil {
		t.Errorf("a guest sees of root: %s", text)
	}
	if len(seen.Terminals) != 1 || len(seen.Agents) != 1 {
		t.Errorf("a guest misses what is theirs: %s", text)
	}
	for _, a := range []ahp.Action{
		&ahp.RootTerminalsChangedAction{Terminals: terminals}, &ahp.RootAgentsChangedAction{Agents: agents},
		&ahp.RootActiveSessionsChangedAction{ActiveSessions: 41},
		&ahp.RootConfigChangedAction{Config: ahp.Meta{canary: []byte("1")}},
		&ahp.UnknownAction{Type: "root/later", Raw: []byte(`{"type":"root/later","x":"` + canary + `"}`)},
	} {
		if got := aud.Action(root, a); got != nil {
			if text, _ := ahp.MarshalAction(got); strings.Contains(string(text), canary) {
				t.Errorf("a guest sees %s", text)
			}
		}
	}
	if aud.Sees(other) || aud.State(other, &ahp.ChatState{}) != nil ||
		aud.Action(other, &ahp.ChatDeltaAction{}) != nil {
		t.Error("a guest sees another session's chat")
	}
	chat := &ahp.ChatState{}
	if aud.State(myChat, chat) != ahp.State(chat) {
		t.Error("what is not hidden must be the same pointer")
	}
	if len(terminals) != 3 || agents[0].ProtectedResources == nil {
		t.Error("projecting changed the state of the host")
	}
}

func TestAudienceKeys(t *testing.T) {
	viewer, commenter := guest(RoleViewer), guest(RoleCommenter)
	if viewer.Audience().Key() != commenter.Audience().Key() {
		t.Error("guests of one session see the same: one key")
	}
	if viewer.Audience().Key() == Owner("").Audience().Key() {
		t.Error("guests and the owner see different things")
	}
	if (Principal{Role: RoleViewer}).Audience().Sees(hub.ChannelInfo{Kind: ahp.ChannelOtlp}) {
		t.Error("nobody must not see channels of the whole host")
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		" Ana \n Maria ":         "Ana Maria",
		"a\u202eb\u200bc\x1b[1m": "abc[1m",
		strings.Repeat("é", 80):  strings.Repeat("é", 60),
		"\u200b \t":              "",
	} {
		got, err := CleanName(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}
