package ahp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestEncode(t *testing.T) {
	cases := []struct {
		name string
		v    any
		want string
	}{
		{"type goes first, absent fields are left out", &ChatTruncatedAction{}, `{"type":"chat/truncated"}`},
		{"an action behind the interface", ActionEnvelope{Channel: "c", Action: &SessionTitleChangedAction{Title: "T"},
			ServerSeq: 3},
			`{"channel":"c","action":{"type":"session/titleChanged","title":"T"},"serverSeq":3}`},
		{"required lists are never null", &ChatState{},
			`{"resource":"","title":"","status":0,"modifiedAt":"","turns":[]}`},
		{"optional lists tell empty from absent", &ChatState{Canvases: []CanvasReference{}},
			`{"resource":"","title":"","status":0,"modifiedAt":"","turns":[],"canvases":[]}`},
		{"a variant outside a union keeps its kind", ErrorResponsePart{Error: ErrorInfo{ErrorType: "e", Message: "m"}},
			`{"kind":"error","error":{"errorType":"e","message":"m"}}`},
		{"embedded fields lie flat", ToolCallState{&ToolCallRunningState{ToolCallBase: ToolCallBase{ToolCallID: "1",
			ToolName: "n", DisplayName: "d"},
			ToolCallPostConfirmationFields: ToolCallPostConfirmationFields{Confirmed: ToolCallConfirmationReasonSetting}}},
			`{"status":"running","toolCallId":"1","toolName":"n","displayName":"d","invocationMessage":"","confirmed":"setting"}`},
		{"big integers in open values survive",
			&SessionMetaChangedAction{Meta: Meta{"n": json.RawMessage("12345678901234567890"),
				"a": json.RawMessage("[]")}},
			`{"type":"session/metaChanged","_meta":{"a":[],"n":12345678901234567890}}`},
		{"a number question says which number",
			ChatInputQuestion{&ChatInputNumberQuestion{Kind: ChatInputNumberKindInteger, ID: "q", Message: "m",
				Min: Ptr(0.5)}},
			`{"kind":"integer","id":"q","message":"m","min":0.5}`},
		{"an error's data is encoded too", &Error{Code: CodeUnsupportedProtocolVersion, Message: "m",
			Data: UnsupportedProtocolVersionErrorData{}},
			`{"code":-32005,"message":"m","data":{"supportedVersions":[]}}`},
		{"data of any type", &Error{Code: 1, Message: "m", Data: map[string]int{"n": 1}},
			`{"code":1,"message":"m","data":{"n":1}}`},
		{"an empty union", ToolCallState{}, `null`},
		{"control characters", Plain("\x00\n\u2028<&>"), `"\u0000\n\u2028<&>"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := mustJSON(t, c.v); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if std, err := json.Marshal(c.v); err != nil || !json.Valid(std) {
				t.Errorf("encoding/json: %v", err)
			}
		})
	}
}

// Code outside the package may use encoding/json: it gives the same as the package's codec in both
// directions.
func TestEncodingJSONAgrees(t *testing.T) {
	eachRandom(t, 40, func(t *testing.T, r randomizer, s State) {
		agree(t, s, NewState(s.Channel()))
		for _, a := range r.actions(s.Channel(), 3) {
			info, _ := Info(a.ActionType())
			agree(t, a, info.New())
			e := ActionEnvelope{Channel: "c", Action: a, ServerSeq: 1}
			agree(t, e, &ActionEnvelope{})
			agree(t, DispatchActionParams{Channel: "c", ClientSeq: 1, Action: a}, &DispatchActionParams{})
		}
	})
}

func agree(t *testing.T, v, empty any) {
	t.Helper()
	std, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(std, empty); err != nil {
		t.Fatalf("%v\n%s", err, std)
	}
	if got, want := mustJSON(t, empty), mustJSON(t, v); got != want {
		t.Fatalf("through encoding/json\n%s\nbecame\n%s", want, got)
	}
}

// Types that encoding/json would encode wrongly, a required list as null or a variant without its
// kind, have their own MarshalJSON.
func TestNothingNeedsThePackageCodecSecretly(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, kind := range stateKinds {
		marshals(t, seen, reflect.TypeOf(NewState(kind)))
	}
	for _, info := range Actions() {
		marshals(t, seen, reflect.TypeOf(info.New()))
	}
	for u, info := range unionKinds {
		marshals(t, seen, u)
		for _, v := range info.types {
			marshals(t, seen, v)
		}
	}
	for _, v := range []any{
		InitializeParams{}, InitializeResult{}, ReconnectParams{}, ReconnectReplayResult{}, ListSessionsResult{},
		CompletionsResult{},
		ResolveSessionConfigResult{}, SessionConfigCompletionsResult{}, ResourceListResult{}, AuthRequiredErrorData{},
		UnsupportedProtocolVersionErrorData{}, ListAutomationTriggerDefinitionsResult{}, OtlpExportLogsParams{},
		SessionAddedParams{}, SessionSummaryChangedParams{}, CreateSessionParams{}, CreateChatParams{},
		SubscribeResult{},
	} {
		marshals(t, seen, reflect.TypeOf(v))
	}
}

func marshals(t *testing.T, seen map[reflect.Type]bool, typ reflect.Type) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || seen[typ] || foreign(typ) {
		return
	}
	seen[typ] = true
	_, ok := reflect.New(typ).Elem().Interface().(json.Marshaler)
	if _, tagged := discriminators[typ]; tagged && !ok {
		t.Errorf("%s loses its discriminator in encoding/json", typ)
	}
	for _, f := range fieldsOf(typ) {
		if k := f.typ.Kind(); !f.optional && !ok && f.typ != rawType && (k == reflect.Slice || k == reflect.Map) {
			t.Errorf("%s.%s may be null in encoding/json", typ, f.name)
		}
		marshals(t, seen, f.typ)
	}
}

func TestDecode(t *testing.T) {
	var turn ChatTurnCancelledAction
	if err := Unmarshal([]byte(`{"turnId":"t","duration":1234.56,"TURNID":"x","extra":{"a":[1]}}`), &turn); err != nil {
		t.Fatal(err)
	}
	if turn.TurnID != "t" || turn.Duration != 1235 {
		t.Errorf("got %+v", turn)
	}
	var chat ChatState
	if err := json.Unmarshal(
		[]byte(`{"turns":[null,{"id":"t","responseParts":null,"usage":null}],"activeTurn":null,"title":null}`),
		&chat); err == nil {
		if chat.Turns[1].ID != "t" {
			t.Errorf("got %+v", chat)
		}
	} else {
		t.Error(err)
	}
	s, err := UnmarshalState(ChannelChat, []byte(`{"turns":[null]}`))
	if err != nil || s.(*ChatState).Turns[0] == nil {
		t.Errorf("a null in a list of turns: %v, %v", s, err)
	}
}

func TestDecodeKeepsUnknownValues(t *testing.T) { // AHP requirement 23
	for _, in := range []string{
		`{"kind":"hologram","depth":[3, 12345678901234567890]}`, `{"kind":7}`, `"text"`, `[1]`,
	} {
		var p ResponsePart
		if err := Unmarshal([]byte(in), &p); err != nil {
			t.Fatal(err)
		}
		if got := mustJSON(t, p); got != in {
			t.Errorf("%s became %s", in, got)
		}
	}
	status := SessionStatus(0)
	if err := Unmarshal([]byte("2147483720"), &status); err != nil || mustJSON(t, status) != "2147483720" {
		t.Errorf("unknown status bits: %v, %d", err, status)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"no type": `{"title":"x"}`, "type of another type": `{"type":1}`, "null": `null`, "not an object": `[]`,
		"wrong type": `{"type":"session/titleChanged","title":1}`, "cut": `{"type":"session/titleChanged"`,
		"two values":   `{"type":"session/ready"} {}`,
		"leading zero": `{"type":"chat/turnComplete","turnId":"t","duration":01}`,
		"too big":      `{"type":"chat/turnComplete","turnId":"t","duration":1e300}`,
		"bad escape":   `{"type":"session/ready","a":"\x"}`,
		"deep": `{"type":"session/metaChanged","_meta":{"a":` + strings.Repeat("[", 300) +
			strings.Repeat("]", 300) + `}}`,
		"bad skipped value": `{"type":"session/ready","a":tru}`, "empty": ``,
	} {
		if a, err := UnmarshalAction([]byte(in)); err == nil {
			t.Errorf("%s: %s was read as %#v", name, in, a)
		}
	}
}

func TestSnapshotDecodesOnceTheKindIsKnown(t *testing.T) {
	in := `{"resource":"x:1","state":{"annotations":[]},"fromSeq":9}`
	var s Snapshot
	if err := json.Unmarshal([]byte(in), &s); err != nil || s.State != nil {
		t.Fatal(err, s.State)
	}
	if got := mustJSON(t, s); got != in {
		t.Errorf("undecoded it is written as %s", got)
	}
	if err := s.Decode(ChannelAnnotations); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.State.(*AnnotationsState); !ok || mustJSON(t, s) != in {
		t.Errorf("decoded as %T, written as %s", s.State, mustJSON(t, s))
	}
	if err := s.Decode(ChannelOtlp); err == nil {
		t.Error("a telemetry channel has no state")
	}
}

func FuzzAction(f *testing.F) {
	for _, info := range Actions() {
		a := newRandomizer(3).action(info)
		f.Add([]byte(mustJSON(f, &a)))
	}
	f.Add([]byte(`{"type":"future/thing","x":[1,{"a":"\ud800"}]}`))
	states := make([]State, len(stateKinds))
	for i, kind := range stateKinds {
		states[i] = newRandomizer(5).state(kind)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := UnmarshalAction(b)
		if err != nil {
			return
		}
		wire := mustJSON(t, &a)
		again, err := UnmarshalAction([]byte(wire))
		if err != nil || mustJSON(t, &again) != wire {
			t.Fatalf("%s is not stable: %v", wire, err)
		}
		for _, s := range states {
			checkStable(t, Reduce(s, a))
		}
	})
}

func FuzzState(f *testing.F) {
	for i, kind := range stateKinds {
		f.Add(i, []byte(mustJSON(f, newRandomizer(9).state(kind))))
	}
	f.Fuzz(func(t *testing.T, i int, b []byte) {
		kind := stateKinds[uint(i)%uint(len(stateKinds))]
		s, err := UnmarshalState(kind, b)
		if err != nil {
			return
		}
		for _, a := range newRandomizer(uint64(len(b))).actions(kind, 6) {
			s = Reduce(s, a)
		}
		checkStable(t, s)
	})
}

func checkStable(t *testing.T, s State) {
	t.Helper()
	wire := mustJSON(t, s)
	again, err := UnmarshalState(s.Channel(), []byte(wire))
	if err != nil || mustJSON(t, again) != wire {
		t.Fatalf("%s is not stable: %v", wire, err)
	}
}

// bigChat returns a chat of n turns of about 1 KB, as in a snapshot.
func bigChat(n int) *ChatState {
	s := &ChatState{Resource: "ahp-chat:/x", Title: "Benchmark", Status: SessionStatusIdle}
	for i := range n {
		s.Turns = append(s.Turns, &Turn{ID: fmt.Sprint(i), State: TurnStateComplete, Message: Message{Text: "please"},
			ResponseParts: []ResponsePart{
				{&MarkdownResponsePart{ID: "p", Content: NewText(strings.Repeat("some text, ", 60))}},
				{&ToolCallResponsePart{ToolCallState{&ToolCallCompletedState{ToolCallBase: ToolCallBase{ToolCallID: "c",
					ToolName: "bash"},
					ToolCallResult: ToolCallResult{Content: []ToolResultContent{{&ToolResultTextContent{Text: strings.Repeat("out\n", 60)}}}}}}}},
			}})
	}
	return s
}

func BenchmarkEncodeSnapshot(b *testing.B) {
	s := Snapshot{State: bigChat(1000)}
	wire, _ := Marshal(s)
	b.SetBytes(int64(len(wire)))
	b.ReportAllocs()
	for range b.N {
		_, _ = AppendJSON(wire[:0], s)
	}
}

func BenchmarkDecodeState(b *testing.B) {
	wire, _ := Marshal(bigChat(1000))
	b.SetBytes(int64(len(wire)))
	b.ReportAllocs()
	for range b.N {
		if _, err := UnmarshalState(ChannelChat, wire); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeEnvelope(b *testing.B) {
	e := &ActionEnvelope{Channel: "ahp-chat:/x", Action: &ChatDeltaAction{TurnID: "t", PartID: "p",
		Content: "twenty bytes of text"}, ServerSeq: 1}
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for range b.N {
		_, _ = AppendJSON(buf, e)
	}
}

// The parser accepts what encoding/json accepts, and reads strings and numbers the same.
func FuzzParserAgainstEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+3,true,null,"\u00e9\ud83d\ude00\ud800x\/"]}`, `"\`, `01`, `1.`, `-`, `[1,]`, `{"a":1,}`,
		"\"\xff\"", ` "x" `,
		`"\u12G4"`, `"\u+123"`, `{"a" 1}`, "\"\n\"", `1e5`, `nul`, `[[]`, `{}x`, "", "\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var raw json.RawMessage
		err := Unmarshal(b, &raw)
		if err != nil && strings.Contains(err.Error(), "deep") {
			return
		}
		if (err == nil) != json.Valid(b) {
			t.Fatalf("%q: valid %v, got %v", b, json.Valid(b), err)
		}
		var mine, theirs string
		if json.Unmarshal(b, &theirs) == nil && (Unmarshal(b, &mine) != nil || mine != theirs) {
			t.Fatalf("%q is read as %q, want %q", b, mine, theirs)
		}
		var back string
		if err := json.Unmarshal([]byte(mustJSON(t, mine)), &back); err != nil || back != mine {
			t.Fatalf("%q is written as %s: %v", mine, mustJSON(t, mine), err)
		}
		var whole, wholeTheirs int64
		if json.Unmarshal(b, &wholeTheirs) == nil && (Unmarshal(b, &whole) != nil || whole != wholeTheirs) {
			t.Fatalf("%q is read as %d, want %d", b, whole, wholeTheirs)
		}
	})
}
