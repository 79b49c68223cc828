package host

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/hosttest"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

// life is one run of a host on a real store.
type life struct {
	t     *testing.T
	hub   *hub.Hub
	host  *Host
	agent *fake
	crash func() // stops the journal: later changes are lost
	end   func(clean bool)
}

// newLife starts a host on the data directory. An unclean end stops the journal first, like a
// crash: the host's actions while it stops are lost.
func newLife(t *testing.T, dir string, f *fake, limits core.Limits, clock ...func() time.Time) *life {
	t.Helper()
	cfg := Config{Machine: localtest.New(t, dir), Limits: limits,
		Agents: localtest.ReachAgents(t, map[string]agent.Backend{"fake": f})}
	for _, now := range clock {
		cfg.Now = now
	}
	return newLifeOf(t, dir, f, cfg)
}

// newLifeOf is newLife with a configuration of the host.
func newLifeOf(t *testing.T, dir string, f *fake, cfg Config) *life {
	t.Helper()
	l := &life{t: t, agent: f}
	line := hosttest.OpenTimeline(t, dir, func(tx *hub.Tx, e *hub.Envelope) { l.host.Derive(tx, e) })
	l.hub, l.crash = line.Hub, sync.OnceFunc(line.Crash)
	cfg.Hub, cfg.Store, cfg.DataDir, cfg.DefaultDir = l.hub, line.Store, dir, t.TempDir()
	var err error
	l.host, err = New(cfg)
	l.must(err)
	stop := hosttest.Run(t, l.host)
	var once sync.Once
	l.end = func(clean bool) {
		once.Do(func() {
			if !clean {
				l.crash()
			}
			stop()
			line.Close()
		})
	}
	t.Cleanup(func() { l.end(true) })
	return l
}

func (l *life) must(err error) {
	l.t.Helper()
	hosttest.Must(l.t, err)
}

// until waits for a condition that depends on the journal.
func (l *life) until(what string, ok func() bool) {
	l.t.Helper()
	hosttest.Eventually(l.t, what, ok)
}

func (l *life) chat() *ahp.ChatState {
	e := l.host.core.Catalogue.Get(session)
	if e == nil {
		return nil
	}
	chat, _ := hub.StateOf[*ahp.ChatState](l.hub, e.Summary.DefaultChat)
	return chat
}

func (l *life) do(channel ahp.URI, a ahp.Action) {
	l.t.Helper()
	o, err := l.host.Dispatch(context.Background(), core.Caller{Principal: owner}, channel, 0, a)
	l.must(err)
	if o.Unknown || o.Rejected != "" {
		l.t.Fatalf("%s was refused: %q", a.ActionType(), o.Rejected)
	}
}

func (l *life) start(text string) {
	l.t.Helper()
	l.must(l.host.CreateSession(context.Background(), core.Caller{Principal: owner},
		ahp.CreateSessionParams{Channel: session}))
	l.until("ready", func() bool {
		e := l.host.core.Catalogue.Get(
			session)
		return e.Lifecycle == ahp.SessionLifecycleReady
	})
	l.do(l.chat().Resource, started(text))
	l.until("asked", func() bool { return len(l.agent.prompts()) > 0 })
}

func waiting() *fake {
	return &fake{prompt: func(ctx context.Context, t agent.Turn) error {
		ready := &ahp.ChatToolCallReadyAction{ToolCallID: "c", InvocationMessage: ahp.Plain("run")}
		if err := t.Out.Emit(&ahp.ChatToolCallStartAction{ToolCallID: "c", ToolName: "run",
			DisplayName: "Run"}); err != nil {
			return err
		}
		_, err := t.Out.Confirm(ctx, ready)
		return err
	}}
}

func TestTurnCutOffByACrash(t *testing.T) { // AHP requirements 13, 115
	dir := t.TempDir()
	one := newLife(t, dir, waiting(), core.Limits{})
	one.start("make")
	one.do(one.chat().Resource, queued("q", "later"))
	one.until("asks", func() bool {
		s, _ := one.host.Summary(session)
		return s.Status.Activity() == ahp.SessionStatusInputNeeded
	})
	one.until("durable", func() bool { st := one.hub.Stats(); return st.UnjournaledBytes == 0 })
	seq := one.hub.Seq()
	one.end(false)

	two := newLife(t, dir, &fake{}, core.Limits{})
	if two.hub.Seq() < seq {
		t.Errorf("the timeline went back from %d to %d", seq, two.hub.Seq())
	}
	s := two.chat()
	last := core.LastTurn(s)
	if last == nil || s.ActiveTurn != nil || !isResumable(last) || last.Message.Text != "make" {
		t.Fatalf("after the crash the chat is %+v", s)
	}
	if call := last.ResponseParts[0].Value.(*ahp.ToolCallResponsePart).ToolCall.Status(); call != ahp.ToolCallStatusCancelled {
		t.Errorf("its tool call is %s", call)
	}
	if len(s.QueuedMessages) != 1 || len(two.agent.prompts()) != 0 {
		t.Error("what was queued ran with nobody looking")
	}
	st, _ := hub.StateOf[*ahp.SessionState](two.hub, session)
	if need := st.InputNeeded; len(need) != 0 {
		t.Errorf("inputNeeded is %+v", need)
	}
	two.do(s.Resource, &ahp.ChatTurnResumeAction{TurnID: last.ID})
	two.until("done", func() bool { return len(two.chat().Turns) == 2 && two.chat().ActiveTurn == nil })
	if got := two.agent.prompts(); !slices.Equal(got, []string{"make", "later"}) {
		t.Errorf("the agent was asked %v", got)
	}
}

func TestInterruptedSessionCreationIsRetried(t *testing.T) {
	dir := t.TempDir()
	stuck := &fake{open: func(ctx context.Context, _ agent.Spec) error { <-ctx.Done(); return ctx.Err() }}
	one := newLife(t, dir, stuck, core.Limits{})
	one.must(one.host.CreateSession(context.Background(), core.Caller{Principal: owner},
		ahp.CreateSessionParams{Channel: session}))
	one.until("durable", func() bool { return one.hub.Stats().UnjournaledBytes == 0 })
	one.end(false)

	two := newLife(t, dir, &fake{}, core.Limits{})
	two.until("ready", func() bool {
		return two.host.core.Catalogue.Get(
			session).Lifecycle == ahp.SessionLifecycleReady
	})
}

func TestIdleSessionsSleepAndWake(t *testing.T) {
	l := newLife(t, t.TempDir(), &fake{}, core.Limits{Idle: time.Millisecond})
	l.start("hello")
	asleep := func() bool {
		_, _, awake := l.hub.State(session)
		l.host.sleepIdle(time.Now())
		return !awake && l.chat() == nil && l.host.turns.findRuntime(session) == nil
	}
	l.until("asleep", asleep)
	if l.agent.closed == 0 {
		t.Error("a sleeping session keeps its agent")
	}
	if s, ok := l.host.Summary(session); !ok || s.Title != "hello" {
		t.Errorf("the summary of a sleeping session is %+v", s)
	}
	l.do(l.host.core.Catalogue.Get(session).Summary.DefaultChat, started("again"))
	l.until("answered", func() bool { return slices.Equal(l.agent.prompts(), []string{"hello", "again"}) })
	l.until("asleep again", asleep)
	me := core.Caller{Principal: owner}
	l.must(l.host.DisposeSession(context.Background(), me, ahp.DisposeSessionParams{Channel: session}))
	l.must(l.host.RestoreSession(context.Background(), me, session))
	if s := l.chat(); s == nil || len(s.Turns) != 2 {
		t.Errorf("a sleeping session was disposed and restored as %+v", s)
	}
}

func TestTrashSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	me := core.Caller{Principal: owner}
	one := newLife(t, dir, &fake{}, core.Limits{})
	one.start("hello")
	one.until("done", func() bool { return len(one.chat().Turns) == 1 })
	one.must(one.host.DisposeSession(context.Background(), me, ahp.DisposeSessionParams{Channel: session}))
	one.until("durable", func() bool { return one.hub.Stats().UnjournaledBytes == 0 })
	one.end(true)

	two := newLife(t, dir, &fake{}, core.Limits{})
	if len(two.host.Summaries(me)) != 0 || len(two.host.Trash(me)) != 1 {
		t.Fatal("the session is in the wrong list")
	}
	two.must(two.host.RestoreSession(context.Background(), me, session))
	if s := two.chat(); s == nil || len(s.Turns) != 1 || s.Turns[0].Message.Text != "hello" {
		t.Errorf("what came back is %+v", s)
	}
	two.until("durable", func() bool { return two.hub.Stats().UnjournaledBytes == 0 })
	two.end(true)

	three := newLife(t, dir, &fake{}, core.Limits{})
	three.must(three.host.Prepare(context.Background(), me, session))
	if sum, ok := three.host.Summary(session); !ok || sum.Title != "hello" {
		t.Errorf("after another restart the session is %+v", sum)
	}
}

func TestClientsOfTheLastRunHaveTheirGraceTime(t *testing.T) { // AHP requirements 138, 139
	dir := t.TempDir()
	me := core.Caller{Principal: owner, ClientID: "ana-1"}
	one := newLife(t, dir, &fake{}, core.Limits{})
	one.must(one.host.CreateSession(context.Background(), me, ahp.CreateSessionParams{Channel: session,
		ActiveClient: &ahp.SessionActiveClient{ClientID: "ana-1", Tools: []ahp.ToolDefinition{}}}))
	one.until("ready", func() bool {
		return one.host.core.Catalogue.Get(
			session).Lifecycle == ahp.SessionLifecycleReady
	})
	one.until("durable", func() bool { return one.hub.Stats().UnjournaledBytes == 0 })
	one.end(false)

	listed := func(l *life) int {
		s, _ := hub.StateOf[*ahp.SessionState](l.hub, session)
		return len(s.ActiveClients)
	}
	two := newLife(t, dir, &fake{}, core.Limits{ClientGrace: time.Hour})
	two.must(two.host.Prepare(context.Background(), me, session))
	two.host.Reconnected(me, []ahp.URI{session})
	if listed(two) != 1 {
		t.Error("a client that came back was removed")
	}
	two.end(false)

	three := newLife(t, dir, &fake{}, core.Limits{ClientGrace: time.Millisecond})
	three.must(three.host.Prepare(context.Background(), me, session))
	three.until("removed", func() bool { return listed(three) == 0 })
}
