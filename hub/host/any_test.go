package host

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/threads"
)

// TestRandomClientActions sends random actions of several people, and checks the host's
// consistency: mirrors, aggregates, and the authors of comments.
func TestRandomClientActions(t *testing.T) { // AHP requirements 40, 76, 86, 104
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, func(w *world) { w.anything(rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func (w *world) anything(r *rand.Rand) {
	w.agent.prompt = func(ctx context.Context, turn agent.Turn) error {
		_ = turn.Out.Emit(&ahp.ChatToolCallStartAction{ToolCallID: "c", ToolName: "run", DisplayName: "Run"})
		a, err := turn.Out.Confirm(ctx, &ahp.ChatToolCallReadyAction{ToolCallID: "c",
			InvocationMessage: ahp.Plain("run")})
		if err != nil || !a.Approved {
			return err
		}
		if _, err = turn.Out.Ask(ctx, ahp.ChatInputRequest{ID: "r"}); err != nil {
			return err
		}
		return &agent.Failure{Message: "away", Resumable: true}
	}
	first := w.create()
	w.must(w.host.CreateChat(w.t.Context(), first.caller, ahp.CreateChatParams{Channel: session, Chat: "ahp-chat:/2"}))
	people := []*client{first, w.connect(driver, "dan"), w.connect(commenter, "ben"), w.connect(other, "cleo")}
	for _, c := range people {
		c.subscribe(session, w.chat(), "ahp-chat:/2", notes)
	}
	for range 150 {
		c := people[r.IntN(len(people))]
		chat := []ahp.URI{w.chat(), "ahp-chat:/2"}[r.IntN(2)]
		had := w.threads()
		uri, a := w.anAction(r, chat)
		c.try(uri, a)
		if !c.caller.IsOwner() {
			w.othersStand(c, had)
		}
		w.consistent()
		time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
	}
	for _, c := range people {
		c.converged()
	}
}

func (w *world) anAction(r *rand.Rand, chat ahp.URI) (ahp.URI, ahp.Action) {
	s, _ := hub.StateOf[*ahp.ChatState](w.hub, chat)
	turn, id := "none", fmt.Sprint(r.IntN(3))
	if s.ActiveTurn != nil {
		turn = s.ActiveTurn.ID
	} else if last := core.LastTurn(s); last != nil {
		turn = last.ID
	}
	on := func(a ahp.Action) (ahp.URI, ahp.Action) { return chat, a }
	switch r.IntN(15) {
	case 0, 1:
		return on(started("go"))
	case 2:
		return on(&ahp.ChatTurnCancelledAction{TurnID: turn})
	case 3:
		return on(&ahp.ChatTurnResumeAction{TurnID: turn})
	case 4, 5, 6:
		return on(&ahp.ChatToolCallConfirmedAction{TurnID: turn, ToolCallID: "c", Approved: r.IntN(3) > 0})
	case 7, 8:
		return on(&ahp.ChatInputCompletedAction{RequestID: "r", Response: ahp.ChatInputResponseKindAccept})
	case 9:
		return on(queued(id, "later"))
	case 10:
		return on(&ahp.ChatTruncatedAction{TurnID: turn})
	case 11:
		return session, &ahp.SessionIsReadChangedAction{IsRead: r.IntN(2) == 0}
	case 12:
		return notes, thread(id, comment("1", "x"), comment(id, "y"))
	case 13:
		return notes, reply(id, comment(fmt.Sprint(r.IntN(4)), "z"))
	}
	return notes, []ahp.Action{resolved(id, r.IntN(2) == 0), &ahp.AnnotationsRemovedAction{AnnotationID: id},
		&ahp.AnnotationsEntryRemovedAction{AnnotationID: id, EntryID: fmt.Sprint(r.IntN(4))},
		thread(id, comment("3", "w"))}[r.IntN(4)]
}

// othersStand fails if a guest changed or removed another person's comment.
func (w *world) othersStand(c *client, had *ahp.AnnotationsState) {
	w.t.Helper()
	for _, t := range had.Annotations {
		for _, e := range t.Entries {
			if threads.AuthorOf(e) == c.caller.ID {
				continue
			}
			i := threads.FindThread(w.threads(), t.ID)
			if i < 0 || threads.FindEntry(w.threads().Annotations[i].Entries, e.ID) < 0 {
				w.t.Fatalf("%s took %s's comment away", c.caller.Name, threads.AuthorOf(e))
			}
			if now := w.threads().Annotations[i].Entries[threads.FindEntry(w.threads().Annotations[i].Entries,
				e.ID)]; !reflect.DeepEqual(now, e) {
				w.t.Fatalf("%s changed %s's comment to %+v", c.caller.Name, threads.AuthorOf(e), now)
			}
		}
	}
}

func (w *world) consistent() {
	w.t.Helper()
	synctest.Wait()
	s := w.session()
	var want []ahp.SessionInputRequest
	for _, c := range s.Chats {
		chat, _ := hub.StateOf[*ahp.ChatState](w.hub, c.Resource)
		want = append(want, listWaiting(c.Resource, chat.ActiveTurn)...)
		if d, differs := diffChat(c, summarizeChat(chat)); differs {
			w.t.Fatalf("the catalogue of chats is behind by %+v", d)
		}
		if chat.ActiveTurn == nil && len(chat.QueuedMessages) > 0 {
			w.t.Fatal("a message is queued in an idle chat")
		}
		if playing := w.playing(c.Resource); playing != (chat.ActiveTurn != nil) {
			w.t.Fatalf("the agent plays a turn: %t, the chat shows one: %t", playing, chat.ActiveTurn != nil)
		}
	}
	if len(want) != len(s.InputNeeded) {
		w.t.Fatalf("inputNeeded has %d entries, the chats wait for %d", len(s.InputNeeded), len(want))
	}
	e := w.host.core.Catalogue.Get(session)
	now := *e
	updateSummary(&now, s)
	if d, differs := diffSummary(e.Summary, now.Summary); differs {
		w.t.Fatalf("the summary is behind by %+v", d)
	}
	if n := w.threads().Summary(notes); !reflect.DeepEqual(e.Summary.Annotations, n) {
		w.t.Fatalf("the counts are %+v, want %+v", e.Summary.Annotations, n)
	}
}

func (w *world) playing(chat ahp.URI) bool {
	l := w.host.turns.runtimeOf(session)
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runs[chat]
	if r == nil {
		return false
	}
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}
