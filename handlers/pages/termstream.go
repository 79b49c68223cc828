package pages

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/templ/page"
)

// terminalFrame is GET …/frame. xterm.js writes inline styles, so this document alone allows them; it is a document of
// its own so that no other page has to.
func (p *Pages) terminalFrame(w http.ResponseWriter, r *http.Request) error {
	v, err := p.visit(r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "terminal")
	t, err := p.terminal(r.Context(), v, id)
	if err != nil {
		return err
	}
	uri, _ := p.terminalURI(v, id)
	state, _, _ := p.Hub.State(uri)
	m := page.TerminalFrame{Asset: p.Assets.Path, Theme: p.frame(r, "", "").Theme, Title: t.Title, Stream: "/s/" + v.short + "/t/" + id + "/stream", Text: t.Text,
		Type: v.who.Has(access.RightType)}
	if s, ok := state.(*ahp.TerminalState); ok {
		m.Cols, m.Rows, m.Mine = number(s.Cols), number(s.Rows), sizes(v.who, s)
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'")
	w.Header().Set("X-Frame-Options", "SAMEORIGIN")
	return send(w, http.StatusOK, page.TerminalFramePage(m))
}

// sizes tells whether somebody's window gives the terminal its size: the holder's, or anybody's who may type while a
// session holds it without a tool call.
func sizes(who access.Principal, s *ahp.TerminalState) bool {
	if !who.Has(access.RightType) {
		return false
	}
	switch v := s.Claim.Value.(type) {
	case *ahp.TerminalClientClaim:
		return v.ClientID == pageClient(who)
	case *ahp.TerminalSessionClaim:
		return v.ToolCallID == ""
	}
	return false
}

const (
	inFlight   = 256 << 10 // bytes sent and not yet taken by a viewer before it is skipped ahead
	screenSize = 256 << 10 // bytes of the end of a terminal's output that make its screen
)

// terminalStream is GET …/stream, the WebSocket of the frame. Each viewer has a connection to the hub of its own: a
// slow one is skipped ahead to the screen as it is then, and never slows another.
func (p *Pages) terminalStream(w http.ResponseWriter, r *http.Request) error {
	v, err := p.visit(r)
	if err != nil {
		return err
	}
	uri, err := p.terminalURI(v, chi.URLParam(r, "terminal"))
	if err != nil {
		return err
	}
	if err := p.prepare(r.Context(), v.who, uri); err != nil {
		return err
	}
	conn, caller, err := p.typist(v.who)
	if err != nil {
		return err
	}
	defer conn.Close(errGone)
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil // Accept answered
	}
	defer c.CloseNow()
	c.SetReadLimit(128 << 10)
	ctx, end := p.streamContext(r.Context(), v.who)
	defer end(nil)
	s := &termStream{p: p, uri: uri, who: v.who, caller: caller, conn: conn, ws: c}
	conn.Subscribe(s, hub.Subscription{URI: uri})
	s.run(ctx)
	return nil
}

// termStream is one viewer of one terminal.
type termStream struct {
	p      *Pages
	uri    ahp.URI
	who    access.Principal
	caller host.Caller
	conn   *hub.Conn
	ws     *websocket.Conn
	seq    int64 // of the reader's actions
	taken  atomic.Int64

	state *ahp.TerminalState // the writer's own
	sent  int64
	lost  bool // skipped: the screen is due once the viewer has caught up
}

// run reads and writes until either ends, and waits for both.
func (s *termStream) run(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { defer stop(); s.read(ctx) })
	wg.Go(func() { keepAlive(ctx, s.ws, stop) })
	if errors.Is(s.write(ctx), errGone) {
		_ = s.ws.Close(4404, "gone")
	}
	stop()
	s.ws.CloseNow()
	wg.Wait()
}

// fromViewer is what the frame says.
type fromViewer struct {
	Input  string  `json:"i"`
	Resize []int64 `json:"r"`
	Taken  int64   `json:"a"`
}

func (s *termStream) read(ctx context.Context) {
	for {
		_, b, err := s.ws.Read(ctx)
		if err != nil {
			return
		}
		var m fromViewer
		if json.Unmarshal(b, &m) != nil {
			return
		}
		switch {
		case m.Input != "":
			s.dispatch(ctx, s.caller, &ahp.TerminalInputAction{Data: m.Input})
		case len(m.Resize) == 2: // by the client that may hold the terminal, so without this socket's own id
			s.dispatch(ctx, host.Caller{Principal: s.who, ClientID: pageClient(s.who)}, &ahp.TerminalResizedAction{Cols: m.Resize[0], Rows: m.Resize[1]})
		case m.Taken > s.taken.Load():
			s.taken.Store(m.Taken)
			s.conn.PutFree(pinged{})
		}
	}
}

func (s *termStream) dispatch(ctx context.Context, c host.Caller, a ahp.Action) {
	s.seq++
	if o, err := s.p.Host.Dispatch(ctx, c, s.uri, s.seq, a); err != nil || o.Unknown {
		s.conn.Close(errGone)
	}
}

func (s *termStream) write(ctx context.Context) error {
	items := make([]hub.Item, 0, 16)
	for {
		var err error
		if items, err = s.conn.Next(ctx, items[:0]); err != nil {
			return err
		}
		for _, it := range items {
			if err := s.item(ctx, it); err != nil {
				return err
			}
		}
		if s.lost && s.sent-s.taken.Load() < inFlight/4 {
			if err := s.screen(ctx); err != nil {
				return err
			}
		}
	}
}

func (s *termStream) item(ctx context.Context, it hub.Item) error {
	if len(it.Snapshots) > 0 {
		state, ok := it.Snapshots[0].State.(*ahp.TerminalState)
		if !ok {
			return errGone
		}
		s.state = state
		return s.screen(ctx)
	}
	if it.Env == nil || it.Env.Rejection != "" || it.Env.Channel.URI != s.uri || s.state == nil {
		return nil
	}
	if next, ok := ahp.Reduce(s.state, it.Env.Action).(*ahp.TerminalState); ok {
		s.state = next
	}
	switch a := it.Env.Action.(type) {
	case *ahp.TerminalDataAction:
		return s.data(ctx, a.Data)
	case *ahp.TerminalClearedAction:
		return s.screen(ctx)
	case *ahp.TerminalResizedAction, *ahp.TerminalClaimedAction:
		return s.tell(ctx, false)
	}
	return nil
}

// data sends output, or leaves it out when the viewer is, or would be, too far behind.
func (s *termStream) data(ctx context.Context, text string) error {
	if s.lost || s.sent-s.taken.Load()+int64(len(text)) > inFlight {
		s.lost = true
		return nil
	}
	return s.bytes(ctx, text)
}

func (s *termStream) bytes(ctx context.Context, text string) error {
	s.sent += int64(len(text))
	return s.ws.Write(ctx, websocket.MessageBinary, []byte(text))
}

// screen starts a viewer over with the end of what the terminal printed.
func (s *termStream) screen(ctx context.Context) error {
	s.lost = false
	if err := s.tell(ctx, true); err != nil {
		return err
	}
	text := terminalText(s.state, screenSize)
	if text == "" {
		return nil
	}
	return s.bytes(ctx, text)
}

// tell says how large the terminal is and whose window decides.
func (s *termStream) tell(ctx context.Context, reset bool) error {
	b, err := json.Marshal(map[string]any{"size": []int64{number(s.state.Cols), number(s.state.Rows)}, "mine": sizes(s.who, s.state), "reset": reset})
	if err != nil {
		return err
	}
	return s.ws.Write(ctx, websocket.MessageText, b)
}
