package rpc

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/e2e/oracle"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ahp/dialect"
)

// elder is a client of some version that reduces its frames by the rules of that version, as mirror does by today's.
type elder struct {
	*peer
	*dialect.Dialect
	plainStates
	name string
	id   string // its own name
	seq  int

	refusable bool // it dispatches actions that may be refused
	last      int64
	pending   []unanswered
}

// unanswered is an optimistic action.
type unanswered struct {
	channel ahp.URI
	seq     int
	action  string
}

func (w *world) elder(name string) *elder {
	w.t.Helper()
	return w.elderAs(name, name)
}

func (w *world) elderAs(name, id string) *elder {
	w.t.Helper()
	v, err := dialect.Parse(name)
	must(w.t, err)
	d, ok := dialect.Of(v)
	if !ok {
		w.t.Fatalf("%s is not spoken", name)
	}
	e := &elder{peer: w.dial("owner"), Dialect: d, name: name, id: id, plainStates: newPlainStates(name)}
	e.call("initialize", fmt.Sprintf(`{"channel":"ahp-root://","protocolVersions":[%q],"clientId":%q}`, name, id))
	return e
}

// until reads and applies frames, and returns the first that ok accepts.
func (e *elder) until(ok func(frame) bool) frame {
	e.t.Helper()
	for {
		var f frame
		raw := e.read()
		must(e.t, json.Unmarshal([]byte(raw), &f))
		if f.Error != nil {
			e.t.Fatalf("%s: %s", e.name, raw)
		}
		if f.Method == "action" {
			e.apply(f.Params)
		}
		if ok(f) {
			return f
		}
	}
}

func (e *elder) apply(raw []byte) {
	e.t.Helper()
	var env struct {
		Channel         ahp.URI
		Action          json.RawMessage
		ServerSeq       int64
		Origin          *ahp.ActionOrigin
		RejectionReason string
	}
	must(e.t, json.Unmarshal(raw, &env))
	if env.ServerSeq <= e.last {
		e.t.Errorf("%s: serverSeq %d after %d", e.id, env.ServerSeq, e.last)
	}
	e.last = env.ServerSeq
	if env.Origin != nil && env.Origin.ClientID == e.id {
		e.pending = slices.DeleteFunc(e.pending,
			func(u unanswered) bool { return int64(u.seq) == env.Origin.ClientSeq })
	}
	switch {
	case env.RejectionReason != "" && !e.refusable:
		e.t.Fatalf("%s was refused: %s", e.name, raw)
	case env.RejectionReason != "" || e.states[env.Channel] == nil:
		return
	}
	a, err := oracle.Decode(env.Action)
	must(e.t, err)
	e.states[env.Channel] = oracle.Apply(e.version, string(e.kinds[env.Channel]), e.states[env.Channel], a)
}

func (e *elder) call(method, params string) json.RawMessage {
	e.t.Helper()
	e.seq++
	id := fmt.Sprint(e.seq)
	e.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	return e.until(func(f frame) bool { return string(f.ID) == id }).Result
}

func (e *elder) dispatch(channel ahp.URI, action string) {
	e.t.Helper()
	e.seq++
	e.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":%s}}`,
		channel, e.seq, action))
}

// snapshot subscribes and returns the state as it is on the wire.
func (e *elder) snapshot(uri ahp.URI, kind ahp.ChannelKind) json.RawMessage {
	e.t.Helper()
	var r struct {
		Snapshot struct{ State json.RawMessage }
	}
	must(e.t, json.Unmarshal(e.call("subscribe", `{"channel":"`+uri+`"}`), &r))
	return r.Snapshot.State
}

func (e *elder) follow(uri ahp.URI, kind ahp.ChannelKind) {
	e.t.Helper()
	must(e.t, e.adopt(uri, kind, e.snapshot(uri, kind)))
}

// check compares the client's state with a fresh snapshot.
func (e *elder) check() {
	e.t.Helper()
	for uri, kind := range e.kinds {
		fresh, err := oracle.Decode(e.snapshot(uri, kind))
		must(e.t, err)
		if diff := oracle.Diff(e.untimed(kind, e.states[uri]), e.untimed(kind, fresh)); diff != "" {
			e.t.Errorf("a client of %s has another %s than there is:\n%s", e.name, uri, diff)
		}
	}
}

// untimed removes fields that no action changes: when a chat changed, which clients before 0.6 do not get, and when a
// session changed, which clients before 0.5 do not get.
func (e *elder) untimed(kind ahp.ChannelKind, state map[string]any) any {
	v := oracle.Mirrored(string(kind), state)
	if e.Before("0.6.0") {
		delete(v, "modifiedAt")
	}
	if summary, ok := v["summary"].(map[string]any); ok {
		summary = maps.Clone(summary)
		for _, key := range []string{"status", "createdAt", "modifiedAt"} {
			delete(summary, key)
		}
		v["summary"] = summary
	}
	return oracle.WithoutNulls(v)
}

func (e *elder) hears(what string) frame {
	e.t.Helper()
	return e.until(func(f frame) bool { return strings.Contains(string(f.Params), what) })
}

// Clients of all versions work in one session on the real host; the leading one offers 0.5.0 alone,
// as ahpx does.
func TestClientsOfAllVersionsInOneSession(t *testing.T) {
	w := realWorld(t)
	const session = "script:/6f"
	lead := w.elder("0.5.0")
	lead.follow(ahp.RootURI, ahp.ChannelRoot)
	lead.call("createSession", `{"channel":"`+session+`","provider":"script"}`)
	lead.follow(session, ahp.ChannelSession)
	chat := lead.session(session).DefaultChat
	if chat == "" || len(lead.session(session).Chats) == 0 {
		t.Fatal("the first snapshot has no chat: this client waits for none")
	}
	all := map[string]*elder{"0.5.0": lead}
	for _, name := range []string{"0.4.0", "0.5.1", "0.5.2", "0.6.0", "0.7.0", "0.8.0", "0.9.0", "1.0.0"} {
		all[name] = w.elder(name)
		all[name].follow(session, ahp.ChannelSession)
	}
	for _, e := range all {
		e.follow(chat, ahp.ChannelChat)
	}
	turn := func(id, text string) {
		lead.dispatch(chat, fmt.Sprintf(
			`{"type":"chat/turnStarted","turnId":%q,"message":{"text":%q,"origin":{"kind":"user"}}}`, id, text))
	}
	turn("t1", "plan")
	lead.hears(`"chat/turnComplete"`)
	turn("t2", "run echo hi")
	oldest := all["0.4.0"]
	var asked struct{ Action struct{ ToolCallID string } }
	must(t, json.Unmarshal(oldest.hears(`"chat/toolCallReady"`).Params, &asked))
	oldest.dispatch(chat, fmt.Sprintf(
		`{"type":"chat/toolCallConfirmed","turnId":"t2","toolCallId":%q,"approved":true,"confirmed":"user-action"}`,
		asked.Action.ToolCallID))
	lead.hears(`"chat/turnComplete"`)
	turn("t3", "ask")
	var question struct {
		Action struct{ Request struct{ ID string } }
	}
	must(t, json.Unmarshal(all["0.5.2"].hears(`"chat/inputRequested"`).Params, &question))
	all["0.5.2"].dispatch(chat, fmt.Sprintf(`{"type":"chat/inputCompleted","requestId":%q,"response":"decline"}`,
		question.Action.Request.ID))
	lead.hears(`"chat/turnComplete"`)
	turn("t4", "fail no")
	for name, e := range all {
		e.hears(`"chat/error"`)
		e.check()
		if s := e.chat(chat); len(s.Turns) != 4 || s.ActiveTurn != nil {
			t.Errorf("a client of %s has %d turns", name, len(s.Turns))
		}
	}
}
