package rpc

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/e2e/oracle"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// mirror reduces a client's frames, as a client does: with the oracle, which shares nothing with the host's reducers.
type mirror struct {
	*peer
	plainStates
	last int64
}

func newMirror(p *peer) *mirror { return &mirror{p, newPlainStates(ahp.Version), 0} }

// plainStates are a client's states of the channels it follows, as JSON.
type plainStates struct {
	version string
	kinds   map[ahp.URI]ahp.ChannelKind
	states  map[ahp.URI]map[string]any
}

func newPlainStates(version string) plainStates {
	return plainStates{version, map[ahp.URI]ahp.ChannelKind{}, map[ahp.URI]map[string]any{}}
}

// adopt starts from a snapshot.
func (p *plainStates) adopt(uri ahp.URI, kind ahp.ChannelKind, state []byte) (err error) {
	p.kinds[uri] = kind
	p.states[uri], err = oracle.Decode(state)
	return err
}

// reduced returns a state after an action, without changing the state.
func (p *plainStates) reduced(uri ahp.URI, s map[string]any, action []byte) (map[string]any, error) {
	a, err := oracle.Decode(action)
	if err != nil {
		return nil, err
	}
	return oracle.Reduce(p.version, string(p.kinds[uri]), s, a), nil
}

// session decodes the parts of a session that tests check.
func (p *plainStates) session(uri ahp.URI) (s struct {
	Title       string
	Lifecycle   ahp.SessionLifecycle
	DefaultChat ahp.URI
	Chats       []any
}) {
	readPlain(p.states[uri], &s)
	return s
}

// chat decodes the parts of a chat that tests check.
func (p *plainStates) chat(uri ahp.URI) (s struct {
	Turns []struct {
		ID      string
		Message struct{ Text string }
	}
	ActiveTurn      *struct{ ID string }
	TurnsNextCursor string
}) {
	readPlain(p.states[uri], &s)
	return s
}

func readPlain(state map[string]any, into any) {
	b, err := json.Marshal(state)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		panic(err)
	}
}

// canonical encodes equal states equally. Null is the same as an absent key.
func canonical(state map[string]any) string { return oracle.Canonical(oracle.WithoutNulls(state)) }

// until reads frames, mirrors them, and returns the first that ok accepts.
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
	var e struct {
		Channel         ahp.URI
		Action          json.RawMessage
		ServerSeq       int64
		RejectionReason string
	}
	must(m.t, json.Unmarshal(raw, &e))
	if e.ServerSeq <= m.last {
		m.t.Fatalf("serverSeq %d after %d: %s", e.ServerSeq, m.last, raw)
	}
	m.last = e.ServerSeq
	if s := m.states[e.Channel]; s != nil && e.RejectionReason == "" {
		a, err := oracle.Decode(e.Action)
		must(m.t, err)
		m.states[e.Channel] = oracle.Apply(m.version, string(m.kinds[e.Channel]), s, a)
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
	var r struct {
		Snapshot struct{ State json.RawMessage }
	}
	must(m.t, json.Unmarshal(m.call("sub "+uri, "subscribe", `{"channel":"`+uri+`"`+view+`}`), &r))
	must(m.t, m.adopt(uri, kind, r.Snapshot.State))
}

// mirrored returns the parts of a state that a mirror and a fresh snapshot share.
func mirrored(kind ahp.ChannelKind, state map[string]any) any {
	return oracle.WithoutNulls(oracle.Mirrored(string(kind), state))
}

// check compares each mirror with a fresh snapshot.
func (m *mirror) check(w *world) {
	m.t.Helper()
	fresh := newMirror(w.dial("owner"))
	fresh.initialize("fresh")
	for uri, kind := range m.kinds {
		fresh.follow(uri, kind)
		if diff := oracle.Diff(mirrored(kind, m.states[uri]), mirrored(kind, fresh.states[uri])); diff != "" {
			m.t.Errorf("%s is mirrored with differences:\n%s", uri, diff)
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
	var r resumed
	must(m.t, json.Unmarshal(m.call("back", "reconnect",
		fmt.Sprintf(`{"clientId":%q,"lastSeenServerSeq":%d,"subscriptions":%s}`, client, m.last, list)), &r))
	for _, raw := range r.Actions {
		m.apply(raw)
	}
	for _, s := range r.Snapshots {
		must(m.t, m.adopt(s.Resource, m.kinds[s.Resource], s.State))
		m.last = max(m.last, s.FromSeq)
	}
	return r.Type
}

// resumed is the result of reconnect.
type resumed struct {
	Type      string
	Actions   []json.RawMessage
	Snapshots []struct {
		Resource ahp.URI
		State    json.RawMessage
		FromSeq  int64
	}
}

// Promise 4: wherever and however often a connection is cut, its client ends up with the current
// state.
func TestResumeAfterCutAnywhere(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, Config{}, hub.Config{Limits: hub.Limits{WindowBytes: 20_000}})
	m := newMirror(w.dial("owner"))
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
			b, err := ahp.Marshal(state)
			must(t, err)
			plain, err := oracle.Decode(b)
			must(t, err)
			if got, want := canonical(m.states[uri]), canonical(plain); text(got) != text(want) {
				t.Fatalf("seed %d: %s is mirrored as\n%s\nand is\n%s", seed, uri, got, want)
			}
		}
	}
	if how["replay"] == 0 || how["snapshot"] == 0 {
		t.Errorf("seed %d: resumed only by %v", seed, how)
	}
}

// text ignores how a terminal's output is split into parts.
func text(state string) string {
	return strings.ReplaceAll(state, `"},{"type":"unclassified","value":"`, "")
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
