package peer

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub/ahp"
)

const session = ahp.URI("ahp-session:/1")

// fakeHost serves one session and implements just enough of the protocol for a peer. Its fields are
// set before the server starts, or under mu.
type fakeHost struct {
	mu       sync.Mutex
	seq      int64
	state    ahp.State
	log      []ahp.ActionEnvelope
	conns    map[*fakeConn]bool
	reject   string // refuses every action with this reason
	deaf     bool   // accepts actions without answering
	snapshot bool   // answers reconnect with snapshots
	upgrade  http.Header
}

type fakeConn struct {
	ws         *websocket.Conn
	clientID   string
	subscribed bool
}

func startHost(t *testing.T) (*fakeHost, string) {
	h := &fakeHost{state: &ahp.SessionState{Title: "Start", Lifecycle: ahp.SessionLifecycleReady},
		conns: map[*fakeConn]bool{}}
	var open sync.WaitGroup
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("refuse") != "" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		open.Add(1)
		defer open.Done()
		h.mu.Lock()
		h.upgrade = r.Header
		h.mu.Unlock()
		h.serve(r.Context(), &fakeConn{ws: ws})
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close(); open.Wait() })
	return h, srv.URL
}

func (h *fakeHost) serve(ctx context.Context, c *fakeConn) {
	defer c.ws.CloseNow()
	h.mu.Lock()
	h.conns[c] = true
	h.mu.Unlock()
	defer func() { h.mu.Lock(); delete(h.conns, c); h.mu.Unlock() }()
	for {
		_, b, err := c.ws.Read(ctx)
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		_ = json.Unmarshal(b, &m)
		h.mu.Lock()
		result, err := h.handle(c, m.Method, m.Params)
		if len(m.ID) > 0 && err == nil {
			c.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
		} else if len(m.ID) > 0 {
			c.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": err})
		}
		h.mu.Unlock()
	}
}

func (c *fakeConn) send(v any) {
	b, err := json.Marshal(v)
	if err == nil {
		_ = c.ws.Write(context.Background(), websocket.MessageText, b)
	}
}

func (h *fakeHost) handle(c *fakeConn, method string, raw json.RawMessage) (any, error) {
	switch method {
	case "initialize":
		var p ahp.InitializeParams
		_ = json.Unmarshal(raw, &p)
		c.clientID = p.ClientID
		return ahp.InitializeResult{ProtocolVersion: p.ProtocolVersions[0], ServerSeq: h.seq}, nil
	case "subscribe":
		c.subscribed = true
		return ahp.SubscribeResult{Snapshot: &ahp.Snapshot{Resource: session, State: h.state, FromSeq: h.seq}}, nil
	case "unsubscribe":
		c.subscribed = false
	case "ping":
	case "dispatchAction":
		var p ahp.DispatchActionParams
		_ = json.Unmarshal(raw, &p)
		if !h.deaf {
			h.publish(p.Action, &ahp.ActionOrigin{ClientID: c.clientID, ClientSeq: p.ClientSeq})
		}
	case "reconnect":
		return h.reconnect(c, raw)
	default:
		return nil, ahp.Errorf(ahp.CodeMethodNotFound, "no method %s", method)
	}
	return nil, nil
}

func (h *fakeHost) reconnect(c *fakeConn, raw json.RawMessage) (any, error) {
	var p ahp.ReconnectParams
	_ = json.Unmarshal(raw, &p)
	c.clientID, c.subscribed = p.ClientID, len(p.Subscriptions) > 0
	if h.snapshot {
		return ahp.ReconnectSnapshotResult{Snapshots: []ahp.Snapshot{{Resource: session, State: h.state,
			FromSeq: h.seq}}}, nil
	}
	replay := ahp.ReconnectReplayResult{}
	for _, e := range h.log {
		if e.ServerSeq > p.LastSeenServerSeq {
			replay.Actions = append(replay.Actions, e)
		}
	}
	for _, uri := range p.Subscriptions {
		if uri != session {
			replay.Missing = append(replay.Missing, uri)
		}
	}
	return replay, nil
}

// publish adds an action to the timeline. The lock is held.
func (h *fakeHost) publish(a ahp.Action, origin *ahp.ActionOrigin) {
	h.seq++
	e := ahp.ActionEnvelope{Channel: session, Action: a, ServerSeq: h.seq, Origin: origin}
	if e.RejectionReason = h.reject; h.reject == "" {
		h.state = ahp.Reduce(h.state, a)
	}
	h.log = append(h.log, e)
	h.emit(e)
}

func (h *fakeHost) emit(e ahp.ActionEnvelope) {
	for c := range h.conns {
		if c.subscribed {
			c.send(map[string]any{"jsonrpc": "2.0", "method": "action", "params": e})
		}
	}
}

// do runs f under the host's lock.
func (h *fakeHost) do(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}
