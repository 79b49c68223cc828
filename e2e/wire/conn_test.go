package wire

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/e2e/spec"
)

const ask = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientId":"a"}}`

func agreed(t *testing.T, version string) *Conn {
	t.Helper()
	spec.Need(t, version)
	c := new(Book).Conn()
	c.Sent([]byte(ask))
	if err := c.Received([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + version +
		`","serverSeq":0,"snapshots":[]}}`)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReceived(t *testing.T) { // AHP requirement 3, of every frame of every test
	const action = `{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/1","serverSeq":1,"action":`
	cases := []struct{ name, version, frame, fault string }{
		{"an action", "1.0.0", action + `{"type":"chat/delta","turnId":"t","partId":"p","content":"x"}}}`, ""},
		{"a field of the wrong type", "1.0.0", action + `{"type":"chat/delta","turnId":"t","partId":"p","content":1}}}`,
			"content"},
		{"a missing field", "1.0.0", action + `{"type":"chat/error","turnId":"t","duration":1}}}`, "part"},
		{"the error of before 0.9", "1.0.0", action +
			`{"type":"chat/error","turnId":"t","duration":1,"error":{"errorType":"e","message":"m"}}}}`, "part"},
		{"the error of before 0.9, there", "0.8.0", action +
			`{"type":"chat/error","turnId":"t","duration":1,"error":{"errorType":"e","message":"m"}}}}`, ""},
		{"an action of later", "0.8.0", action + `{"type":"chat/isReadChanged","isRead":true}}}`,
			"has no ChatIsReadChangedAction"},
		{"a refused one goes back as it came", "0.8.0", action +
			`{"type":"x"},"origin":{"clientId":"a","clientSeq":1},"rejectionReason":"no"}}`, ""},
		{"status is a set of bits", "0.7.0", action +
			`{"type":"session/chatUpdated","chat":"ahp-chat:/1","changes":{"status":40}}}}`, ""},
		{"no version of JSON-RPC", "1.0.0", `{"id":2,"result":null}`, "JSON-RPC"},
		{"an unknown notification", "1.0.0", `{"jsonrpc":"2.0","method":"chat/moved","params":{}}`, "ChatMovedParams"},
		{"a notification without a channel", "1.0.0",
			`{"jsonrpc":"2.0","method":"root/sessionRemoved","params":{"session":"x:/1"}}`,
			"names no channel"},
		{"an action without a channel", "0.6.0",
			`{"jsonrpc":"2.0","method":"action","params":{"serverSeq":1,"action":{"type":"session/ready"}}}`,
			"names no channel"},
		{"an error", "1.0.0", `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}`, ""},
		{"an error without a message", "1.0.0", `{"jsonrpc":"2.0","id":2,"error":{"code":-32601}}`, "no error"},
		{"no JSON", "1.0.0", `{`, "no message"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			conn := agreed(t, c.version)
			for range 2 { // a value found invalid stays invalid
				err := conn.Received([]byte(c.frame))
				if got := err != nil; got != (c.fault != "") || got && !strings.Contains(err.Error(), c.fault) {
					t.Errorf("got %v, want %q", err, c.fault)
				}
			}
		})
	}
}

func TestSnapshotsAreCheckedByTheirChannel(t *testing.T) {
	c := agreed(t, "1.0.0")
	c.Sent([]byte(`{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"channel":"ahp-terminal:/1"}}`))
	err := c.Received([]byte(
		`{"jsonrpc":"2.0","id":2,"result":{"snapshot":{"resource":"ahp-terminal:/1","fromSeq":1,"state":{"agents":[]}}}}`))
	if err == nil || !strings.Contains(err.Error(), "TerminalState") {
		t.Errorf("a terminal with the state of root gives %v", err)
	}
}

func TestEveryVersionHasASchema(t *testing.T) {
	for _, version := range []string{"0.4.0", "0.5.0", "0.5.1", "0.5.9", "0.6.0", "0.7.3", "0.8.0", "0.9.0", "0.10.0",
		"1.0.0"} {
		agreed(t, version)
	}
}

func TestReconnectSpeaksTheVersionOfBefore(t *testing.T) {
	first := agreed(t, "0.8.0")
	again := first.book.Conn()
	again.Sent([]byte(`{"jsonrpc":"2.0","id":7,"method":"reconnect","params":{"clientId":"a"}}`))
	err := again.Received([]byte(
		`{"jsonrpc":"2.0","id":7,"result":{"type":"replay","missing":[],"actions":[{"channel":"ahp-chat:/1","serverSeq":1,"action":{"type":"chat/isReadChanged","isRead":true}}]}}`))
	if err == nil || !strings.Contains(err.Error(), "0.8.0 has no") {
		t.Errorf("a replay with an action of later gives %v", err)
	}
}
