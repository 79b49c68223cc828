package host

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

// leaving is a machine that goes and comes back.
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

// What is sent while the machine of a session is offline waits, also when the host starts again, and is sent once when the
// machine is back.
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
