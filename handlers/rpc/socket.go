package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/handlers/upgrade"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/jsonrpc"
	"github.com/ahphub/ahphub/hub/quota"
)

// socket is one connection of a client.
type socket struct {
	cfg       Config
	clients   *clients
	log       *slog.Logger
	principal access.Principal
	ws        *websocket.Conn
	out       *upgrade.Conn
	rpc       *jsonrpc.Conn

	ctx        context.Context // ends with the socket
	cancel     context.CancelCauseFunc
	wg         sync.WaitGroup // everything except the reader
	concurrent chan struct{}  // a place for each concurrent request
	owed       atomic.Int64   // bytes of unwritten answers
	heart      heartbeat
	seat       quota.Holder // the holder it counts for as an open connection; the reader's, as is large
	large      *received    // the large frame in progress; nil once a concurrent request owns it
	names      spelling

	exports   map[ahp.URI]*export // followed telemetry; the reader's
	exporting atomic.Int64        // bytes of unwritten telemetry

	// Set once by the reader, before the writer starts; mu guards end alone.
	mu       sync.Mutex
	conn     *hub.Conn // nil before initialize or reconnect
	clientID string
	dialect  clientDialect

	once   sync.Once
	reason error
}

func newSocket(ctx context.Context, e *Endpoint, p access.Principal, ws *websocket.Conn, out *upgrade.Conn) *socket {
	s := &socket{cfg: e.cfg, clients: e.clients, principal: p, ws: ws, out: out,
		log:        e.cfg.Log.With("principal", p),
		concurrent: make(chan struct{}, e.cfg.Limits.Beside), exports: map[ahp.URI]*export{}}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.rpc = jsonrpc.NewConn(jsonrpc.Config{Send: s.send, Handle: s.handle,
		Limits: jsonrpc.Limits{Bytes: e.cfg.Limits.FrameBytes, Depth: e.cfg.Limits.Depth}})
	ws.SetReadLimit(int64(e.cfg.Limits.FrameBytes))
	return s
}

// serve reads until the socket ends, and returns when everything it started has ended, also after a panic.
func (s *socket) serve() {
	stop := context.AfterFunc(s.ctx, func() { s.end(context.Cause(s.ctx)) })
	defer stop()
	handshake := time.AfterFunc(s.cfg.Limits.Handshake, s.endIfIdle)
	defer handshake.Stop()
	s.heart.start(s)
	reason := errBroken // the reason when read panics
	defer func() { s.finish(reason) }()
	reason = s.read()
}

// finish ends the socket and waits for everything it started.
func (s *socket) finish(reason error) {
	s.end(reason)
	s.heart.stop(s)
	s.unfollowAll()
	s.wg.Wait()
	s.dropFrame(s.large)
	s.leave()
}

// read passes every frame to the connection. It does not end with s.ctx, because it also reads the
// closing handshake.
func (s *socket) read() error {
	for {
		kind, r, err := s.ws.Reader(context.Background())
		if err != nil {
			return err
		}
		if kind != websocket.MessageText {
			return errBinary
		}
		frame, err := s.readFrame(r)
		if err != nil {
			return err
		}
		s.large = frame
		if s.conn == nil {
			onOtherStack(func() { s.rpc.Receive(frame.bytes) })
		} else {
			s.rpc.Receive(frame.bytes)
		}
		s.dropFrame(s.large)
		s.large = nil
	}
}

// onOtherStack runs f on a separate stack. Setting up a connection takes 32 KiB of stack once, which the connection's
// goroutines would otherwise keep.
func onOtherStack(f func()) {
	panicked := make(chan any)
	go func() {
		defer func() { panicked <- recover() }()
		f()
	}()
	if cause := <-panicked; cause != nil {
		panic(cause)
	}
}

// end closes the socket; the first reason counts. It returns at once: the closing handshake takes
// time, and running requests are cancelled.
func (s *socket) end(reason error) {
	s.once.Do(func() {
		s.mu.Lock()
		s.reason = reason
		conn := s.conn
		s.mu.Unlock()
		s.cancel(reason)
		s.rpc.Close(reason)
		if conn != nil {
			conn.Close(reason)
		}
		s.wg.Go(func() {
			force := time.AfterFunc(s.cfg.Limits.Close, func() { s.out.Close() })
			defer force.Stop()
			s.ws.Close(closing(reason))
			s.ws.CloseNow()
		})
	})
}

func (s *socket) endIfIdle() {
	s.mu.Lock()
	idle := s.conn == nil
	s.mu.Unlock()
	if idle {
		s.end(errIdle)
	}
}

// leave notifies the host and the log. A client whose newer socket took over has not left.
func (s *socket) leave() {
	level := slog.LevelInfo
	if s.conn == nil {
		level = slog.LevelDebug
	}
	s.log.Log(context.Background(), level, "client left", "reason", s.reason)
	if s.conn == nil {
		return
	}
	if _, err := s.conn.Next(s.ctx, nil); errors.Is(err, hub.ErrReplaced) {
		return
	}
	s.clients.bindings.markLeft(s.principal, s.clientID)
	s.cfg.Host.Disconnected(s.caller())
}

func (s *socket) caller() core.Caller {
	return core.Caller{Principal: s.principal, ClientID: s.clientID, Conn: s.conn}
}

// handle runs a request or notification and recovers from panics.
func (s *socket) handle(m jsonrpc.Message) {
	row, ok := methods[m.Method]
	if ok && len(m.Params) > 0 {
		m.Params = s.toHost(m.Params)
	}
	switch {
	case !ok:
		s.refuse(m, ahp.Errorf(ahp.CodeMethodNotFound, "this server has no method %.100q", m.Method))
	case s.conn == nil && !row.always:
		s.refuse(m, ahp.Errorf(ahp.CodeInvalidRequest, "send initialize or reconnect before %s", m.Method))
	case !row.concurrent && !(row.files && ofClient(m)):
		s.run(row, m)
	default:
		s.concurrent <- struct{}{}
		frame := s.large
		s.large = nil
		s.wg.Go(func() {
			defer func() { s.dropFrame(frame); <-s.concurrent }()
			s.run(row, m)
		})
	}
}

func (s *socket) run(row method, m jsonrpc.Message) {
	ctx, span := s.startSpan(m)
	var err error
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			s.sendFree(m, jsonrpc.AppendError(nil, m.ID, s.internal(m.Method, "panic", p, "stack",
				string(debug.Stack()))))
		}
		s.endSpan(span, m.Method, err)
	}()
	if m.Params, err = withChannel(m, row.channel); err == nil {
		m.Params, err = s.upgradeParams(m)
	}
	if err == nil {
		err = row.run(s, ctx, m)
	}
	if err != nil {
		s.refuse(m, err)
	}
}

// refuse answers a request with an error. Notifications have no answer (AHP requirement 2), so
// their errors are logged.
func (s *socket) refuse(m jsonrpc.Message, err error) {
	if !m.IsRequest() {
		s.log.Debug("notification refused", "method", m.Method, "err", err)
		return
	}
	s.sendFree(m, jsonrpc.AppendError(nil, m.ID, s.wireError(m.Method, err)))
}

// reads are the methods whose answers carry no number of the timeline. They are answered even while the
// journal fails.
var reads = []string{"listSessions", "resolveSessionConfig", "sessionConfigCompletions", "completions",
	"resourceRead", "resourceList", "resourceResolve", "resourceWrite", "resourceMkdir", "resourceCopy", "resourceMove",
	"resourceDelete",
	"listAutomationTriggerDefinitions", "fetchAutomationRuns"}

// answer answers a request, in the order of the timeline.
func (s *socket) answer(m jsonrpc.Message, result []byte) {
	if !m.IsRequest() {
		return
	}
	frame := jsonrpc.AppendResult(nil, m.ID, result)
	if s.conn == nil || !slices.Contains(reads, m.Method) {
		s.send(frame)
	} else if s.owe(len(frame)) {
		s.conn.PutRead(frame)
	}
}

// send queues a frame behind preceding events. Before there is a queue, only the reader writes.
func (s *socket) send(frame []byte) {
	if s.conn == nil {
		s.writeNow(frame)
		return
	}
	if s.owe(len(frame)) {
		s.conn.Put(frame)
	}
}

// sendFree queues a frame that does not depend on the timeline.
func (s *socket) sendFree(m jsonrpc.Message, frame []byte) {
	switch {
	case !m.IsRequest():
	case s.conn == nil:
		s.writeNow(frame)
	case s.owe(len(frame)):
		s.conn.PutFree(frame)
	}
}

// owe counts an answer until it is written. It returns false for a client that asks and does not
// read, which is then closed to bound memory.
func (s *socket) owe(n int) bool {
	if before := s.owed.Add(int64(n)) - int64(n); before > 0 && before+int64(n) > int64(s.cfg.Limits.AnswerBytes) {
		s.end(errBacklog)
		return false
	}
	return true
}

func (s *socket) writeNow(frame []byte) {
	s.out.Hold()
	err := s.ws.Write(context.Background(), websocket.MessageText, s.names.toClient(frame))
	if err = cmp.Or(err, s.out.Release()); err != nil {
		s.end(err)
	}
}
