package host

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

// leaving is a machine that goes offline and returns.
type leaving struct {
	machine.Machine
	agents  map[string]agent.Backend
	offline atomic.Bool
	changed chan struct{}
}

func newLeaving(t *testing.T, dir string, f *fake) *leaving {
	return &leaving{Machine: localtest.New(t, dir), agents: localtest.ReachAgents(t, map[string]agent.Backend{"fake": f}),
		changed: make(chan struct{}, 1)}
}

func (l *leaving) Agents() map[string]agent.Backend { return l.agents }
func (l *leaving) Watch() (<-chan struct{}, func()) { return l.changed, func() {} }
func (l *leaving) Missing(string) error             { return machine.ErrOffline }
func (l *leaving) IsOffline(string) bool            { return l.offline.Load() }
func (l *leaving) set(life *life, offline bool) {
	l.offline.Store(offline)
	l.changed <- struct{}{}
	life.until("the host knows", func() bool { return life.host.agents.IsOffline("fake") == offline })
}

// Messages to a session whose machine is offline wait, also across a restart of the host, and are
// sent once when the machine is online.
func TestMessagesWaitForTheirMachine(t *testing.T) {
	dir := t.TempDir()
	first := &fake{}
	box := newLeaving(t, dir, first)
	one := newLifeOf(t, dir, first, Config{Machine: box})
	me := core.Caller{Principal: owner}
	one.must(one.host.CreateSession(context.Background(), me, ahp.CreateSessionParams{Channel: session}))
	one.until("it is ready", func() bool { return one.chat() != nil })
	box.set(one, true)
	chat := one.chat().Resource
	o, err := one.host.Dispatch(context.Background(), me, chat, 0, started("a client's own turn"))
	if err != nil || !strings.Contains(o.Rejected, "offline") || !strings.Contains(o.Rejected, "queue the message") {
		t.Errorf("a turn there is answered with %q, %v", o.Rejected, err)
	}
	one.do(chat, queued("one", "while it is away"))
	one.must(one.host.sendMessage(context.Background(), me, chat, user("a second"), true))
	one.do(chat, queued("three", "taken back"))
	one.do(chat, &ahp.ChatPendingMessageRemovedAction{Kind: ahp.PendingMessageKindQueued, ID: "three"})
	if c := one.chat(); c.ActiveTurn != nil || len(c.Turns) != 0 || len(c.QueuedMessages) != 2 || c.SteeringMessage != nil {
		t.Fatalf("what waits is %+v, after the turns %+v", c.QueuedMessages, c.Turns)
	}
	one.until("it is on disk", func() bool { return one.hub.Stats().UnjournaledBytes == 0 })
	one.end(false)

	second := &fake{}
	box = newLeaving(t, dir, second)
	box.offline.Store(true)
	two := newLifeOf(t, dir, second, Config{Machine: box})
	box.set(two, true)
	if got := second.prompts(); len(got) != 0 || two.chat() != nil {
		t.Fatalf("a machine that is offline was asked %q", got)
	}
	box.set(two, false)
	two.until("both were sent", func() bool {
		c := two.chat()
		return c != nil && len(c.Turns) == 2 && c.ActiveTurn == nil
	})
	box.set(two, true)
	box.set(two, false)
	if got := second.prompts(); !slices.Equal(got, []string{"while it is away", "a second"}) || len(first.prompts()) != 0 {
		t.Errorf("the agent was asked %q, before the restart %q", got, first.prompts())
	}
	if e := two.host.core.Catalogue.Get(session); e.Waiting {
		t.Error("the session still waits")
	}
}

// awaySession returns a ready session whose machine is offline, with a durable queued message.
func awaySession(t *testing.T, dir string, f *fake, wait func(one *life, me core.Caller)) (*life, *leaving) {
	t.Helper()
	box := newLeaving(t, dir, f)
	one := newLifeOf(t, dir, f, Config{Machine: box})
	me := core.Caller{Principal: owner}
	one.must(one.host.CreateSession(context.Background(), me, ahp.CreateSessionParams{Channel: session}))
	one.until("it is ready", func() bool { return one.chat() != nil })
	box.set(one, true)
	wait(one, me)
	one.until("it is on disk", func() bool { return one.hub.Stats().UnjournaledBytes == 0 })
	return one, box
}

// The hub crashes when the machine is online again. A message whose turn was not durable is sent
// after the restart. One whose turn was durable is not sent again: its turn can be resumed.
func TestWaitingMessageIsSentOnceWhateverCrashes(t *testing.T) {
	for name, durable := range map[string]bool{"before its turn is on disk": false, "while its turn runs": true} {
		t.Run(name, func(t *testing.T) {
			dir, first := t.TempDir(), waiting()
			one, box := awaySession(t, dir, first, func(one *life, _ core.Caller) {
				one.do(one.chat().Resource, queued("q", "once"))
			})
			if !durable {
				one.crash()
			}
			box.set(one, false)
			one.until("its turn starts", func() bool { return one.chat().ActiveTurn != nil })
			if durable {
				one.until("it is asked", func() bool { return len(first.prompts()) == 1 })
				one.until("that is on disk", func() bool { return one.hub.Stats().UnjournaledBytes == 0 })
			}
			one.end(false)

			second := &fake{}
			two := newLifeOf(t, dir, second, Config{Machine: newLeaving(t, dir, second)})
			two.until("the turn has ended", func() bool {
				c := two.chat()
				return c != nil && len(c.Turns) == 1 && c.ActiveTurn == nil && len(c.QueuedMessages) == 0
			})
			if got := len(first.prompts()) + len(second.prompts()); got != 1 {
				t.Errorf("the message was sent %d times", got)
			}
			if is := isResumable(two.chat().Turns[0]); is != durable {
				t.Errorf("the turn can be resumed: %v", is)
			}
		})
	}
}

// Threads sent while the machine is offline reach the agent later, in their current state.
func TestThreadsReachTheAgentWhenItsMachineIsBack(t *testing.T) {
	dir, f := t.TempDir(), &fake{}
	one, box := awaySession(t, dir, f, func(one *life, me core.Caller) {
		notes := core.AnnotationsURI(session)
		one.must(one.host.Prepare(context.Background(), me, notes))
		about := thread("t1", comment("c1", "Why a.go?"))
		about.Annotation.Origin = ahp.AnnotationOrigin{Session: session, Chat: one.chat().Resource, TurnID: "t"}
		one.do(notes, about)
		one.must(one.host.SendAnnotations(context.Background(), me, session, []string{"t1"}, "Look at this", true))
		one.do(notes, &ahp.AnnotationsEntrySetAction{AnnotationID: "t1", Entry: comment("c2", "Or b.go?")})
	})
	if c := one.chat(); len(c.QueuedMessages) != 1 || len(f.prompts()) != 0 {
		t.Fatalf("%d messages wait, the agent was asked %q", len(c.QueuedMessages), f.prompts())
	}
	box.set(one, false)
	one.until("the agent is asked", func() bool { return len(f.prompts()) == 1 })
	f.mu.Lock()
	defer f.mu.Unlock()
	read := agent.Threads(nil, f.turns[0].Threads)
	for _, want := range []string{"Why a.go?", "Or b.go?"} {
		if !strings.Contains(read, want) {
			t.Errorf("the agent reads %q, without %q", read, want)
		}
	}
}
