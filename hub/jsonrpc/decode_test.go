package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDecode(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"a request", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"ahp-root://"}}`,
			`request 1 ping {"channel":"ahp-root://"}`},
		{"a string id", `{"jsonrpc":"2.0","id":"a\"b","method":"ping"}`, `request "a\"b" ping `},
		{"a long number is kept", `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"m"}`,
			`request 123456789012345678901234567890 m `},
		{"a fraction is kept", `{"jsonrpc":"2.0","id":1.50,"method":"m"}`, `request 1.50 m `},
		{"white space", " \r\n\t{ \"jsonrpc\" : \"2.0\" , \"id\" : 1 , \"method\" : \"m\" } ", `request 1 m `},
		{"a notification", `{"jsonrpc":"2.0","method":"unsubscribe","params":{}}`, `notification unsubscribe {}`},
		{"array params", `{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`, `request 1 m [1]`},
		{"unknown fields", `{"jsonrpc":"2.0","id":1,"method":"m","trace":{}}`, `request 1 m `},
		{"a result", `{"jsonrpc":"2.0","id":7,"result":null}`, `result 7 null`},
		{"an error", `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}`, `error 7 no (-32601)`},
		{"an error to nothing", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}`, `error  no (1)`},

		{"nothing", ``, `refused  -32700`},
		{"no JSON", `{"jsonrpc"`, `refused  -32700`},
		{"two values", `{"jsonrpc":"2.0","id":1,"method":"m"}{}`, `refused  -32700`},
		{"a byte that is no UTF-8",
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":{\"k\":\"\xfe\"}}}",
			`refused  -32700`},
		{"such a byte in a field that nothing reads", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"x\":\"\xfe\"}",
			`refused  -32700`},
		{"such a byte in a response", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xfe\"}", `refused  -32700`},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"m"}]`, `refused  -32600`},
		{"a string", `"ping"`, `refused  -32600`},
		{"no version", `{"id":1,"method":"m"}`, `refused 1 -32600`},
		{"version 1", `{"jsonrpc":"1.0","id":1,"method":"m"}`, `refused 1 -32600`},
		{"another case", `{"jsonrpc":"2.0","ID":1,"Method":"m"}`, `refused  -32600`},
		{"a null id", `{"jsonrpc":"2.0","id":null,"method":"m"}`, `refused  -32600`},
		{"an object as id", `{"jsonrpc":"2.0","id":{},"method":"m"}`, `refused  -32600`},
		{"a long id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"m"}`, `refused  -32600`},
		{"a number as method", `{"jsonrpc":"2.0","id":1,"method":5}`, `refused 1 -32600`},
		{"an empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, `refused 1 -32600`},
		{"scalar params", `{"jsonrpc":"2.0","id":1,"method":"m","params":3}`, `refused 1 -32600`},
		{"call and response", `{"jsonrpc":"2.0","id":1,"method":"m","result":3}`, `refused 1 -32600`},
		{"neither", `{"jsonrpc":"2.0","id":1}`, `refused 1 -32600`},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}`, `refused 1 -32600`},
		{"a result to nothing", `{"jsonrpc":"2.0","result":1}`, `refused  -32600`},
		{"an error that is none", `{"jsonrpc":"2.0","id":1,"error":"no"}`, `refused 1 -32600`},
		{"too deep", `{"jsonrpc":"2.0","id":1,"method":"m","params":` + strings.Repeat("[", 200) +
			strings.Repeat("]", 200) + `}`, `refused  -32600`},
		{"brackets in a string", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("[", 200) + `"}`, `request 1 ` +
			strings.Repeat("[", 200) + ` `},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := describe(Decode([]byte(c.in), Limits{})); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if _, err := Decode([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), Limits{Bytes: 8}); err == nil {
		t.Error("a message over the limit was read")
	}
}

func describe(m Message, err *Error) string {
	id := m.ID
	if id == nullID {
		id = ""
	}
	switch {
	case err != nil:
		return fmt.Sprintf("refused %s %d", id, err.Code)
	case m.IsRequest():
		return fmt.Sprintf("request %s %s %s", id, m.Method, m.Params)
	case m.Method != "":
		return fmt.Sprintf("notification %s %s", m.Method, m.Params)
	case m.Error != nil:
		return fmt.Sprintf("error %s %v", id, m.Error)
	}
	return fmt.Sprintf("result %s %s", id, m.Result)
}

// A decoded message that is encoded again says the same, and every encoded message is JSON.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"ahp-root://"}}`,
		`{"jsonrpc":"2.0","id":"x","result":{"a":[1,2,{"b":null}]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"\u2028<\ud800","data":[]}}`,
		`{"jsonrpc":"2.0","method":"a/b","params":[]}`, `[]`, `{"id":01}`, `{"jsonrpc":"2.0","method":"\\\"[","id":-0}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := Decode(in, Limits{Bytes: 1 << 16, Depth: 16})
		if err != nil {
			id := m.ID
			if id == nullID {
				id = ""
			}
			if out := AppendError(nil, id, err); !json.Valid(out) {
				t.Fatalf("the answer to %q is no JSON: %s", in, out)
			}
			return
		}
		out := m.Append(nil)
		again, err := Decode(out, Limits{})
		if err != nil {
			t.Fatalf("%q was written as %s: %v", in, out, err)
		}
		if second := again.Append(nil); !bytes.Equal(out, second) {
			t.Fatalf("%q was written as %s and then as %s", in, out, second)
		}
	})
}

// No frame contains bytes that make a browser close its socket, whatever the encoder gets.
func TestFramesAreValidUTF8(t *testing.T) {
	bad := []byte("{\"k\":\"\xfe\"}")
	for name, frame := range map[string][]byte{
		"a request":       AppendRequest(nil, "1", "m", bad),
		"a notification":  AppendNotification(nil, "m\xfe", bad),
		"a result":        AppendResult(nil, "1", bad),
		"an error":        AppendError(nil, "1", &Error{Message: "\xfe", Data: bad}),
		"another message": (&Message{ID: "1", Result: bad}).Append(nil),
	} {
		if !utf8.Valid(frame) || !json.Valid(frame) {
			t.Errorf("%s is %q", name, frame)
		}
	}
}
