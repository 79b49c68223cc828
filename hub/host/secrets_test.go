package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ahphub/ahphub/hub/host/secrets"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/hosttest"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

const (
	tokenValue = `s3cr"et-value/0123456789`
	fileValue  = "first line of the key\nsecond line of the key\n"
)

// withSecrets configures a host whose sessions have a secret variable and a secret file.
func withSecrets(f *fake) Config {
	return Config{Agents: map[string]agent.Backend{"fake": f}, Secrets: func(ahp.URI, []string) ([]secrets.Secret, error) {
		return []secrets.Secret{{Name: "TOKEN", Value: tokenValue}, {Name: "KEY", Value: fileValue, File: true}}, nil
	}}
}

// everything returns all that the hub has of the session, as sent to clients.
func (w *world) everything() string {
	w.t.Helper()
	var b strings.Builder
	for _, e := range w.said {
		raw, err := ahp.MarshalAction(e.Action)
		w.must(err)
		b.Write(raw)
	}
	for _, info := range w.listed() {
		raw, err := ahp.Marshal(w.terminal(info.Resource))
		w.must(err)
		b.Write(raw)
	}
	raw, err := ahp.Marshal(w.chatState())
	w.must(err)
	return b.String() + string(raw)
}

func TestSecretsReachProgramsAndNoOutput(t *testing.T) {
	f := &fake{}
	f.prompt = func(ctx context.Context, turn agent.Turn) error {
		tm, err := f.spec.Host.Terminal(ctx, agent.TerminalSpec{Chat: turn.Chat, TurnID: turn.ID, ToolCallID: "call",
			Title: "echo " + tokenValue, Command: []string{"/bin/sh", "-c", `printf '%s' "$TOKEN" | wc -c; echo "<$TOKEN>"; cat "$KEY";
				ls -l "$KEY"; printf '%s' "$TOKEN" | base64; printf '\033]0;%s\007' "$TOKEN"; i=0
				while [ $i -lt 24 ]; do printf '%s' "$TOKEN" | cut -c$((i+1)) | tr -d '\n'; i=$((i+1)); done`}})
		if err != nil {
			return err
		}
		_, tail, err := tm.Wait(ctx)
		if err != nil {
			return err
		}
		if strings.Contains(tail, tokenValue) || !strings.Contains(tail, "24\r\n<[secret TOKEN]>\r\n[secret KEY]") {
			return fmt.Errorf("the agent is told %q", tail)
		}
		if !strings.Contains(tail, "-rw------- ") {
			return fmt.Errorf("the file is %q", tail)
		}
		return agent.Say(turn.Out, "done")
	}
	w, c := shellWorld(t, withSecrets(f), hub.Config{})
	if r := c.send(w.chat(), started("go")); r != "" {
		t.Fatal(r)
	}
	hosttest.Eventually(t, "the turn's end", func() bool { return len(w.chatState().Turns) == 1 })
	if state := w.chatState().Turns[0].State; state != ahp.TurnStateComplete {
		t.Errorf("the turn ended as %+v", w.chatState().Turns[0])
	}
	all := w.everything()
	for _, part := range []string{tokenValue, `s3cr\"et-value`, "et-value/0123456789", "second line of the key"} {
		if strings.Contains(all, part) {
			t.Errorf("what the hub has holds %q", part)
		}
	}
	w.must(w.host.DisposeSession(w.t.Context(), c.caller, ahp.DisposeSessionParams{Channel: session}))
	hosttest.Eventually(t, "the files to go", func() bool {
		left, _ := filepath.Glob(filepath.Join(w.host.cfg.DataDir, "secret-files", "*", "*", "*"))
		return len(left) == 0
	})
}

func TestGuestsTerminalsHaveNoSecrets(t *testing.T) {
	w, c := shellWorld(t, withSecrets(&fake{}), hub.Config{})
	typing := driver
	typing.Type = true
	guest := w.connect(typing, "dan-1")
	w.must(w.host.Terminals.Create(w.t.Context(), c.caller, ahp.CreateTerminalParams{Channel: term1, Claim: w.bySession()}))
	c.send(term1, &ahp.TerminalInputAction{Data: "echo \"<${#TOKEN}>\"\n"})
	w.waitScreen(term1, "<24>")
	if r := guest.send(term1, &ahp.TerminalInputAction{Data: "echo $TOKEN | rev\n"}); !strings.Contains(r, "secrets of the owner") {
		t.Errorf("a guest types in the owner's terminal: %q", r)
	}
	if r := guest.send(term1, &ahp.TerminalClaimedAction{Claim: byClient("dan-1")}); !strings.Contains(r, "secrets of the owner") {
		t.Errorf("a guest takes the owner's terminal: %q", r)
	}
	if r := c.send(term1, &ahp.TerminalClaimedAction{Claim: byClient("ana-1")}); r != "" {
		t.Error(r)
	}
	const theirs = "ahp-terminal:/2"
	w.must(w.host.Terminals.Create(w.t.Context(), core.Caller{Principal: typing, ClientID: "dan-1"},
		ahp.CreateTerminalParams{Channel: theirs, Claim: w.bySession()}))
	if r := guest.send(theirs, &ahp.TerminalInputAction{Data: "echo \"<${TOKEN-none}${KEY-none}>\"\n"}); r != "" {
		t.Error(r)
	}
	w.waitScreen(theirs, "<nonenone>")
}

func TestAgentsWordsHoldNoSecrets(t *testing.T) {
	f := &fake{}
	f.prompt = func(ctx context.Context, turn agent.Turn) error {
		if _, err := f.spec.Secrets(ctx); err != nil {
			return err
		}
		say := func(a ahp.Action) {
			if err := turn.Out.Emit(a); err != nil {
				t.Error(err)
			}
		}
		say(&ahp.ChatResponsePartAction{Part: ahp.ResponsePart{Value: &ahp.MarkdownResponsePart{ID: "p",
			Content: ahp.NewText("It is " + tokenValue[:5])}}})
		for _, r := range tokenValue[5:] {
			say(&ahp.ChatDeltaAction{PartID: "p", Content: string(r)})
		}
		say(&ahp.ChatDeltaAction{PartID: "p", Content: ", and it ends in s3cr"})
		say(&ahp.ChatToolCallStartAction{ToolCallID: "c", ToolName: "run", DisplayName: "Run " + tokenValue})
		for _, r := range `{"a":"s3cr\"et-value/0123456789"}` {
			say(&ahp.ChatToolCallDeltaAction{ToolCallID: "c", Content: string(r)})
		}
		_, err := turn.Out.Confirm(ctx, &ahp.ChatToolCallReadyAction{ToolCallID: "c", InvocationMessage: ahp.Plain("Run " + tokenValue),
			ToolInput: &ahp.ToolInput{Text: `{"a":"s3cr\"et-value/0123456789"}`}, Confirmed: ahp.ToolCallConfirmationReasonNotNeeded})
		if err != nil {
			t.Error(err)
		}
		say(&ahp.ChatToolCallCompleteAction{ToolCallID: "c", Result: ahp.ToolCallResult{PastTenseMessage: ahp.Plain("Ran " + tokenValue)}})
		f.spec.Host.Learn(agent.Offer{Chat: turn.Chat, Title: "About " + tokenValue})
		return errors.New("failed with " + tokenValue)
	}
	inWorldOf(t, withSecrets(f), func(w *world) {
		c := w.create()
		c.do(w.chat(), started("go"))
		synctest.Wait()
		all := w.everything()
		if strings.Contains(all, "value/0123456789") {
			t.Errorf("what the hub has holds the value: %s", all)
		}
		text := w.chatState().Turns[0].ResponseParts[0].Value.(*ahp.MarkdownResponsePart).Content.String()
		if text != "It is [secret TOKEN], and it ends in s3cr" {
			t.Errorf("the agent said %q", text)
		}
	})
}

// boxed is a computer that reports working sandboxes.
type boxed struct{ machine.Machine }

func (boxed) CheckSandbox(*sandbox.Policy) error { return nil }

func TestGuestsTerminalsHaveSandboxOfTheirOwn(t *testing.T) {
	cfg := withSecrets(&fake{})
	cfg.Sandbox = &sandbox.Rules{Mode: sandbox.Namespace, Boxed: sandbox.Namespace, Network: sandbox.Closed, Dir: t.TempDir()}
	cfg.DataDir = t.TempDir()
	computer := newTestMachine(t, cfg.DataDir)
	cfg.Machine = boxed{computer.Machine()}
	w, c := shellWorld(t, cfg, hub.Config{})
	open := func(uri ahp.URI, who core.Caller) machine.TerminalSpec {
		t.Helper()
		computer.next = &quietProgram{done: make(chan struct{})}
		w.must(w.host.Terminals.Create(w.t.Context(), who, ahp.CreateTerminalParams{Channel: uri, Claim: w.bySession()}))
		return computer.last
	}
	typing := driver
	typing.Type = true
	mine := open(term1, c.caller)
	theirs := open("ahp-terminal:/2", core.Caller{Principal: typing, ClientID: "dan-1"})
	if mine.Sandbox == nil || theirs.Sandbox == nil || mine.Sandbox.Session == theirs.Sandbox.Session {
		t.Fatalf("the sandboxes are %+v and %+v", mine.Sandbox, theirs.Sandbox)
	}
	if err := theirs.Sandbox.Check(); err != nil {
		t.Error(err)
	}
	if len(mine.Env) != 2 || len(theirs.Env) != 0 {
		t.Errorf("the owner's terminal has %d variables, a guest's %d", len(mine.Env), len(theirs.Env))
	}
}

func TestFilesOfSecretsGoWhenHostStops(t *testing.T) {
	w, c := shellWorld(t, withSecrets(&fake{}), hub.Config{})
	w.must(w.host.Terminals.Create(w.t.Context(), c.caller, ahp.CreateTerminalParams{Channel: term1, Claim: w.bySession()}))
	pattern := filepath.Join(w.host.cfg.DataDir, "secret-files", "*", "*", "KEY")
	if found, _ := filepath.Glob(pattern); len(found) != 1 {
		t.Fatalf("there are %v", found)
	}
	w.stop()
	if found, _ := filepath.Glob(pattern); len(found) != 0 {
		t.Errorf("there are still %v", found)
	}
}
