package ahp

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestWellFormed(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"plain text", `{"a":"b\n"}`, `{"a":"b\n"}`},
		{"text in any script", `"é中😀"`, `"é中😀"`},
		{"a byte that is no UTF-8", "\"a\xfeb\"", `"a` + "\uFFFD" + `b"`},
		{"a character cut in two", "\"a\xf0\x9f\x98\"", `"a` + "\uFFFD" + `"`},
		{"a surrogate in bytes", "\"\xed\xa0\x80\"", `"` + "\uFFFD" + `"`},
		{"an escaped pair", `"\ud83d\ude00"`, `"\ud83d\ude00"`},
		{"a high half alone", `"a\ud83d"`, `"a\ufffd"`},
		{"a low half alone", `"\uDE00b"`, `"\ufffdb"`},
		{"halves in the wrong order", `"\ude00\ud83d"`, `"\ufffd\ufffd"`},
		{"a high half before another pair", `"\ud83d\ud83d\ude00"`, `"\ufffd\ud83d\ude00"`},
		{"a half in a key", `{"\ud800":1}`, `{"\ufffd":1}`},
		{"an escaped backslash before u", `"\\ud800"`, `"\\ud800"`},
		{"other escapes", `"\u0041\\\u00e9"`, `"\u0041\\\u00e9"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.in)
			if got := string(wellFormed(in)); got != c.want {
				t.Errorf("%q became %q, want %q", c.in, got, c.want)
			}
			if string(in) != c.in {
				t.Errorf("the input was changed to %q", in)
			}
		})
	}
}

// No value that is kept as a client sent it may return what makes a browser close its socket.
func TestOpenValuesAreWellFormed(t *testing.T) {
	const half = `\ud800`
	forms := []struct {
		name string
		into any
		json string
	}{
		{"the meta of a thread", &AnnotationsSetAction{},
			`{"type":"annotations/set","annotation":{"id":"a","_meta":{"k":["X"]},"entries":[]}}`},
		{"an unknown attachment", &ChatTurnStartedAction{},
			`{"type":"chat/turnStarted","turnId":"t","message":{"text":"","origin":{"kind":"user"},"attachments":[{"type":"none","x":"X"}]}}`},
		{"an unknown action", &DispatchActionParams{},
			`{"channel":"c","clientSeq":1,"action":{"type":"none/such","x":"X"}}`},
		{"a setting", &CreateSessionParams{}, `{"channel":"c","config":{"k":"X"}}`},
		{"an unknown state of a terminal", &TerminalState{},
			`{"title":"","content":[],"claim":{"kind":"client","clientId":"c"},"lifecycle":{"status":"none","x":"X"}}`},
		{"the state of a snapshot", &Snapshot{}, `{"resource":"c","state":{"x":"X"},"fromSeq":1}`},
	}
	for _, f := range forms {
		for _, bad := range []string{"\xfe", half} {
			t.Run(f.name, func(t *testing.T) {
				if err := Unmarshal(bytes.ReplaceAll([]byte(f.json), []byte("X"), []byte(bad)), f.into); err != nil {
					t.Fatal(err)
				}
				b, err := Marshal(f.into)
				if err != nil {
					t.Fatal(err)
				}
				if !utf8.Valid(b) || bytes.Contains(b, []byte(half)) {
					t.Errorf("what was read is written as %q", b)
				}
				if !bytes.Contains(b, []byte("\uFFFD")) && !bytes.Contains(b, []byte(`\ufffd`)) {
					t.Errorf("the place was not kept: %q", b)
				}
			})
		}
	}
	for _, v := range []any{Meta{"k": json.RawMessage("\"\xfe\"")}, &UnknownVariant{Raw: json.RawMessage("\"\xfe\"")},
		&UnknownAction{Raw: json.RawMessage("{\"x\":\"\xfe\"}")},
		map[string]json.RawMessage{"k": json.RawMessage("\"\xfe\"")}} {
		if b, err := Marshal(v); err != nil || !utf8.Valid(b) {
			t.Errorf("%T is written as %q, %v", v, b, err)
		}
	}
}
