package rpc

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// mirror reduces a client's frames, as a client does.
type mirror struct {
	*peer
	kinds  map[ahp.URI]ahp.ChannelKind
	states map[ahp.URI]ahp.State
	last   int64
}

// until reads frames, mirrors them, and returns the first that ok takes.
func (m *mirror) until(ok func(frame) bool) frame {
	m.t.Helper()
	for {
		var f frame
		raw := m.read()
		if err := ahp.Unmarshal([]byte(raw), &f); err != nil {
			m.t.Fatalf("%s: %v", raw, err)
		}
		if f.Method == "action" {
			m.apply(f.Params)
		}
		if f.Error != nil {
			m.t.Fatalf("%s", raw)
		}
		if ok(f) {
			return f
		}
	}
}

type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (m *mirror) apply(raw []byte) {
	var e ahp.ActionEnvelope
	must(m.t, ahp.Unmarshal(raw, &e))
	if e.ServerSeq <= m.last {
		m.t.Fatalf("serverSeq %d after %d: %s", e.ServerSeq, m.last, raw)
	}
	m.last = e.ServerSeq
	if s := m.states[e.Channel]; s != nil && e.RejectionReason == "" {
		m.states[e.Channel] = ahp.Reduce(s, e.Action)
	}
}

func (m *mirror) call(id, method, params string) json.RawMessage {
	m.t.Helper()
	m.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"` + method + `","params":` + params + `}`)
	return m.until(func(f frame) bool { return string(f.ID) == `"`+id+`"` }).Result
}

func (m *mirror) follow(uri ahp.URI, kind ahp.ChannelKind) {
	m.t.Helper()
	m.followTurns(uri, kind, "")
}

func (m *mirror) followTurns(uri ahp.URI, kind ahp.ChannelKind, view string) {
	m.t.Helper()
	var r ahp.SubscribeResult
	must(m.t, ahp.Unmarshal(m.call("sub "+uri, "subscribe", `{"channel":"`+uri+`"`+view+`}`), &r))
	must(m.t, r.Snapshot.Decode(kind))
	m.states[uri], m.kinds[uri] = r.Snapshot.State, kind
}

// check compares each mirror with a fresh snapshot.
func (m *mirror) check(w *world) {
	m.t.Helper()
	fresh := &mirror{w.dial("owner"), map[ahp.URI]ahp.ChannelKind{}, map[ahp.URI]ahp.State{}, 0}
	fresh.initialize("fresh")
	for uri, kind := range m.kinds {
		fresh.follow(uri, kind)
		got, err := ahp.Marshal(m.states[uri])
		must(m.t, err)
		want, err := ahp.Marshal(fresh.states[uri])
		must(m.t, err)
		if string(got) != string(want) {
			m.t.Errorf("%s is mirrored as\n%s\nand is\n%s", uri, got, want)
		}
	}
}

// resume reconnects and applies the replay or snapshots; it returns which it was.
func (m *mirror) resume(client string) string {
	m.t.Helper()
	uris := []ahp.URI{}
	for uri := range m.kinds {
		uris = append(uris, uri)
	}
	list, err := ahp.Marshal(uris)
	must(m.t, err)
	var r ahp.ReconnectResult
	must(m.t, ahp.Unmarshal(m.call("back", "reconnect",
		fmt.Sprintf(`{"clientId":%q,"lastSeenServerSeq":%d,"subscriptions":%s}`, client, m.last, list)), &r))
	switch r := r.Value.(type) {
	case *ahp.ReconnectReplayResult:
		for _, e := range r.Actions {
			raw, err := ahp.Marshal(e)
			must(m.t, err)
			m.apply(raw)
		}
		return "replay"
	case *ahp.ReconnectSnapshotResult:
		for _, s := range r.Snapshots {
			must(m.t, s.Decode(m.kinds[s.Resource]))
			m.states[s.Resource], m.last = s.State, max(m.last, s.FromSeq)
		}
		return "snapshot"
	}
	return "nothing"
}

// Promise 4: wherever and however often a connection is cut, its client ends up with the current
// state.
func TestResumeAfterCutAnywhere(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, Config{}, hub.Config{Limits: hub.Limits{WindowBytes: 20_000}})
	m := &mirror{w.dial("owner"), map[ahp.URI]ahp.ChannelKind{}, map[ahp.URI]ahp.State{}, 0}
	m.initialize("m")
	m.follow(chatURI, ahp.ChannelChat)
	m.follow(termURI, ahp.ChannelTerminal)
	m.follow(sessionURI, ahp.ChannelSession)
	how := map[string]int{}
	for range 60 {
		var producers sync.WaitGroup
		for _, uri := range []ahp.URI{chatURI, termURI, sessionURI} {
			n := rnd.IntN(120)
			producers.Go(func() { produce(t, w.hub, uri, n) })
		}
		m.send(`{"jsonrpc":"2.0","id":"mark","method":"ping"}`)
		left := rnd.IntN(30)
		m.until(func(f frame) bool { left--; return left < 0 || string(f.ID) == `"mark"` })
		m.ws.CloseNow()
		if rnd.IntN(2) == 0 {
			producers.Wait()
		}
		m.peer = w.dial("owner")
		how[m.resume("m")]++
		producers.Wait()
		// Remaining frames come before the answer to this.
		m.call("ping", "listSessions", `{"channel":"ahp-root://"}`)
		for uri := range m.kinds {
			state, _, _ := w.hub.State(uri)
			want, err := ahp.Marshal(state)
			must(t, err)
			if got, err := ahp.Marshal(m.states[uri]); err != nil || text(got) != text(want) {
				t.Fatalf("seed %d: %s is mirrored as\n%s\nand is\n%s", seed, uri, got, want)
			}
		}
	}
	if how["replay"] == 0 || how["snapshot"] == 0 {
		t.Errorf("seed %d: resumed only by %v", seed, how)
	}
}

// text ignores how a terminal's output is split into parts.
func text(state []byte) string {
	return strings.ReplaceAll(string(state), `"},{"type":"unclassified","value":"`, "")
}

func produce(t *testing.T, h *hub.Hub, uri ahp.URI, n int) {
	for i := range n {
		err := h.Do(func(tx *hub.Tx) {
			switch uri {
			case chatURI:
				tx.Apply(uri, &ahp.ChatDeltaAction{TurnID: "t4", PartID: "p", Content: fmt.Sprint(i, " of a chat, ")})
			case termURI:
				tx.Apply(uri, &ahp.TerminalDataAction{Data: fmt.Sprint(i, " of a terminal\r\n")})
			default:
				tx.Apply(uri, &ahp.SessionTitleChangedAction{Title: fmt.Sprint(i)})
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
}
