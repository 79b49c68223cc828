package ahp_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

type roundTrip struct {
	Type              string
	Input             json.RawMessage
	AcceptableOutputs []json.RawMessage
}

// wireTypes are the types that round-trip fixtures name. JSON-RPC framing belongs to another
// package.
var wireTypes = map[string]func() any{
	"ActionEnvelope":           func() any { return new(ahp.ActionEnvelope) },
	"ChangesetOperationTarget": func() any { return new(ahp.ChangesetOperationTarget) },
	"ChatInputQuestion":        func() any { return new(ahp.ChatInputQuestion) },
	"ChatSource":               func() any { return new(ahp.ChatSource) },
	"Implementation":           func() any { return new(ahp.Implementation) },
	"InitializeResult":         func() any { return new(ahp.InitializeResult) },
	"PartialSessionSummary":    func() any { return new(ahp.PartialSessionSummary) },
	"SessionAddedParams":       func() any { return new(ahp.SessionAddedParams) },
	"SessionStatus":            func() any { return new(ahp.SessionStatus) },
	"SessionSummary":           func() any { return new(ahp.SessionSummary) },
	"StateAction":              func() any { return new(ahp.Action) },
	"StringOrMarkdown":         func() any { return new(ahp.StringOrMarkdown) },
	"ChatState":                func() any { return new(ahp.ChatState) },
	"SessionState":             func() any { return new(ahp.SessionState) },
	"TerminalState":            func() any { return new(ahp.TerminalState) },
	"AutomationState":          func() any { return new(ahp.AutomationState) },
	"MoveChatParams":           func() any { return new(ahp.MoveChatParams) },
}

func TestRoundTripFixtures(t *testing.T) {
	for _, file := range fixtures(t, "0.8-dev/round-trips") {
		t.Run(filepath.Base(file), func(t *testing.T) { checkRoundTrip(t, file) })
	}
}

func TestOwnRoundTrips(t *testing.T) {
	files, _ := filepath.Glob("testdata/roundtrips/*.json")
	if len(files) == 0 {
		t.Fatal("no fixtures in testdata/roundtrips")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { checkRoundTrip(t, file) })
	}
}

func checkRoundTrip(t *testing.T, file string) {
	var f roundTrip
	read(t, file, &f)
	if f.Type == "JsonRpcMessage" {
		t.Skip("framing is tested where it is implemented")
	}
	make, ok := wireTypes[f.Type]
	if !ok {
		t.Fatalf("no Go type for %s", f.Type)
	}
	v := make()
	if err := ahp.Unmarshal(f.Input, v); err != nil {
		t.Fatal(err)
	}
	want := f.AcceptableOutputs
	if want == nil {
		want = []json.RawMessage{f.Input}
	}
	got := plain(t, []byte(mustMarshal(t, v)))
	for _, w := range want {
		if reflect.DeepEqual(got, plain(t, w)) {
			return
		}
	}
	t.Errorf("%s became\n%s\nwant %s", f.Type, encode(got), want[0])
}
