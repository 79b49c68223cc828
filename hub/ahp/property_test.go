package ahp

import (
	"reflect"
	"testing"
)

var stateKinds = []ChannelKind{
	ChannelRoot, ChannelSession, ChannelChat, ChannelTerminal, ChannelChangeset, ChannelAnnotations,
	ChannelResourceWatch, ChannelAutomations, ChannelAutomationRun, ChannelCanvas,
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// eachRandom runs f on random states of every channel.
func eachRandom(t *testing.T, n int, f func(t *testing.T, r randomizer, s State)) {
	for _, kind := range stateKinds {
		t.Run(string(kind), func(t *testing.T) {
			for seed := range uint64(n) {
				r := newRandomizer(seed)
				f(t, r, r.state(kind))
				if t.Failed() {
					t.Fatalf("with seed %d", seed)
				}
			}
		})
	}
}

// A reducer never writes to its inputs, returns the same pointer exactly if nothing changed, and
// its results survive the wire.
func TestReduceIsPure(t *testing.T) {
	eachRandom(t, 300, func(t *testing.T, r randomizer, s State) {
		for _, a := range r.actions(s.Channel(), 8) {
			before, sent := mustJSON(t, s), mustJSON(t, &a)
			next := Reduce(s, a)
			if got := mustJSON(t, s); got != before {
				t.Fatalf("%s wrote to the state\nwas %s\nnow %s", a.ActionType(), before, got)
			}
			if got := mustJSON(t, &a); got != sent {
				t.Fatalf("the reducer wrote to the action %s", a.ActionType())
			}
			if after := mustJSON(t, next); next != s && after == before && !sameWireButNotEqual(s, next) {
				t.Fatalf("%s changed nothing and made a new state: %s\n%s", a.ActionType(), sent, after)
			}
			// Repeat the action: most then change nothing, but a turn starts again and a part is
			// added a second time.
			if again := Reduce(next, a); again != next && mustJSON(t, again) == mustJSON(t, next) &&
				reflect.DeepEqual(again, next) &&
				a.ActionType() != "chat/turnStarted" {
				t.Fatalf("%s a second time made a new state: %s", a.ActionType(), sent)
			}
			s = next
		}
		if back, err := UnmarshalState(s.Channel(), []byte(mustJSON(t, s))); err != nil ||
			mustJSON(t, back) != mustJSON(t, s) {
			t.Fatalf("a state did not survive the wire: %v\n%s\n%s", err, mustJSON(t, s), mustJSON(t, back))
		}
	})
}

// A nil and an empty required list are the same on the wire; the difference is not worth a test.
func sameWireButNotEqual(a, b State) bool { return !reflect.DeepEqual(a, b) }

func TestMergeKeepsTheReducedState(t *testing.T) {
	merged := map[string]int{}
	eachRandom(t, 2500, func(t *testing.T, r randomizer, s State) {
		for range 4 {
			pair := r.actions(s.Channel(), 2)
			m, ok := Merge(pair[0], pair[1])
			if !ok {
				continue
			}
			merged[m.ActionType()]++
			got, want := mustJSON(t, Reduce(s, m)), mustJSON(t, Reduce(Reduce(s, pair[0]), pair[1]))
			if got != want {
				t.Fatalf("merging\n%s\n%s\ngives %s\nwant  %s", mustJSON(t, &pair[0]), mustJSON(t, &pair[1]), got, want)
			}
		}
	})
	for _, info := range Actions() {
		if (info.Merge != MergeNever) != (merged[info.Type] > 0) {
			t.Errorf("%s is declared to merge %q and was merged %d times", info.Type, info.Merge, merged[info.Type])
		}
	}
}

func TestActionsOfOtherChannelsChangeNothing(t *testing.T) {
	r := newRandomizer(7)
	for _, kind := range stateKinds {
		s := r.state(kind)
		for _, info := range Actions() {
			if info.Channel != kind && Reduce(s, r.action(info)) != s {
				t.Errorf("%s changed a %s state", info.Type, kind)
			}
		}
		for _, a := range []Action{nil, &UnknownAction{Type: "future/action"}, &UnknownAction{Type: "chat/delta"},
			(*ChatDeltaAction)(nil)} {
			if Reduce(s, a) != s {
				t.Errorf("%#v changed a %s state", a, kind)
			}
		}
	}
	if Reduce(nil, &SessionReadyAction{}) != nil {
		t.Error("an action made a state out of nothing")
	}
}

func TestActionsSurviveTheWire(t *testing.T) {
	for _, info := range Actions() {
		t.Run(info.Type, func(t *testing.T) {
			for seed := range uint64(60) {
				a := newRandomizer(seed).action(info)
				sent := mustJSON(t, &a)
				back, err := UnmarshalAction([]byte(sent))
				if err != nil {
					t.Fatalf("%v\n%s", err, sent)
				}
				if back.ActionType() != info.Type || mustJSON(t, &back) != sent {
					t.Fatalf("sent %s\ngot  %s", sent, mustJSON(t, &back))
				}
			}
		})
	}
}
