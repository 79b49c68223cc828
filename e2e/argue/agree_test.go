package argue

import (
	"encoding/json"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/ahphub/ahphub/e2e/oracle"
	"github.com/ahphub/ahphub/e2e/spec"
	"github.com/ahphub/ahphub/e2e/spec/draw"
	"github.com/ahphub/ahphub/hub/ahp"
)

type object = map[string]any

// argueFor is how long the reducers are compared, over all kinds of channels; .ci/soak sets a
// longer time.
var argueFor = flag.Duration("argue", 20*time.Second, "how long the reducers argue")

var argueSeed = flag.Uint64("argue-seed", 0, "the first seed of an argument")

// steps is the number of actions per state.
const steps = 12

// shortSeeds returns the minimum number of states: chats and sessions have the most actions.
func shortSeeds(kind string) uint64 {
	switch kind {
	case "chat":
		return 160
	case "session":
		return 100
	}
	return 25
}

// share returns a channel kind's share of the time, in percent.
func share(kind string) time.Duration {
	switch kind {
	case "chat":
		return 40
	case "session":
		return 25
	}
	return 4
}

// reducer is the program's reducer, or a mutant of it.
type reducer func(ahp.State, ahp.Action) ahp.State

// TestReducersAgree compares the program's reducers with the oracle's on the same generated actions
// and states.
func TestReducersAgree(t *testing.T) { // AHP requirement 40
	for _, kind := range spec.Need(t, ahp.Version).Channels() {
		t.Run(kind, func(t *testing.T) {
			if *argueFor <= time.Minute {
				t.Parallel()
			}
			a := newArgument(t, kind, ahp.Reduce)
			end := time.Now().Add(*argueFor * share(kind) / 100)
			for seed := *argueSeed; seed < *argueSeed+shortSeeds(kind) || time.Now().Before(end); seed++ {
				if found := a.run(seed); found != "" {
					t.Fatalf("%s\nto see this again: -argue-seed %d", found, seed)
				}
			}
		})
	}
}

// FuzzReducersAgree runs the same comparison for the fuzzer's seeds.
func FuzzReducersAgree(f *testing.F) {
	kinds := spec.Need(f, ahp.Version).Channels()
	for i := range kinds {
		f.Add(uint8(i), uint64(i))
	}
	f.Fuzz(func(t *testing.T, kind uint8, seed uint64) {
		if found := newArgument(t, kinds[int(kind)%len(kinds)], ahp.Reduce).run(seed); found != "" {
			t.Error(found)
		}
	})
}

// argument compares one kind of channel of the current version.
type argument struct {
	schema *spec.Schema
	drawer *draw.Drawer
	kind   string
	ours   reducer

	judge func(before ahp.State, action, want object) // called first for every step; may be nil
}

func newArgument(t testing.TB, kind string, ours reducer) *argument {
	schema := spec.Need(t, ahp.Version)
	drawer := draw.New(schema, 0)
	drawer.Unknown = true
	return &argument{schema: schema, drawer: drawer, kind: kind, ours: ours}
}

// run generates a state and actions, and returns where the two reducers differ, or "".
func (a *argument) run(seed uint64) string {
	a.drawer.Seed(seed)
	plain := a.drawer.State(a.kind)
	typed, err := ahp.UnmarshalState(ahp.ChannelKind(a.kind), encode(plain))
	if err != nil {
		return fmt.Sprintf("a valid state is not read: %v\n%s", err, encode(plain))
	}
	if diff := differ(decode(typed), plain); diff != "" {
		return fmt.Sprintf("a state does not survive:\n%s", diff)
	}
	for range steps {
		action := a.drawer.Action(a.kind, plain)
		want := oracle.Reduce(ahp.Version, a.kind, plain, action)
		if a.judge != nil {
			a.judge(typed, action, want)
		}
		if found := a.step(&typed, action, want); found != "" {
			return fmt.Sprintf("%s\nbefore: %s", found, encode(plain))
		}
		plain = want
	}
	return ""
}

func (a *argument) step(typed *ahp.State, action, want object) string {
	read, err := ahp.UnmarshalAction(encode(action))
	if err != nil {
		return fmt.Sprintf("a valid action is not read: %v\n%s", err, encode(action))
	}
	if diff := differ(decode(read), action); diff != "" {
		return fmt.Sprintf("an action does not survive:\n%s", diff)
	}
	*typed = a.ours(*typed, read)
	if diff := differ(decode(*typed), want); diff != "" {
		return fmt.Sprintf("after %s\nthe program (got) and the oracle (want) disagree:\n%s", encode(action), diff)
	}
	return ""
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// decode converts a value of the program's types to plain JSON.
func decode(v any) object {
	var b []byte
	var err error
	if a, ok := v.(ahp.Action); ok {
		b, err = ahp.MarshalAction(a)
	} else {
		b, err = ahp.Marshal(v)
	}
	if err != nil {
		panic(err)
	}
	o, err := oracle.Decode(b)
	if err != nil {
		panic(err)
	}
	return o
}

// differ compares two values. An empty optional text equals an absent one, because the program
// omits it.
func differ(got, want any) string { return oracle.Diff(withoutEmpty(got), withoutEmpty(want)) }

func withoutEmpty(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for k, e := range v {
			switch {
			case k == "_meta":
				out[k] = e
			case e != "":
				out[k] = withoutEmpty(e)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutEmpty(e)
		}
		return out
	}
	return v
}
