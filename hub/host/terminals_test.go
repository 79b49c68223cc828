package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/shell"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/hosttest"
	"github.com/ahphub/ahphub/hub/host/terminals"
)

// These tests run real programs, which no synctest bubble can wait for, so they wait for what a
// client would see.

func TestCreateTerminalRefusals(t *testing.T) {
	w, c := shellWorld(t, Config{}, hub.Config{})
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(w.dir, "link")); err != nil {
		t.Fatal(err)
	}
	typist := driver
	typist.Type = true
	guest := core.Caller{Principal: typist, ClientID: "dan-1"}
	alien := ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: "ahp-session:/none", Chat: "x"}}
	size := ahp.Ptr[int64]
	const taken = "ahp-terminal:/taken"
	w.must(w.host.Terminals.Create(w.t.Context(), c.caller, ahp.CreateTerminalParams{Channel: taken,
		Claim: w.bySession()}))
	tests := map[string]struct {
		who    core.Caller
		params ahp.CreateTerminalParams
		code   int
		say    string
	}{
		"no claim": {c.caller, ahp.CreateTerminalParams{Channel: term1}, ahp.CodeInvalidParams, "holder"},
		"a foreign claim": {c.caller, ahp.CreateTerminalParams{Channel: term1, Claim: byClient("ben-1")},
			ahp.CodeInvalidParams, "ben-1"},
		"an unknown owner": {c.caller, ahp.CreateTerminalParams{Channel: term1, Claim: alien}, ahp.CodeSessionNotFound,
			""},
		"a taken URI": {c.caller, ahp.CreateTerminalParams{Channel: taken, Claim: w.bySession()},
			ahp.CodeAlreadyExists, ""},
		"no URI": {c.caller, ahp.CreateTerminalParams{Channel: "x y", Claim: w.bySession()},
			ahp.CodeInvalidParams, "ahp-terminal:/"},
		"zero columns": {c.caller, ahp.CreateTerminalParams{Channel: term1, Claim: w.bySession(), Cols: size(0),
			Rows: size(24)}, ahp.CodeInvalidParams, "between 1 and 1000"},
		"a huge size": {c.caller, ahp.CreateTerminalParams{Channel: term1, Claim: w.bySession(), Cols: size(80),
			Rows: size(1 << 40)}, ahp.CodeInvalidParams, "between 1 and 1000"},
		"no such directory": {c.caller, ahp.CreateTerminalParams{Channel: term1, Claim: w.bySession(),
			Cwd: "file:///no/such"}, ahp.CodeInvalidParams, "cwd"},
		"a guest outside": {guest, ahp.CreateTerminalParams{Channel: term1, Claim: w.bySession(),
			Cwd: core.FileURI(outside)}, ahp.CodePermissionDenied, "outside"},
		"a guest by a link": {guest, ahp.CreateTerminalParams{Channel: term1, Claim: w.bySession(),
			Cwd: core.FileURI(filepath.Join(w.dir, "link"))}, ahp.CodePermissionDenied, "outside"},
		"who may not type": {core.Caller{Principal: commenter, ClientID: "ben-1"},
			ahp.CreateTerminalParams{Channel: term1, Claim: w.bySession()}, ahp.CodePermissionDenied, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := w.host.Terminals.Create(w.t.Context(), tc.who, tc.params)
			if code(err) != tc.code || !strings.Contains(fmt.Sprint(err), tc.say) {
				t.Errorf("%v (%d), want %d with %q", err, code(err), tc.code, tc.say)
			}
		})
	}
	if listed := w.listed(); len(listed) != 1 || listed[0].Resource != taken {
		t.Errorf("root lists %+v", listed)
	}
	w.must(w.host.Terminals.Create(w.t.Context(), guest, ahp.CreateTerminalParams{Channel: term1, Claim: w.bySession(),
		Cwd: core.FileURI(w.dir)}))
}

func TestTerminalFromStartToEnd(t *testing.T) {
	w, c := shellWorld(t, Config{}, hub.Config{})
	w.must(w.host.Terminals.Create(w.t.Context(), c.caller, ahp.CreateTerminalParams{Channel: term1,
		Claim: byClient("ana-1"), Name: " my  shell\n"}))
	if l := w.listed(); len(l) != 1 || l[0].Title != "my shell" ||
		l[0].Lifecycle.Status != ahp.TerminalLifecycleStatusRunning {
		t.Errorf("root lists %+v (AHP requirement 61)", l)
	}
	if s := w.terminal(term1); *s.Cols != 80 || *s.Rows != 24 || s.Cwd != core.FileURI(w.dir) || !*s.IsPty {
		t.Errorf("the first state is %+v", s)
	}
	type_ := func(who *client, keys string) string { return who.send(term1, &ahp.TerminalInputAction{Data: keys}) }
	type_(c, "printf '\\033]0;other\\007'; echo a$((1+1))b; pwd\n")
	w.waitScreen(term1, "a2b\r\n"+w.dir)

	if got := w.terminal(term1).Title; got != "my shell" {
		t.Errorf("a program changed the title that was chosen to %q", got)
	}

	ben := w.connect(owner, "ana-2")
	if r := ben.send(term1, &ahp.TerminalResizedAction{Cols: 90, Rows: 30}); !strings.Contains(r, "another client") {
		t.Errorf("another client resized: %q", r)
	}
	if r := ben.send(term1, &ahp.TerminalClaimedAction{Claim: byClient("ana-2")}); !strings.Contains(r,
		"another client") {
		t.Errorf("another client claimed: %q (AHP requirement 165)", r)
	}
	for _, size := range [][2]int64{{0, 24}, {80, 1001}} {
		if r := c.send(term1, &ahp.TerminalResizedAction{Cols: size[0], Rows: size[1]}); !strings.Contains(r, "1000") {
			t.Errorf("size %v: %q", size, r)
		}
	}
	if r := c.send(term1, &ahp.TerminalResizedAction{Cols: 132, Rows: 43}); r != "" {
		t.Errorf("the holder's resize was refused: %s", r)
	}
	type_(c, "stty size\n")
	w.waitScreen(term1, "43 132")
	if r := c.send(term1, &ahp.TerminalClaimedAction{Claim: byClient("ana-2")}); r != "" {
		t.Errorf("handing it over was refused: %s", r)
	}
	if holder := w.listed()[0].Claim.Value.(*ahp.TerminalClientClaim).ClientID; holder != "ana-2" {
		t.Errorf("root says that %s holds it", holder)
	}
	guest := w.connect(viewer, "vic-1")
	if r := type_(guest, "x"); r == "" {
		t.Error("a viewer typed")
	}
	c.send(term1, &ahp.TerminalClearedAction{})
	if r := type_(c, "x"); !strings.Contains(r, "Request control") {
		t.Errorf("who gave it away still types: %q", r)
	}
	type_(ben, "exit 3\n")
	hosttest.Eventually(t, "the exit", func() bool { return exited(w.terminal(term1)) })
	if s := w.terminal(term1); *s.Lifecycle.ExitCode != 3 || strings.Contains(screenText(s), "a2b") {
		t.Errorf("the end: %+v", s)
	}
	if l := w.listed()[0].Lifecycle; l.Status != ahp.TerminalLifecycleStatusExited || *l.ExitCode != 3 {
		t.Errorf("root says %+v", l)
	}
	if r := type_(c, "x"); !strings.Contains(r, "exited") {
		t.Errorf("typing after the end: %q", r)
	}
	w.must(w.host.Terminals.Dispose(w.t.Context(), c.caller, ahp.DisposeTerminalParams{Channel: term1}))
	if _, open := w.hub.Info(term1); open || len(w.listed()) != 0 {
		t.Error("the terminal is still there")
	}
	if err := w.host.Terminals.Dispose(w.t.Context(), c.caller, ahp.DisposeTerminalParams{Channel: term1}); code(
		err) != ahp.CodeNotFound {
		t.Errorf("disposing it again: %v", err)
	}
}

func TestDisposeKills(t *testing.T) {
	w, c := shellWorld(t, Config{}, hub.Config{})
	w.must(w.host.Terminals.Create(w.t.Context(), c.caller, ahp.CreateTerminalParams{Channel: term1,
		Claim: w.bySession()}))
	pid := c.pidOf(term1)
	w.must(w.host.Terminals.Dispose(w.t.Context(), c.caller, ahp.DisposeTerminalParams{Channel: term1}))
	if !dead(pid) {
		t.Error("the shell is still alive (AHP requirement 166)")
	}
	w.must(w.host.Terminals.Create(w.t.Context(), c.caller, ahp.CreateTerminalParams{Channel: term1,
		Claim: w.bySession()}))
	pid = c.pidOf(term1)
	w.must(w.host.DisposeSession(w.t.Context(), c.caller, ahp.DisposeSessionParams{Channel: session}))
	if _, open := w.hub.Info(term1); open || len(w.listed()) != 0 {
		t.Error("the terminal outlived its session")
	}
	hosttest.Eventually(t, "the end of the session's shell", func() bool { return dead(pid) })
}

func TestStoppingTheHostEndsTerminals(t *testing.T) {
	w, c := shellWorld(t, Config{}, hub.Config{})
	w.must(w.host.Terminals.Create(w.t.Context(), c.caller, ahp.CreateTerminalParams{Channel: term1,
		Claim: w.bySession()}))
	pid := c.pidOf(term1)
	w.stop()
	if !dead(pid) || !exited(w.terminal(term1)) {
		t.Error("the shell outlived the host")
	}
}

func TestCommandOfAgent(t *testing.T) {
	f := &fake{}
	f.prompt = func(ctx context.Context, turn agent.Turn) error {
		for range terminals.KeptExited + 5 {
			tm, err := f.spec.Host.Terminal(ctx, agent.TerminalSpec{Chat: turn.Chat, TurnID: turn.ID,
				ToolCallID: "call", Title: "make", Command: []string{"/bin/sh", "-c", "pwd; echo $X; exit 3"},
				Env: []string{"X=value"}})
			if err != nil {
				return err
			}
			code, tail, err := tm.Wait(ctx)
			if err != nil {
				return err
			}
			if err := agent.Say(turn.Out, fmt.Sprintf("%d:%s;", code, tail)); err != nil {
				return err
			}
		}
		return nil
	}
	w, c := shellWorld(t, Config{Agents: map[string]agent.Backend{"fake": f}}, hub.Config{})
	if r := c.send(w.chat(), started("go")); r != "" {
		t.Fatal(r)
	}
	hosttest.Eventually(t, "the turn's end", func() bool { return len(w.chatState().Turns) == 1 })
	part := w.chatState().Turns[0].ResponseParts[0].Value.(*ahp.MarkdownResponsePart)
	if got, want := part.Content.String(), "3:"+w.dir+"\r\nvalue\r\n;"; got != want {
		t.Errorf("the agent saw %q, want %q", got, want)
	}
	hosttest.Eventually(t, "old terminals to go", func() bool { return len(w.listed()) == terminals.KeptExited })
	last := w.listed()[terminals.KeptExited-1]
	claim := last.Claim.Value.(*ahp.TerminalSessionClaim)
	if last.Title != "make" || claim.Session != session || claim.Chat != w.chat() || claim.ToolCallID != "call" ||
		claim.TurnID == "" {
		t.Errorf("root lists %+v claimed by %+v", last, claim)
	}
	if !strings.Contains(screenText(w.terminal(last.Resource)), "value") {
		t.Error("what the command wrote is gone")
	}
	if r := c.send(last.Resource, &ahp.TerminalResizedAction{Cols: 10, Rows: 10}); r == "" {
		t.Error("a tool call's terminal was resized")
	}
}

func TestCancellingKillsAnAgentsCommand(t *testing.T) {
	f := &fake{}
	f.prompt = func(ctx context.Context, turn agent.Turn) error {
		_, err := agent.RunCommand(ctx, f.spec, turn,
			agent.Command{Text: "trap '' HUP TERM; echo pid=$$=; while :; do sleep 0.05; done"})
		return err
	}
	w, c := shellWorld(t, Config{Agents: map[string]agent.Backend{"fake": f}}, hub.Config{})
	w.must(w.hub.Do(func(tx *hub.Tx) {
		tx.Apply(session, &ahp.SessionConfigChangedAction{Config: ahp.Meta{"approval": []byte(`"auto"`)}})
	}))
	c.send(w.chat(), started("go"))
	var pid int
	hosttest.Eventually(t, "the command", func() bool {
		l := w.listed()
		if len(l) == 0 {
			return false
		}
		_, after, ok := strings.Cut(screenText(w.terminal(l[0].Resource)), "pid=")
		n, _ := fmt.Sscanf(after, "%d=", &pid)
		return ok && n == 1
	})
	active := w.chatState().ActiveTurn
	if r := c.send(w.chat(), &ahp.ChatTurnCancelledAction{TurnID: active.ID}); r != "" {
		t.Fatal(r)
	}
	hosttest.Eventually(t, "the command's end", func() bool { return dead(pid) })
	call := w.chatState().Turns[0].ResponseParts[0].Value.(*ahp.ToolCallResponsePart).ToolCall.Value
	if _, ok := call.(*ahp.ToolCallCancelledState); !ok {
		t.Errorf("the tool call is %T", call)
	}
}

func TestOutputWaitsWhileTheHostIsReadOnly(t *testing.T) {
	const reserved = 1 << 40
	w, c := shellWorld(t, Config{}, hub.Config{Journal: true, Boot: hub.Boot{Reserved: reserved}})
	w.must(w.host.Terminals.Create(w.t.Context(), c.caller, ahp.CreateTerminalParams{Channel: term1,
		Claim: w.bySession()}))
	c.send(term1, &ahp.TerminalInputAction{Data: "echo re$((1))ady; read x; i=0; while [ $i -lt 30000 ]; do " +
		"i=$((i+1)); echo line $i; done; echo en$((1))d\n"})
	w.waitScreen(term1, "re1ady")
	c.send(term1, &ahp.TerminalInputAction{Data: "\n"})
	w.waitScreen(term1, "line 1\r\n")
	w.hub.JournalFailed(errors.New("the disk is full"))
	before := w.hub.Seq()
	tick := time.NewTimer(100 * time.Millisecond)
	<-tick.C
	if after := w.hub.Seq(); after != before {
		t.Errorf("%d actions were accepted while the host was read-only", after-before)
	}
	w.hub.JournalBack()
	w.waitScreen(term1, "en1d")
	if got := screenText(w.terminal(term1)); !strings.HasSuffix(strings.TrimRight(got, "$# "),
		"line 30000\r\nen1d\r\n") || skips(got) {
		t.Error("output was lost")
	}
}

func TestKeysReachTheProgramAlone(t *testing.T) { // AHP requirement 164

	w, c := shellWorld(t, Config{}, hub.Config{})
	w.must(w.host.Terminals.Create(w.t.Context(), c.caller, ahp.CreateTerminalParams{Channel: term1,
		Claim: w.bySession()}))
	guest := w.connect(viewer, "vic-1")
	guest.caller.Conn.Subscribe("t", hub.Subscription{URI: term1})
	c.caller.Conn.Subscribe("t", hub.Subscription{URI: term1})
	plain := core.Caller{Principal: owner}
	if _, err := w.host.Dispatch(w.t.Context(), plain, term1, 0,
		&ahp.TerminalInputAction{Data: "stty -echo; echo re$((1))ady\n"}); err != nil {
		t.Fatal(err)
	}
	w.waitScreen(term1, "re1ady")
	c.send(term1, &ahp.TerminalInputAction{Data: "echo do$((1))ne\n"})
	has := func(who *client, kind string) bool {
		who.mu.Lock()
		defer who.mu.Unlock()
		return slices.Contains(who.got, kind)
	}
	hosttest.Eventually(t, "the echo of its own keys", func() bool { return has(c, "terminal/input") })
	hosttest.Eventually(t, "the output", func() bool { return strings.Contains(guest.screen(term1), "do1ne") })
	if has(guest, "terminal/input") {
		t.Error("another client was sent the keys, which may be a password")
	}
}

func TestShellAgentInHost(t *testing.T) {
	w, c := shellWorld(t, Config{Agents: map[string]agent.Backend{"shell": shell.Backend{}}}, hub.Config{})
	if r := c.send(w.chat(), started("echo hello > greeting; cat greeting; exit 3")); r != "" {
		t.Fatal(r)
	}
	var call *ahp.ToolCallPendingConfirmationState
	hosttest.Eventually(t, "the approval", func() bool {
		s := w.chatState()
		if s.ActiveTurn == nil || s.ActiveTurn.ResponseParts.Len() == 0 {
			return false
		}
		part, _ := s.ActiveTurn.ResponseParts.At(0).Value.(*ahp.ToolCallResponsePart)
		call, _ = part.ToolCall.Value.(*ahp.ToolCallPendingConfirmationState)
		return call != nil
	})
	if _, err := os.Stat(filepath.Join(w.dir, "greeting")); err == nil {
		t.Fatal("it ran before it was approved")
	}
	yes := &ahp.ChatToolCallConfirmedAction{TurnID: w.chatState().ActiveTurn.ID, ToolCallID: call.ToolCallID,
		Approved: true, Confirmed: ahp.ToolCallConfirmationReasonUserAction, SelectedOptionID: call.Options[0].ID}
	if r := c.send(w.chat(), yes); r != "" {
		t.Fatal(r)
	}
	hosttest.Eventually(t, "the turn's end", func() bool { return len(w.chatState().Turns) == 1 })
	done := w.chatState().Turns[0].ResponseParts[0].Value.(*ahp.ToolCallResponsePart).ToolCall.Value.(*ahp.ToolCallCompletedState)
	content := done.Content[0].Value.(*ahp.ToolResultTerminalContent)
	if done.Success || *content.Result.ExitCode != 3 || content.Result.Preview != "hello\r\n" {
		t.Errorf("the result is %+v with %+v", done.ToolCallResult, content.Result)
	}
	if screenText(w.terminal(content.Resource)) != "hello\r\n" {
		t.Errorf("the terminal shows %q", screenText(w.terminal(content.Resource)))
	}
	if got, _ := os.ReadFile(filepath.Join(w.dir, "greeting")); string(got) != "hello\n" {
		t.Errorf("the file holds %q", got)
	}
}
