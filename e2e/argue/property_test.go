package argue

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/e2e/oracle"
	"github.com/ahphub/ahphub/e2e/spec/draw"
	"github.com/ahphub/ahphub/hub/ahp"
)

// appending are the actions that add something each time. Repeating any other action does not
// change the state: it replaces, upserts, removes or has no effect.
var appending = []string{
	"chat/delta", "chat/reasoning", "chat/responsePart", "chat/toolCallDelta", "chat/toolCallStart",
	"terminal/commandExecuted", "terminal/data",
}

// TestReduceIsPureAndIdempotent checks that the reducer does not modify its arguments, and that a
// repeated action changes nothing, where the protocol says so.
func TestReduceIsPureAndIdempotent(t *testing.T) { // AHP requirements 40 and 88
	eachStep(t, func(before ahp.State, action ahp.Action) string {
		state, sent := wire(before), wire(action)
		after := ahp.Reduce(before, action)
		if wire(before) != state || wire(action) != sent {
			return "it was written to"
		}
		if slices.Contains(appending, action.ActionType()) {
			return ""
		}
		again := ahp.Reduce(after, action)
		if again == after || wire(again) == wire(after) {
			return ""
		}
		return differ(decode(again), decode(after))
	})
}

// wire returns a value as sent.
func wire(v any) string {
	b, err := ahp.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestMergeEqualsNoMerge checks that two merged actions have the effect of both in order.
func TestMergeEqualsNoMerge(t *testing.T) { // AHP requirement 31
	merged := 0
	var last ahp.Action
	eachStep(t, func(before ahp.State, action ahp.Action) string {
		for _, first := range []ahp.Action{action, last} {
			if first == nil {
				continue
			}
			m, ok := ahp.Merge(first, action)
			if !ok {
				continue
			}
			merged++
			got, want := ahp.Reduce(before, m), ahp.Reduce(ahp.Reduce(before, first), action)
			if wire(got) == wire(want) {
				continue
			}
			if diff := differ(decode(got), decode(want)); diff != "" {
				return fmt.Sprintf("%s before it:\n%s", encode(decode(first)), diff)
			}
		}
		last = action
		return ""
	})
	if merged < 20 {
		t.Errorf("only %d pairs were merged", merged)
	}
}

// eachStep runs f on generated states and actions of every kind: of the current version, and of
// each older one as read from its clients.
func eachStep(t *testing.T, f func(before ahp.State, action ahp.Action) string) {
	for _, version := range older {
		m, drawer := newOlder(t, version), drawerOf(t, version)
		drawer.Unknown = version == ahp.Version
		for _, kind := range m.schema.Channels() {
			seeds := max(2, shortSeeds(kind)/30)
			if version == ahp.Version {
				seeds = shortSeeds(kind) / 4
			}
			for seed := range seeds {
				drawer.Seed(seed)
				if found := m.steps(drawer, kind, f); found != "" {
					t.Fatalf("%s %s, seed %d: %s", version, kind, seed, found)
				}
			}
		}
	}
}

// steps generates a state and actions of the version, converts them to the current one, and runs f
// on each.
func (m *olderMirror) steps(drawer *draw.Drawer, kind string, f func(ahp.State, ahp.Action) string) string {
	plain := drawer.State(kind)
	up, err := m.UpState(channel, ahp.ChannelKind(kind), encode(plain))
	if err != nil {
		return err.Error()
	}
	state, err := ahp.UnmarshalState(ahp.ChannelKind(kind), up)
	if err != nil {
		return err.Error()
	}
	for range steps {
		up, err := m.UpAction(channel, encode(drawer.Action(kind, plain)))
		if err != nil {
			continue // not expressible any more
		}
		action, err := ahp.UnmarshalAction(up)
		if err != nil {
			return err.Error()
		}
		if found := f(state, action); found != "" {
			return fmt.Sprintf("%s: %s\nbefore: %s", encode(decode(action)), found, encode(decode(state)))
		}
		state = ahp.Reduce(state, action)
	}
	return ""
}

// TestChatIsInOneStateOfWork checks that after every action, a chat has one of the four activities,
// and is unread after a turn started or a question was asked.
func TestChatIsInOneStateOfWork(t *testing.T) { // AHP requirement 116
	asked := 0
	eachStep(t, func(before ahp.State, action ahp.Action) string {
		was, ok := before.(*ahp.ChatState)
		if !ok {
			return ""
		}
		is := ahp.Reduce(before, action).(*ahp.ChatState)
		switch is.Status.Activity() {
		case ahp.SessionStatusIdle, ahp.SessionStatusError, ahp.SessionStatusInProgress, ahp.SessionStatusInputNeeded:
		default:
			return fmt.Sprintf("the status becomes %d", is.Status)
		}
		switch action.(type) {
		case *ahp.ChatTurnStartedAction, *ahp.ChatInputRequestedAction:
			if is == was {
				break
			}
			asked++
			if is.Status.Has(ahp.SessionStatusIsRead) {
				return "it stays read"
			}
		}
		return ""
	})
	if asked < 20 {
		t.Errorf("only %d turns and questions came", asked)
	}
}

// TestOlderActionsSurvive checks that what a client of an older version may dispatch is read,
// stored in the program's form, and echoed to that client unchanged.
func TestOlderActionsSurvive(t *testing.T) { // AHP requirements 23 and 34
	for _, version := range older {
		m, drawer := newOlder(t, version), drawerOf(t, version)
		left := leftOut(t, m)
		for _, kind := range m.schema.Channels() {
			for seed := range max(2, shortSeeds(kind)/15) {
				drawer.Seed(seed)
				state := drawer.State(kind)
				for _, action := range drawer.Actions(kind) {
					if info, ok := ahp.Info(action.Type); !ok || !info.Dispatchable {
						continue
					}
					said := drawer.ActionOf(action, state)
					if found := m.lost(m.echo(said), left, nil); found != "" {
						t.Errorf("%s, seed %d: %s\n%s", version, seed, encode(said), found)
						return
					}
				}
			}
		}
	}
}

func (m *olderMirror) echo(said object) string {
	up, err := m.UpAction(channel, encode(said))
	if err != nil {
		return err.Error()
	}
	read, err := ahp.UnmarshalAction(up)
	if err != nil {
		return err.Error()
	}
	raw, err := ahp.MarshalAction(read)
	if err != nil {
		return err.Error()
	}
	down, ok := m.DownAction(channel, raw)
	if !ok {
		return "it is not echoed"
	}
	back, err := oracle.Decode(down)
	if err != nil {
		return err.Error()
	}
	return differ(back, said)
}

// change is a place that an older version expresses differently, with the row of docs/versions.md
// that says so.
type change struct{ before, place, row string }

var changes = []change{
	{"0.9.0", `.*/origin/kind`, "message from an automation"},
	{"0.9.0", `/status`, "`recomputing` changeset"},
	{"0.9.0", `/turns/\d+/responseParts.*|/activeTurn/responseParts`, "error part of a turn"},
	{"0.9.0", `(/terminals/\d+)?/lifecycle/status`, "lifecycle of a terminal"},
	{"0.9.0", `/annotations/\d+/origin/.*`, "origin of a thread"},
	{"0.8.0", `.*/enablement.*`, "decisions about a plugin or MCP server"},
	{"0.8.0", `/status`, "a tool that waits for a client to run it"},
	{"0.7.0", `.*/workingDirectories.*`, "working directories after the first"},
	{"0.7.0", `.*/attachments/\d+/.*`, "chat attached to a message"},
	{"0.7.0", `.*/toolInput.*`, "tool input by reference"},
	{"0.7.0", `.*/content/\d+/(title|result.*)`, "result of a tool's terminal"},
	{"0.7.0", `.*/origin/.*`, "side chat"},
	{"0.6.0", `/activeTurn/responseParts.*`, "open input request of a turn"},
	{"0.6.0", `.*/toolCall/(auth|status)|/status|/inputNeeded.*`, "tool call that waits for a sign-in"},
	{"0.5.2", `.*/customizations/\d+/children.*`, "a disabled child of a plugin"},
	{"0.5.0", `/activity`, "activity of a chat"},
	{"0.5.0", `/activeClients.*`, "active clients"},
	{"0.5.0", `.*/(enum|enumLabels|enumDescriptions)`, "choices of a setting, if some are not strings"},
}

// TestUpAfterDownLosesOnlyWhatIsDeclared converts states to an older version and back. Differences
// must be in docs/versions.md, as an omitted field or a change.
func TestUpAfterDownLosesOnlyWhatIsDeclared(t *testing.T) {
	for _, version := range older {
		m := newOlder(t, version)
		left := leftOut(t, m)
		for _, kind := range m.schema.Channels() {
			for seed := range max(2, shortSeeds(kind)/15) {
				m.drawer.Seed(seed)
				if found := m.lost(m.backAndForth(t, kind), left, changes); found != "" {
					t.Errorf("%s %s, seed %d:\n%s", version, kind, seed, found)
				}
			}
		}
	}
}

// lost returns the lines of a difference that are neither omitted fields nor declared changes.
func (m *olderMirror) lost(diff string, left map[string]bool, changes []change) string {
	lines := slices.DeleteFunc(strings.Split(diff, "\n"), func(line string) bool {
		place, _, _ := strings.Cut(line, ": got ")
		return slices.ContainsFunc(strings.Split(place, "/"), func(name string) bool { return left[name] }) ||
			slices.ContainsFunc(changes, func(c change) bool { return m.Before(c.before) && matches(c.place, place) })
	})
	return strings.Join(lines, "\n")
}

func (m *olderMirror) backAndForth(t *testing.T, kind string) string {
	t.Helper()
	is := m.drawer.State(kind)
	typed, err := ahp.UnmarshalState(ahp.ChannelKind(kind), encode(is))
	if err != nil {
		t.Fatal(err)
	}
	down, found := m.snapshot(kind, typed)
	if found != "" {
		t.Fatal(found)
	}
	up, err := m.UpState(channel, ahp.ChannelKind(kind), encode(down))
	if err != nil {
		t.Fatal(err)
	}
	back, err := oracle.Decode(up)
	if err != nil {
		t.Fatal(err)
	}
	return differ(back, is)
}

// leftOut returns the names of fields that docs/versions.md lists as omitted for a version.
func leftOut(t *testing.T, m *olderMirror) map[string]bool {
	t.Helper()
	docs, err := os.ReadFile("../../docs/versions.md")
	if err != nil {
		t.Fatal(err)
	}
	names, counts := map[string]bool{}, false
	for line := range strings.Lines(string(docs)) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "## Before "); ok {
			counts = m.Before(version)
		}
		what, ok := strings.CutSuffix(strings.TrimSpace(line), "| left out |")
		if !ok || !counts {
			continue
		}
		for _, name := range regexp.MustCompile("`([A-Za-z_]+)`").FindAllStringSubmatch(what, -1) {
			names[name[1]] = true
		}
	}
	return names
}
