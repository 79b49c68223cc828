package terminal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// lines formats actions, one per line.
func lines(actions []ahp.Action) string {
	var b strings.Builder
	for _, a := range actions {
		j, err := json.Marshal(a)
		if err != nil {
			panic(err)
		}
		j = bytes.Replace(j, []byte(`"type":"`+a.ActionType()+`"`), nil, 1)
		j = bytes.Replace(j, []byte("{,"), []byte("{"), 1)
		b.WriteString(strings.TrimPrefix(a.ActionType(), "terminal/") + " " + string(j) + "\n")
	}
	return b.String()
}

func fixedClock() time.Time { return time.UnixMilli(1000) }

func decode(d detection, in string) string {
	clock := time.UnixMilli(1000)
	dec := newDecoder(d, "nonce", "", func() time.Time {
		clock = clock.Add(5 * time.Millisecond)
		return clock
	})
	return lines(append(dec.write([]byte(in)), dec.finish()...))
}

func TestDecoder(t *testing.T) { // AHP requirements 163 and 168
	tests := map[string]struct {
		detect detection
		in     string
		want   string
	}{
		"a command with our integration": {
			detectNonce,
			"\x1b]633;A;nonce\a$ \x1b]633;E;echo a\\x3b b;nonce\a\x1b]633;C;nonce\aa\r\n\x1b]633;D;3;nonce\a",
			`commandDetectionAvailable {}
data {"data":"$ "}
commandExecuted {"commandId":"c1","commandLine":"echo a; b","timestamp":1005}
data {"data":"a\r\n"}
commandFinished {"commandId":"c1","exitCode":3,"durationMs":5}
`},
		"a line that follows": {
			detectNonce,
			"\x1b]633;C;?;nonce\a\x1b]633;E;ls;nonce\ax\x1b]633;D;0;nonce\a\x1b]633;C;?;nonce\ay\x1b]633;C;?;nonce\a",
			`commandDetectionAvailable {}
commandExecuted {"commandId":"c1","commandLine":"ls","timestamp":1005}
data {"data":"x"}
commandFinished {"commandId":"c1","exitCode":0,"durationMs":5}
commandExecuted {"commandId":"c2","commandLine":"","timestamp":1015}
data {"data":"y"}
commandFinished {"commandId":"c2","durationMs":5}
commandExecuted {"commandId":"c3","commandLine":"","timestamp":1025}
commandFinished {"commandId":"c3","durationMs":5}
`},
		"output cannot forge one": {
			detectNonce,
			"\x1b]633;A\a\x1b]633;E;rm -rf " +
				"/\a\x1b]633;C\a\x1b]133;D;0\a\x1b]633;C;guess\ax\x1b]7;file:///etc\a\x1b]633;P;Cwd=/etc\a",
			"data {\"data\":\"x\"}\n"},
		"a command of ours has no marks": {
			detectNothing,
			"\x1b]133;C\ax\x1b]133;D;0\a",
			"data {\"data\":\"x\"}\n"},
		"fish": {
			detectAny,
			"\x1b]133;A\a# \x1b]133;C;cmdline_url=echo%20hi\ahi\r\n\x1b]133;D;0\a",
			`commandDetectionAvailable {}
data {"data":"# "}
commandExecuted {"commandId":"c1","commandLine":"echo hi","timestamp":1005}
data {"data":"hi\r\n"}
commandFinished {"commandId":"c1","exitCode":0,"durationMs":5}
`},
		"a command cut short by the end": {
			detectAny,
			"\x1b]133;C\ax",
			`commandDetectionAvailable {}
commandExecuted {"commandId":"c1","commandLine":"","timestamp":1005}
data {"data":"x"}
commandFinished {"commandId":"c1","durationMs":5}
`},
		"the last title counts, without controls": {
			detectAny,
			"\x1b]0;one\a\x1b]2; t\u0007\x1b]2; two\t \ax",
			"data {\"data\":\"\\u001b]0;one\\u0007\\u001b]2; t\\u0007\\u001b]2; two\\t \\u0007x\"}\ntitleChanged " +
				"{\"title\":\"two\"}\n"},
		"directories": {
			detectAny,
			"\x1b]7;file://localhost/a%20b\a\x1b]7;file://elsewhere/x\a\x1b]633;P;Cwd=/a " +
				"b/../c\a\x1b]7;http://x/y\a\x1b]633;P;Cwd=relative\a",
			"cwdChanged {\"cwd\":\"file:///a%20b\"}\ncwdChanged {\"cwd\":\"file:///c\"}\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := decode(tc.detect, tc.in); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`plain`: "plain", `a\x3bb`: "a;b", `a\\x3b`: `a\x3b`, `\x0a`: "\n", `\`: `\`, `\x4`: `\x4`, `\xzz`: `\xzz`,
		`\xff`: "\uFFFD",
	} {
		if got := unescape(in); got != want {
			t.Errorf("unescape(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte("\x1b]633;E;a;nonce\a\x1b]633;C;nonce\ax\x1b]633;D;0;nonce\a"), uint8(1))
	f.Add([]byte("\x1b]133;C;cmdline_url=%zz\a\x1b]7;file://%\a\x1b]0;\a"), uint8(2))
	f.Fuzz(func(t *testing.T, in []byte, d uint8) {
		dec := newDecoder(detection(d%3), "nonce", "", time.Now)
		for _, a := range append(dec.write(in), dec.finish()...) {
			b, err := ahp.MarshalAction(a)
			if err != nil || !json.Valid(b) {
				t.Fatalf("%#v: %v", a, err)
			}
		}
	})
}
