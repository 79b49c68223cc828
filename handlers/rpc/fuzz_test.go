package rpc

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":[%q],"clientId":"stranger","initialSubscriptions":["ahp-session:/1","ahp-chat:/1"]}}` + "\n"
	say   = `{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":1,"action":%s}}` + "\n"
)

// strange are conversations that no correct client has, one frame on each line.
func strange() []string {
	deep := strings.Repeat("[", 4000) + strings.Repeat("]", 4000)
	nested := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	list := []string{
		"", "\x00\xff\xfe", "null", "[]", `"x"`, "{}", `{"jsonrpc":"2.0"}`, deep,
		`{"jsonrpc":"2.0","id":1e999,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":["ping"]}`, `{"jsonrpc":"2.0","id":1,"result":1,"error":2}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0","99999999999999999999.0.0"],"clientId":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"clientId":"stranger","lastSeenServerSeq":-9223372036854775808,"subscriptions":["ahp-root://"]}}`,
	}
	for _, version := range []string{"1.0.0", "0.8.0", "0.6.0", "0.4.0"} {
		in := fmt.Sprintf(hello, version)
		list = append(list,
			in+in, in+`{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"channel":{"a":1},"view":[]}}`,
			in+`{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"channel":"ahp-chat:/1","view":{"turns":-1e308},"delivery":{"maxLatencyMs":1e18}}}`,
			in+`{"jsonrpc":"2.0","id":2,"method":"listSessions","params":{"limit":123456789012345678901234567890}}`,
			in+`{"jsonrpc":"2.0","id":2,"method":"fetchTurns","params":{"channel":"ahp-chat:/1","limit":-9e18,"before":5}}`,
			in+fmt.Sprintf(say, "ahp-session:/2", `{"type":"session/titleChanged","title":"foreign"}`),
			in+fmt.Sprintf(say, "ahp-session:/1", `{"type":"session/titleChanged","title":`+nested+`}`),
			in+fmt.Sprintf(say, "ahp-session:/1", nested)+fmt.Sprintf(say, "ahp-session:/1", "null")+
				fmt.Sprintf(say, "", `{"type":1}`),
			in+fmt.Sprintf(say, "ahp-chat:/1", `{"type":"chat/turnStarted","turnId":"x","message":[]}`),
			in+fmt.Sprintf(say, "ahp-chat:/1",
				`{"type":"chat/pendingMessageSet","kind":"queued","id":"x","message":{"text":1e400}}`),
			in+fmt.Sprintf(say, "ahp-terminal:/1", `{"type":"terminal/resized","cols":1e30,"rows":-1}`),
			in+fmt.Sprintf(say, "ahp-session:/1",
				`{"type":"session/activeClientSet","activeClient":{"clientId":"stranger","tools":[{"name":null,"inputSchema":`+
					nested+`}]}}`),
			in+`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-session:/1"}}`+"\n"+
				`{"jsonrpc":"2.0","id":3,"method":"unsubscribe","params":[]}`,
		)
	}
	return list
}

// FuzzConnection has a guest of one session send anything, while the owner works in another: the
// host neither fails nor stops answering, its answers follow the protocol, and the owner is not
// affected.
func FuzzConnection(f *testing.F) { // AHP requirements 11, 23 and 209
	for _, s := range strange() {
		f.Add([]byte(s))
	}
	w := newWorld(f, Config{}, hub.Config{})
	const other = ahp.URI("ahp-session:/2")
	witness := newMirror(w.dial("owner"))
	witness.initialize("witness")
	witness.follow(other, ahp.ChannelSession)
	seq := 0
	f.Fuzz(func(t *testing.T, talk []byte) {
		if len(talk) > 64<<10 {
			t.Skip("longer than what is looked for")
		}
		w.t, witness.t = t, t
		stranger := w.dial("guest")
		defer stranger.ws.CloseNow()
		answered(stranger, talk)
		seq++
		title := fmt.Sprint("Title ", seq)
		witness.send(fmt.Sprintf(
			`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"session/titleChanged","title":%q}}}`, other, seq, title))
		witness.until(func(f frame) bool { return strings.Contains(string(f.Params), title) })
		if got := witness.session(other).Title; got != title {
			t.Errorf("the owner's session is called %q, want %q", got, title)
		}
	})
}

// answered sends each line and reads until the host has answered a last ping, or ended the connection.
func answered(p *peer, talk []byte) {
	for line := range bytes.Lines(talk) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		p.wire.Sent(line)
		if p.ws.Write(context.Background(), websocket.MessageText, line) != nil {
			return
		}
	}
	const last = `"the last ping"`
	if p.ws.Write(context.Background(), websocket.MessageText,
		[]byte(`{"jsonrpc":"2.0","id":`+last+`,"method":"ping"}`)) != nil {
		return
	}
	for {
		b, err := p.next()
		if err != nil {
			if websocket.CloseStatus(err) < 0 && !strings.Contains(err.Error(), "EOF") {
				p.t.Errorf("no answer: %v", err)
			}
			return
		}
		if bytes.Contains(b, []byte(last)) {
			return
		}
	}
}

// A frame over the limit ends its connection at the limit, before all of it is read.
func TestHugeFrameEndsAtLimit(t *testing.T) { // AHP requirement 209
	w := newWorld(t, Config{Limits: Limits{FrameBytes: 1 << 20}}, hub.Config{})
	witness := w.dial("owner")
	witness.initialize("witness")
	p := w.dial("owner")
	p.initialize("a")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := p.ws.Writer(context.Background(), websocket.MessageText)
	must(t, err)
	sent, piece := 0, bytes.Repeat([]byte(" "), 64<<10)
	for ; sent < 100<<20; sent += len(piece) {
		if _, err = out.Write(piece); err != nil {
			break
		}
	}
	if err == nil {
		err = out.Close()
	}
	if code := p.closed(); code != websocket.StatusMessageTooBig && code >= 0 {
		t.Errorf("closed with %d after %d bytes (%v)", code, sent, err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
		t.Errorf("a frame of 100 MB cost %d MB", grown>>20)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	must(t, witness.ws.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)))
	if b, err := witness.next(); err != nil || !bytes.Contains(b, []byte(`"result":null`)) {
		t.Errorf("the other client is told %s, %v", b, err)
	}
}
