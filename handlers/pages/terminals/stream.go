package terminals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/coder/websocket"
	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/templ/page"
)

// ShowFrame serves GET …/frame. xterm.js writes inline styles. The frame is a separate document, so that no other
// page has to allow them.
func (p *Pages) ShowFrame(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "terminal")
	t, err := p.terminal(r.Context(), v, id)
	if err != nil {
		return err
	}
	uri, _ := p.Find(v, id)
	s, ok := hub.StateOf[*ahp.TerminalState](p.Hub, uri)
	m := page.TerminalFrame{Asset: p.Assets.Path, Imports: p.Assets.Imports("js/term.js"),
		Theme: p.Frame(r, "", "").Theme, Title: t.Title, Stream: "/s/" + v.Short + "/t/" + id + "/stream",
		Text: t.Text, Type: v.Who.Has(access.RightType)}
	if ok {
		m.Cols, m.Rows, m.Mine = site.OrZero(s.Cols), site.OrZero(s.Rows), p.keyboard(v.Who, v.Session, uri, s).Mine
	}
	w.Header().Set("X-Frame-Options", "SAMEORIGIN")
	return site.Send(w, http.StatusOK, page.TerminalFramePage(m))
}

const screenSize = 192 << 10 // bytes at the end of the output that make the screen of a terminal of an earlier run

// Stream serves GET …/stream, the WebSocket of the frame. Output comes from the terminal's feed, as bytes; holder,
// size and closing come from the hub. A slow viewer skips ahead to the current screen, and never slows down others.
func (p *Pages) Stream(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	uri, err := p.Find(v, chi.URLParam(r, "terminal"))
	if err != nil {
		return err
	}
	if err := p.Prepare(r.Context(), v.Who, uri); err != nil {
		return err
	}
	rise, err := p.Live.CountStream(v.Who)
	if err != nil {
		return err
	}
	defer rise()
	conn, caller, err := p.typist(v.Who)
	if err != nil {
		return err
	}
	defer conn.Close(live.ErrGone)
	c, err := websocket.Accept(w, r, p.Live.AcceptOptions())
	if err != nil {
		return nil // Accept has answered
	}
	defer c.CloseNow()
	c.SetReadLimit(128 << 10)
	ctx, end := p.Live.BindStream(r.Context(), v.Who)
	defer end(nil)
	leave := p.Host.Attend(caller, uri)
	s := &termStream{p: p, session: v.Session, uri: uri, who: v.Who, caller: caller, conn: conn, ws: c,
		begun: make(chan struct{})}
	defer func() { leave(s.goodbye) }()
	if s.viewer = p.Host.AddViewer(uri); s.viewer != nil {
		defer s.viewer.Close()
	}
	conn.Subscribe(s, hub.Subscription{URI: uri})
	conn.Subscribe(nil, hub.Subscription{URI: ahp.RootURI}) // reports that a terminal was closed
	s.run(ctx)
	return nil
}

// termStream is one viewer of one terminal.
type termStream struct {
	p       *Pages
	session ahp.URI
	uri     ahp.URI
	who     access.Principal
	caller  core.Caller
	conn    *hub.Conn
	ws      *websocket.Conn
	viewer  machine.TerminalViewer // nil for a terminal of an earlier run
	begun   chan struct{}          // closed once the size was sent, which the first screen needs
	seq     int64                  // of the reader's actions
	goodbye bool                   // the page said that it leaves; set by the reader, read after run

	telling sync.Mutex // keeps messages in order
}

// run reads, follows and writes until one of them ends, and waits for all.
func (s *termStream) run(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { defer stop(); s.read(ctx) })
	wg.Go(func() { live.KeepAlive(ctx, s.ws, stop) })
	wg.Go(func() { s.watch(ctx) })
	if s.viewer != nil {
		wg.Go(func() { defer stop(); s.show(ctx) })
	}
	if errors.Is(s.follow(ctx), live.ErrGone) {
		_ = s.ws.Close(4404, "gone")
	}
	stop()
	s.ws.CloseNow()
	wg.Wait()
}

// goodbye is the close status of a frame that the reader leaves; a closing browser sends its own.
const goodbye = 4000

func saysGoodbye(err error) bool {
	status := websocket.CloseStatus(err)
	return status == goodbye || status == websocket.StatusGoingAway
}

// fromViewer is a message from the frame.
type fromViewer struct {
	Input  string  `json:"i"`
	Resize []int64 `json:"r"`
	Taken  int64   `json:"a"`
}

func (s *termStream) read(ctx context.Context) {
	for {
		_, b, err := s.ws.Read(ctx)
		if err != nil {
			s.goodbye = saysGoodbye(err)
			return
		}
		var m fromViewer
		if json.Unmarshal(b, &m) != nil {
			return
		}
		switch {
		case m.Input != "":
			s.take()
			s.dispatch(ctx, s.caller, &ahp.TerminalInputAction{Data: m.Input})
		case len(m.Resize) == 2: // as the client that can hold the terminal, which is not this socket's
			s.dispatch(ctx, core.Caller{Principal: s.who, ClientID: core.PageClient(s.who.ID)},
				&ahp.TerminalResizedAction{Cols: m.Resize[0], Rows: m.Resize[1]})
		case s.viewer != nil:
			s.viewer.Taken(m.Taken)
		}
	}
}

func (s *termStream) dispatch(ctx context.Context, c core.Caller, a ahp.Action) {
	s.seq++
	if o, err := s.p.Site.Host.Dispatch(ctx, c, s.uri, s.seq, a); err != nil || o.Unknown {
		s.conn.Close(live.ErrGone)
	}
}

// show writes the terminal's output.
func (s *termStream) show(ctx context.Context) {
	select {
	case <-s.begun:
	case <-ctx.Done():
		return
	}
	for {
		p, err := s.viewer.Next(ctx)
		if err != nil {
			return
		}
		if p.Screen {
			err = s.ws.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"reset":true,"drawn":[%d,%d]}`, p.Cols,
				p.Rows))
		}
		if err == nil && (p.Screen || len(p.Data) > 0) {
			err = s.ws.Write(ctx, websocket.MessageBinary, p.Data)
		}
		if err != nil {
			return
		}
	}
}

// follow sends size and holder when they change.
func (s *termStream) follow(ctx context.Context) error {
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
	}
}

func (s *termStream) item(ctx context.Context, it hub.Item) error {
	switch {
	case it.Token == s:
		if len(it.Snapshots) == 0 {
			return live.ErrGone
		}
		state, ok := it.Snapshots[0].State.(*ahp.TerminalState)
		if !ok {
			return live.ErrGone
		}
		defer close(s.begun) // there is only one snapshot
		return s.begin(ctx, state)
	case it.Env == nil || it.Env.Rejection != "":
		return nil
	}
	switch it.Env.Action.(type) {
	case *ahp.TerminalResizedAction:
		return s.tell(ctx)
	case *ahp.RootTerminalsChangedAction:
		if _, open := s.p.Hub.Info(s.uri); !open {
			return live.ErrGone
		}
	}
	return nil
}

// begin sends size and holder, and the remaining output of a terminal of an earlier run.
func (s *termStream) begin(ctx context.Context, state *ahp.TerminalState) error {
	if err := s.tell(ctx); err != nil || s.viewer != nil {
		return err
	}
	if err := s.ws.Write(ctx, websocket.MessageText, []byte(`{"reset":true}`)); err != nil {
		return err
	}
	return s.ws.Write(ctx, websocket.MessageBinary, []byte(terminalText(state, screenSize)))
}

// watch sends the holder, and requests for control, when they change.
func (s *termStream) watch(ctx context.Context) {
	changed, cancel := s.p.Host.Changes(s.uri)
	defer cancel()
	for s.tell(ctx) == nil { // the first time for earlier changes
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// take gives a free terminal to the viewer who types in it.
func (s *termStream) take() {
	if t, ok := hub.StateOf[*ahp.TerminalState](s.p.Hub, s.uri); ok && heldBy(t) == page.HeldByNobody {
		// if refused, input is refused too
		_ = s.p.Host.Ask(core.Caller{Principal: s.who, ClientID: core.PageClient(s.who.ID)}, s.uri)
	}
}

// tell sends the terminal's size and holder.
func (s *termStream) tell(ctx context.Context) error {
	s.telling.Lock()
	defer s.telling.Unlock()
	t, ok := hub.StateOf[*ahp.TerminalState](s.p.Hub, s.uri)
	if !ok {
		return nil // follow reports that it is gone
	}
	b, err := json.Marshal(s.p.keyboard(s.who, s.session, s.uri, t))
	if err != nil {
		return err
	}
	return s.ws.Write(ctx, websocket.MessageText, b)
}
