package rpc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/hub/ahp"
)

// readers describe the attachments of a message.
type readers struct{ script.Backend }

func (readers) Open(context.Context, agent.Spec) (agent.Session, error) { return reader{}, nil }

type reader struct{}

func (reader) Close() error { return nil }

func (reader) Prompt(_ context.Context, t agent.Turn) error {
	var said strings.Builder
	for _, a := range t.Message.Attachments {
		switch v := a.Value.(type) {
		case *ahp.MessageEmbeddedResourceAttachment:
			data, err := base64.StdEncoding.DecodeString(v.Data)
			fmt.Fprintf(&said, "[%s holds %s %s %v]", v.Label, data, v.ContentType, err)
		case *ahp.SimpleMessageAttachment:
			fmt.Fprintf(&said, "[%s]", v.ModelRepresentation)
		default:
			fmt.Fprintf(&said, "[%T]", v)
		}
	}
	return agent.Say(t.Out, said.String())
}

// asked reads until the host sends a request.
func (p *peer) asked(method string) (id string, params string) {
	p.t.Helper()
	for {
		var f struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		got := p.read()
		must(p.t, json.Unmarshal([]byte(got), &f))
		if f.Method == method && f.ID != nil {
			return string(f.ID), string(f.Params)
		}
	}
}

// serves answers the next request of a kind.
func (p *peer) serves(method, answer string) (params string) {
	p.t.Helper()
	id, params := p.asked(method)
	p.send(`{"jsonrpc":"2.0","id":` + id + `,` + answer + `}`)
	return params
}

const attached = `{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"%s","clientSeq":%d,"action":{"type":"chat/turnStarted","turnId":"t%d",
	"startedAt":"2026-01-02T03:04:05.000Z","message":{"text":"read it","origin":{"kind":"user"},"attachments":[
	{"type":"resource","label":"notes.md","uri":"virtual://editor/notes.md","contentType":"text/markdown"}]}}}}`

// editing returns a client that sent a message with one of its files.
func editing(t *testing.T, limits Limits) (w *world, editor *peer, chat string) {
	t.Helper()
	w = realWorldOf(t, readers{}, limits)
	editor = w.dial("owner")
	editor.initialize("editor", "ahp-root://")
	editor.send(`{"jsonrpc":"2.0","id":1,"method":"createSession","params":{"channel":"` + sessionURI + `"}}`)
	must(t, editor.find(`{"jsonrpc":"2.0","id":1,"result":null}`))
	s, _ := hub.StateOf[*ahp.SessionState](w.hub, sessionURI)
	chat = s.DefaultChat
	editor.send(subscribeFrame(chat))
	editor.send(fmt.Sprintf(attached, chat, 1, 1))
	return w, editor, chat
}

func (p *peer) says(text string) {
	p.t.Helper()
	for {
		if strings.Contains(p.read(), text) {
			return
		}
	}
}

// The host asks a client for a file that its message references, and gives it to the agent.
func TestAgentReadsFileOfClient(t *testing.T) {
	_, editor, chat := editing(t, Limits{})
	if got := editor.serves("resourceRead",
		`"result":{"data":"remember the milk","encoding":"utf-8"}`); got != `{"channel":"ahp-root://","uri":"virtual://editor/notes.md"}` {
		t.Error(got)
	}
	editor.says(`[notes.md holds remember the milk text/markdown <nil>]`)
	editor.says("chat/turnComplete")

	// Failures are reported to the agent and to people.
	for n, answer := range map[int]string{2: `"error":{"code":-32008,"message":"it is gone"}`,
		3: `"result":{"data":"x","encoding":"rot13"}`, 4: `"result":[]`} {
		editor.send(fmt.Sprintf(attached, chat, n, n))
		editor.serves("resourceRead", answer)
		editor.says(`"content":"notes.md could not be read: `)
		editor.says("[notes.md could not be read: ")
		editor.says("chat/turnComplete")
	}
}

// A principal who sees the message may read the file through the host, and the owner may do more;
// the client decides.
func TestFilesOfAClient(t *testing.T) {
	w, editor, _ := editing(t, Limits{Ask: 10 * time.Second})
	editor.serves("resourceRead", `"result":{"data":"","encoding":"utf-8"}`)
	editor.says("chat/turnComplete")
	other, guest := w.dial("owner"), w.dial("guest")
	other.initialize("other")
	guest.initialize("guest")
	ask := func(p *peer, method, params string) {
		p.send(`{"jsonrpc":"2.0","id":5,"method":"` + method + `","params":{"channel":"ahp-root://",` + params + `}}`)
	}
	const notes = `"uri":"virtual://editor/notes.md"`
	answers := func(p *peer, want string) {
		t.Helper()
		must(t, p.find(`{"jsonrpc":"2.0","id":5,`+want+`}`))
	}

	// The client requires a request for access first.
	ask(guest, "resourceRead", notes)
	editor.serves("resourceRead", `"error":{"code":-32009,"message":"ask first"}`)
	if got := editor.serves("resourceRequest",
		`"result":{}`); got != `{"channel":"ahp-root://","uri":"virtual://editor/notes.md","read":true}` {
		t.Error(got)
	}
	editor.serves("resourceRead", `"result":{"data":"AP8=","encoding":"base64","contentType":"image/x"}`)
	answers(guest, `"result":{"data":"AP8=","encoding":"base64","contentType":"image/x"}`)

	for method, row := range map[string][3]string{
		"resourceResolve": {notes, `{"uri":"virtual://editor/notes.md","type":"file"}`,
			`{"uri":"virtual://editor/notes.md","type":"file"}`},
		"resourceList": {notes, `{"entries":[{"name":"a","type":"file"}]}`,
			`{"entries":[{"name":"a","type":"file"}]}`},
		"resourceWrite":   {notes + `,"data":"x","encoding":"utf-8"`, `{}`, `{}`},
		"resourceDelete":  {notes, `{}`, `{}`},
		"resourceMkdir":   {notes, `{}`, `{}`},
		"resourceRequest": {notes + `,"write":true`, `{}`, `{}`},
		"resourceCopy": {`"source":"virtual://editor/notes.md","destination":"virtual://editor/notes.md"`, `{}`,
			`{}`},
		"resourceMove": {`"source":"virtual://editor/notes.md","destination":"virtual://editor/notes.md"`, `{}`,
			`{}`},
	} {
		ask(other, method, row[0])
		if got := editor.serves(method, `"result":`+row[1]); !strings.Contains(got, "virtual://editor/notes.md") {
			t.Error(method, got)
		}
		answers(other, `"result":`+row[2])
		ask(guest, method, row[0])
		answers(guest, `"error":{"code":-32009,"message":"*","...":0}`)
	}

	// Unpublished files are not requested; invalid answers are refused.
	ask(other, "resourceRead", `"uri":"virtual://editor/secret"`)
	answers(other, `"error":{"code":-32008,"message":"*"}`)
	ask(other, "resourceCopy", `"source":"virtual://editor/notes.md","destination":"virtual://editor/copy"`)
	answers(other, `"error":{"code":-32008,"message":"*"}`)
	ask(editor, "resourceRead", notes)
	answers(editor, `"error":{"code":-32008,"message":"*"}`)
	for _, bad := range []string{`"result":{"data":7}`, `"result":{"data":"%","encoding":"base64"}`, `"result":null`,
		`"error":{"code":-32007,"message":"log in","data":{"resources":[]}}`} {
		ask(other, "resourceRead", notes)
		editor.serves("resourceRead", bad)
		answers(other, `"error":{"code":-32603,"message":"*","...":0}`)
	}

	// A client that disconnects is not waited for.
	ask(other, "resourceRead", notes)
	editor.asked("resourceRead")
	editor.ws.CloseNow()
	answers(other, `"error":{"code":-32008,"message":"*"}`)
	ask(other, "resourceRead", notes)
	if got := other.read(); !strings.Contains(got, "is not connected") {
		t.Error(got)
	}
}

// A request to a silent client times out, and so does a request of a cancelled turn.
func TestSilentClient(t *testing.T) {
	w, editor, _ := editing(t, Limits{Ask: 50 * time.Millisecond})
	editor.asked("resourceRead")
	editor.says("did not answer resourceRead within 50ms")
	editor.says("chat/turnComplete")
	other := w.dial("owner")
	other.initialize("other")
	other.send(`{"jsonrpc":"2.0","id":5,"method":"resourceRead","params":{"channel":"ahp-root://","uri":"virtual://editor/notes.md"}}`)
	must(t, other.find(`{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"client editor did not answer resourceRead within 50ms"}}`))
	editor.send(`{"jsonrpc":"2.0","id":99,"result":{}}`) // an answer without a request
	editor.send(`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"channel":"ahp-root://"}}`)
	must(t, editor.find(`{"jsonrpc":"2.0","id":7,"result":null}`))

	_, editor, chat := editing(t, Limits{Ask: time.Hour})
	editor.asked("resourceRead")
	editor.send(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"` + chat +
		`","clientSeq":2,"action":{"type":"chat/turnCancelled","turnId":"t1","duration":1}}}`)
	editor.says("chat/turnCancelled")
	editor.send(fmt.Sprintf(attached, chat, 3, 3))
	editor.serves("resourceRead", `"result":{"data":"again","encoding":"utf-8"}`)
	editor.says("holds again")
}
