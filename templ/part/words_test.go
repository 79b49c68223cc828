package part

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/ahp"
)

func draw(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWords(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for got, want := range map[string]string{
		Duration(40):                                  "40 ms",
		Duration(4_200):                               "4.2 s",
		Duration(75_000):                              "1 min 15 s",
		Age("2026-03-01T11:58:00Z", now):              "2 min",
		Age("2026-02-27T11:58:00Z", now):              "2 d",
		Age("not a time", now):                        "",
		FilePath("file:///home/ana/a%20b"):            "/home/ana/a b",
		Attention{Approvals: 2, Questions: 1}.Words(): "2 approvals, 1 question",
		Tail("ahp-chat:/01a1-x"):                      "01a1-x",
		Person{Name: "Ana Maria Lopez"}.Initials():    "AM",
		StatusOf(ahp.SessionStatusInputNeeded | ahp.SessionStatusIsRead).Word: "Needs you",
		StatusOf(ahp.SessionStatusIdle | ahp.SessionStatusIsArchived).Word:    "Archived",
	} {
		if got != want {
			t.Errorf("%q, wanted %q", got, want)
		}
	}
	if id := Tail("x:/a/<b>"); strings.ContainsAny(id, "<>/") || id == Tail("x:/a/<c>") {
		t.Errorf("a hostile URI is named %q in a path", id)
	}
}

func TestTerminalTextIsPlain(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m":                           "red",
		"10%\r20%\r\ndone":                             "20%\ndone",
		"\x1b]8;;javascript:alert(1)\x07x\x1b]8;;\x07": "x",
		"\x1b]0;title\x1b\\y\x1b(Bz":                   "yz",
		"a\x00\x07b\x1b":                               "ab",
	} {
		if got := PlainTerminal(in); got != want {
			t.Errorf("%q became %q, wanted %q", in, got, want)
		}
	}
}

func TestApprovalCardKeepsTheHostsOrder(t *testing.T) {
	input := ahp.ToolInput{Text: `{"command":"rm -rf build"}`}
	call := ToolOf(ahp.ToolCallState{Value: &ahp.ToolCallPendingConfirmationState{
		ToolCallBase: ahp.ToolCallBase{ToolCallID: "c", DisplayName: "Shell"},
		ToolCallParameterFields: ahp.ToolCallParameterFields{InvocationMessage: ahp.Plain("Clean up"),
			ToolInput: &input},
		Options: []ahp.ConfirmationOption{{ID: "never", Label: "Never", Kind: "deny"},
			{ID: "once", Label: "Once", Kind: "approve"}, {ID: "always", Label: "Always", Kind: "approve"}},
	}})
	html := draw(t, ToolPart(Turn{ID: "t", Base: "/s/a/c/b", Dir: "/home/ana/project"}, call))
	at := 0
	for _, want := range []string{"May Shell run?", "Clean up", "rm -rf build", "/home/ana/project", "Never", "Once",
		"Always"} {
		i := strings.Index(html[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or not in its place:\n%s", want, html)
		}
		at += i
	}
	if strings.Contains(html, `{"command"`) {
		t.Error("the command is shown as JSON")
	}
	if strings.Count(html, "btn main") != 1 || !strings.Contains(html, `tabindex="0"`) {
		t.Errorf("one answer stands out and the card can be focused:\n%s", html)
	}
}

// The primary button is the approval with the shortest effect, wherever the agent lists it.
func TestApproveOnceIsPrimary(t *testing.T) {
	option := func(id, kind string, group int64) ahp.ConfirmationOption {
		return ahp.ConfirmationOption{ID: id, Kind: ahp.ConfirmationOptionKind(kind), Group: ahp.Ptr(group)}
	}
	for want, list := range map[string][]ahp.ConfirmationOption{
		"once":   {option("no", "deny", 0), option("always", "approve", 1), option("once", "approve", 0)},
		"always": {option("no", "deny", 0), option("always", "approve", 1), option("ever", "approve", 2)},
		"plain":  {{ID: "no", Kind: "deny"}, {ID: "plain", Kind: "approve"}, {ID: "other", Kind: "approve"}},
	} {
		if i := firstApprove(list); i < 0 || list[i].ID != want {
			t.Errorf("%d of %v stands out, want %s", i, list, want)
		}
	}
}

func TestFinishedTurnTellsWhatItDid(t *testing.T) {
	html := draw(t, TurnPart(Turn{ID: "t", Base: "/s/a/c/b", State: ahp.TurnStateComplete,
		Duration: ahp.Ptr(int64(61_000)),
		Message:  ahp.Message{Text: "Do it"}, Changes: &ahp.ChangesSummary{Additions: ahp.Ptr(int64(120)),
			Deletions: ahp.Ptr(int64(8)), Files: ahp.Ptr(int64(4))},
		Usage: &ahp.UsageInfo{InputTokens: ahp.Ptr(int64(1200)), OutputTokens: ahp.Ptr(int64(3))}}))
	for _, want := range []string{"Do it", "1 min 1 s", "+120", "−8", "in 4 files", `href="/s/a/changes?scope=turn.t"`,
		"3 out"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing:\n%s", want, html)
		}
	}
}

func unasked(key, value string) bool { return key == "approval" && value == "auto" }

// A value that skips all approvals is red where it is offered, and where it is set.
func TestAllowingEverythingIsRed(t *testing.T) {
	schema := ahp.SessionConfigSchema{Properties: map[string]ahp.SessionConfigPropertySchema{"approval": {Type: "string", SessionMutable: ahp.Ptr(true),
		Enum: []json.RawMessage{json.RawMessage(`"ask"`), json.RawMessage(`"auto"`)}}}}
	set := func(value string) []Setting {
		return SettingsOf(schema, ahp.Meta{"approval": json.RawMessage(value)}, true, unasked)
	}
	if html := draw(t, SettingFields(set(`"ask"`))); strings.Count(html, `class="check bad"`) != 1 {
		t.Errorf("offered as\n%s", html)
	}
	for value, red := range map[string]bool{`"ask"`: false, `"auto"`: true} {
		if html := draw(t, SettingsPart("", set(value))); strings.Contains(html,
			`"setting owner-only bad"`) != red {
			t.Errorf("%s is shown as\n%s", value, html)
		}
	}
}

// A number has a number field, in the form of a new session and in a running one.
func TestNumberQuestionHasNumberField(t *testing.T) {
	schema := ahp.SessionConfigSchema{Properties: map[string]ahp.SessionConfigPropertySchema{
		"temperature": {Type: "number", Title: "Temperature", Default: json.RawMessage("0.5"),
			SessionMutable: ahp.Ptr(true)},
	}}
	for live, fields := range map[bool]func([]Setting) templ.Component{
		true:  func(l []Setting) templ.Component { return SettingsPart("", l) },
		false: SettingFields,
	} {
		html := draw(t, fields(SettingsOf(schema, ahp.Meta{"temperature": json.RawMessage("0.7")}, live, unasked)))
		for _, want := range []string{"Temperature", `type="number"`, `step="any"`, `value="0.7"`} {
			if !strings.Contains(html, want) {
				t.Errorf("live %v: %s is missing:\n%s", live, want, html)
			}
		}
	}
}
