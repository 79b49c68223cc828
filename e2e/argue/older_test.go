package argue

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/e2e/oracle"
	"github.com/ahphub/ahphub/e2e/spec"
	"github.com/ahphub/ahphub/e2e/spec/draw"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ahp/dialect"
)

// older lists the versions spoken through adapters.
var older = []string{"0.4.0", "0.5.0", "0.5.1", "0.5.2", "0.6.0", "0.7.0", "0.8.0", "0.9.0", "0.10.0", "1.0.0"}

// loss is a place where an older client's mirror differs until its next snapshot, with the row of
// docs/versions.md that says so. Places are regular expressions for the whole path.
type loss struct {
	before, action, place string
	row                   string
}

var losses = []loss{
	{"1.0.0", "chat/isReadChanged", `/status`, "`chat/isReadChanged`"},
	{"1.0.0", "chat/isArchivedChanged", `/status`, "`chat/isArchivedChanged`"},
	{"1.0.0", "session/chatsReordered", `/chats/.*`, "`session/chatsReordered`"},
	{"1.0.0", "session/mcpServerBackgroundRequested", `.*/state/blocking`, "`session/mcpServerBackgroundRequested`"},
	{"1.0.0", "chat/(movable|changesets|canvases)Changed", `/(movable|changesets|canvases).*`,
		"`chat/movableChanged`"},
	{"1.0.0", "chat/backgroundWork.*", `/backgroundWork.*`, "`chat/backgroundWorkSet`"},
	{"0.9.0", "chat/turnResume", `/(activeTurn|status|turns|inputRequests).*`,
		"not sent: the turn stays failed until the next snapshot"},
	{"0.9.0", "changeset/contentChanged", `/error`, "cleared when the content changes, as in old reducers"},
	{"0.8.0", "session/workingDirectoryReplaced", `/workingDirectories.*`, "`session/workingDirectoryReplaced`"},
	{"0.7.0", "(session|chat)/workingDirectory.*", `(/summary)?/workingDirectory`, "working directories after the first"},
	{"0.7.0", "session/chatUpdated", `/chats/\d+/workingDirectory`, "working directories after the first"},
	{"0.7.0", "chat/toolCallReady", `.*/toolCall/(contributor|intention).*`,
		"`contributor`, `intention` of `chat/toolCallReady`"},
	{"0.7.0", "chat/toolCall(Ready|Confirmed)", `.*/toolCall/toolInput.*`, "tool input by reference"},
	{"0.6.0", "chat/toolCallReady", `/status|.*/toolCall/.*`,
		"another approval request for a waiting call"},
	{"0.6.0", "chat/inputCompleted", `/activeTurn/responseParts/.*`, "at the end of the turn until the next snapshot"},
	{"0.6.0", "chat/toolCallAuth.*", `.*/toolCall/_meta.*`, "tool call that waits for a sign-in"},
	{"0.6.0", "chat/toolCallComplete", `/status|.*/toolCall/(status|content).*`, "tool call that waits for a sign-in"},
	{"0.5.2", "session/customizationToggled", `/customizations/\d+/children.*`, "a disabled child of a plugin"},
	{"0.5.1", "chat/turnsLoaded", `/turns.*`, "`fetchTurns {cursor}` and `chat/turnsLoaded`"},
	{"0.5.1", "session/inputNeeded.*", `(/summary)?/status`, "status of a session that waits for a person"},
	{"0.5.0", "session/activeClient.*", `/activeClient.*`, "the last one; none after any of them leaves"},
	{"0.5.0", "session/chat.*", `/summary/(createdAt|modifiedAt)`, "`summary`, with the times of its chats"},
}

// TestOlderMirrorsAgree has a client of each older version reduce, by its rules, the actions it is
// sent. The result must equal a new snapshot, and everything must be valid by its schema.
func TestOlderMirrorsAgree(t *testing.T) { // AHP requirements 22 and 40
	for _, version := range older {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			m := newOlder(t, version)
			for _, kind := range m.schema.Channels() {
				for seed := *argueSeed; seed < *argueSeed+max(2, shortSeeds(kind)/12)*m.times; seed++ {
					if found := m.run(kind, seed); found != "" {
						t.Fatalf("%s\nto see this again: -argue-seed %d", found, seed)
					}
				}
			}
		})
	}
}

// Seeds of differences that long runs found.
func TestOlderMirrorsAgreeWhereLongRunsDidNot(t *testing.T) { // AHP requirements 22 and 40
	for _, c := range []struct {
		version, kind string
		seed          uint64
	}{
		{"0.4.0", "session", 372}, // a child of a directory is switched
		{"0.5.2", "session", 114}, // after a sign-in, it waits for an approval
	} {
		if found := newOlder(t, c.version).run(c.kind, c.seed); found != "" {
			t.Errorf("%s, %s, seed %d: %s", c.version, c.kind, c.seed, found)
		}
	}
}

// olderMirror is a client of an older version.
type olderMirror struct {
	*dialect.Dialect
	version string
	schema  *spec.Schema
	drawer  *draw.Drawer
	times   uint64 // multiplies the duration of the short form
}

func newOlder(t *testing.T, version string) *olderMirror {
	v, err := dialect.Parse(version)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := dialect.Of(v)
	return &olderMirror{d, version, spec.Need(t, version), draw.New(spec.Need(t, ahp.Version), 0),
		1 + uint64(argueFor.Minutes())*20}
}

var channel = dialect.Context{Resource: "ahp-session:/a", Session: "ahp-session:/a", ClientID: "c",
	Now: time.UnixMilli(0)}

func (m *olderMirror) run(kind string, seed uint64) string {
	m.drawer.Seed(seed)
	typed, err := ahp.UnmarshalState(ahp.ChannelKind(kind), encode(m.drawer.State(kind)))
	if err != nil {
		return err.Error()
	}
	has, found := m.snapshot(kind, typed)
	if found != "" {
		return found
	}
	for range steps {
		action, err := ahp.UnmarshalAction(encode(m.drawer.Action(kind, decode(typed))))
		if err != nil {
			return err.Error()
		}
		next := ahp.Reduce(typed, action)
		if next == typed || refused(typed, action) {
			continue // only its sender gets it
		}
		want, found := m.step(kind, has, next, action)
		if found != "" {
			return string(encode(decode(action))) + "\n" + found + "\nbefore: " + string(encode(decode(typed)))
		}
		typed, has = next, want
	}
	return ""
}

// refused reports whether every host refuses the action in that state.
func refused(s ahp.State, a ahp.Action) bool {
	chat, ok := s.(*ahp.ChatState)
	_, start := a.(*ahp.ChatTurnStartedAction)
	return ok && start && chat.ActiveTurn != nil // one turn at a time (AHP requirement 104)
}

// step has the client reduce an action, and returns the snapshot after it.
func (m *olderMirror) step(kind string, has object, after ahp.State, action ahp.Action) (want object, found string) {
	want, found = m.snapshot(kind, after)
	if found != "" {
		return nil, found
	}
	raw, _ := ahp.MarshalAction(action)
	if down, ok := m.DownAction(channel, raw); ok {
		sent, err := oracle.Decode(down)
		if err != nil {
			return nil, err.Error()
		}
		if err := m.schema.Validate(spec.ActionDef(sent["type"].(string)), down); err != nil && !m.open(sent) {
			return nil, err.Error()
		}
		has = oracle.Reduce(m.version, kind, has, sent)
	}
	return want, m.undeclared(action.ActionType(), differ(m.comparable(kind, has), m.comparable(kind, want)))
}

// snapshot returns a state in this version, and what is wrong with it.
func (m *olderMirror) snapshot(kind string, s ahp.State) (object, string) {
	raw, err := ahp.Marshal(s)
	if err != nil {
		return nil, err.Error()
	}
	down, err := m.DownState(channel, ahp.ChannelKind(kind), raw)
	if err != nil {
		return nil, err.Error()
	}
	plain, err := oracle.Decode(down)
	if err != nil {
		return nil, err.Error()
	}
	if err := m.schema.Validate(spec.StateDef(kind), down); err != nil && !m.open(plain) {
		return nil, err.Error()
	}
	return plain, ""
}

// open reports whether a value is a later one of an open enum, which is sent from 0.9 on.
func (m *olderMirror) open(v object) bool { return !m.Before("0.9.0") && v["status"] == "recomputing" }

// comparable removes what reducers before 0.6 do on their own: they use their own clock for a
// chat's modification time, and move pending requests to the end after a sign-in entry, which they
// are not sent.
func (m *olderMirror) comparable(kind string, state object) object {
	if !m.Before("0.6.0") {
		return state
	}
	out := maps.Clone(state)
	if kind == "chat" {
		delete(out, "modifiedAt")
	}
	if needed, ok := out["inputNeeded"].([]any); ok && kind == "session" {
		id := func(v any) string { s, _ := v.(object)["id"].(string); return s }
		out["inputNeeded"] = slices.SortedFunc(slices.Values(needed),
			func(a, b any) int { return strings.Compare(id(a), id(b)) })
	}
	return out
}

// undeclared returns the lines of a difference that no loss declares.
func (m *olderMirror) undeclared(action, diff string) string {
	lines := slices.DeleteFunc(strings.Split(diff, "\n"), func(line string) bool {
		place, _, _ := strings.Cut(line, ": got ")
		return line == "" || slices.ContainsFunc(losses, func(l loss) bool {
			return m.Before(l.before) && matches(l.action, action) && matches(l.place, place)
		})
	})
	return strings.Join(lines, "\n")
}

func matches(pattern, s string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(s)
}

// TestLossesAreDeclared compares the losses with docs/versions.md.
func TestLossesAreDeclared(t *testing.T) {
	docs, err := os.ReadFile("../../docs/versions.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if !strings.Contains(string(docs), "| "+c.row) {
			t.Errorf("docs/versions.md does not say %q, by which %s may differ", c.row, c.place)
		}
	}
	for _, l := range losses {
		if !strings.Contains(string(docs), l.row) {
			t.Errorf("docs/versions.md does not say %q, by which %s may differ at %s", l.row, l.action, l.place)
		}
	}
}

// drawerOf returns a generator for a version.
func drawerOf(t *testing.T, version string) *draw.Drawer { return draw.New(spec.Need(t, version), 0) }
