package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/libp2p/go-yamux/v5"
	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcserver"
	"storj.io/drpc/drpcwire"
)

// Handler answers one stream of the other side. Its error ends the stream there.
type Handler func(ctx context.Context, s *Stream) error

// Config describes a Peer.
type Config struct {
	Dialed    bool               // this side opened the connection
	Handlers  map[string]Handler // by method
	Streams   uint32             // limit of the other side's open streams; 0 is 1024
	KeepAlive time.Duration      // between keepalives; 0: none are sent
	Log       *slog.Logger
}

// Peer is one connection.
type Peer struct {
	mux      *yamux.Session
	handlers map[string]Handler
	log      *slog.Logger
	wg       sync.WaitGroup
}

// answering is the timeout for the answer to a keepalive, and for writes.
const answering = 10 * time.Second

// options bound the memory that the other side can occupy here.
var options = drpcmanager.Options{Reader: drpcwire.ReaderOptions{MaximumBufferSize: mostMessage}}

// New returns a Peer on a connection, which it closes. Call Run.
func New(conn net.Conn, cfg Config) (*Peer, error) {
	c := yamux.DefaultConfig()
	c.LogOutput = io.Discard
	c.EnableKeepAlive = cfg.KeepAlive > 0
	c.MeasureRTTInterval = 24 * time.Hour
	if cfg.KeepAlive > 0 {
		c.KeepAliveInterval = cfg.KeepAlive
		c.ConnectionWriteTimeout = min(answering, 10*cfg.KeepAlive)
	}
	c.MaxIncomingStreams = 1024
	if cfg.Streams > 0 {
		c.MaxIncomingStreams = cfg.Streams
	}
	c.MaxStreamWindowSize = 1 << 20
	begin := yamux.Server
	if cfg.Dialed {
		begin = yamux.Client
	}
	mux, err := begin(conn, c, nil)
	if err != nil {
		return nil, err
	}
	return &Peer{mux: mux, handlers: cfg.Handlers, log: cfg.Log}, nil
}

// Run answers the other side until the connection or ctx ends, and waits for the handlers.
func (p *Peer) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer p.wg.Wait()
	defer cancel()
	defer p.Close()
	defer context.AfterFunc(ctx, p.Close)()
	server := drpcserver.NewWithOptions(handler{p}, drpcserver.Options{Manager: options})
	for {
		stream, err := p.mux.AcceptStream()
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%w: %w", ErrClosed, err)
		}
		p.wg.Go(func() {
			_ = server.ServeOne(ctx, stream) // the stream has ended
			_ = stream.Reset()
		})
	}
}

// Close ends the connection.
func (p *Peer) Close() { _ = p.mux.Close() } // it is gone either way

// Done is closed once the connection has ended.
func (p *Peer) Done() <-chan struct{} { return p.mux.CloseChan() }

// handler implements drpc.Handler.
type handler struct{ peer *Peer }

// HandleRPC answers a stream. A panic of a handler ends only its stream.
func (h handler) HandleRPC(s drpc.Stream, method string) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			h.peer.log.Error("a call of another computer failed", "method", method, "fault", fault,
				"stack", string(debug.Stack()))
			err = packError(errors.New("an internal error"))
		}
	}()
	answer := h.peer.handlers[method]
	if answer == nil {
		return packError(fmt.Errorf("%.80q is not known here: update ahphub on both computers", method))
	}
	if err := answer(s.Context(), &Stream{inner: s, ctx: s.Context()}); err != nil {
		return packError(err)
	}
	return s.CloseSend()
}

// Stream is a bidirectional stream of messages. One goroutine may send while another one receives.
type Stream struct {
	inner drpc.Stream
	ctx   context.Context // the caller's: the stream's own also ends with the connection
	close func()
}

// Open opens a stream to a method. It ends with ctx, or by Close.
func (p *Peer) Open(ctx context.Context, method string) (*Stream, error) {
	raw, err := p.mux.OpenStream(ctx)
	if err != nil {
		return nil, unpackError(ctx, err)
	}
	conn := drpcconn.NewWithOptions(raw, drpcconn.Options{Manager: options})
	inner, err := conn.NewStream(ctx, method, encoding{})
	if err != nil {
		_ = conn.Close()
		return nil, unpackError(ctx, err)
	}
	return &Stream{inner: inner, ctx: ctx, close: func() { _ = conn.Close(); _ = raw.Reset() }}, nil
}

// Send sends a message.
func (s *Stream) Send(v any) error {
	return unpackError(s.ctx, s.inner.MsgSend(v, encoding{}))
}

// Receive receives a message, or returns io.EOF after the other side's last one.
func (s *Stream) Receive(v any) error {
	return unpackError(s.ctx, s.inner.MsgRecv(v, encoding{}))
}

// Close ends a stream that this side opened.
func (s *Stream) Close() {
	if s.close != nil {
		s.close()
	}
}

// none is the result of a call without a result.
type none struct{}

// Call calls a method of the other side.
func Call[Out any](ctx context.Context, p *Peer, method string, in any) (out Out, err error) {
	s, err := p.Open(ctx, method)
	if err != nil {
		return out, err
	}
	defer s.Close()
	if err := s.Send(in); err != nil {
		if again := s.Receive(&out); again != nil {
			return *new(Out), again // why the other side did not read it
		}
		return *new(Out), err
	}
	if err := s.Receive(&out); err != nil {
		return *new(Out), err
	}
	return out, nil
}

// Answer returns the handler of a method called with Call.
func Answer[In, Out any](f func(ctx context.Context, in In) (Out, error)) Handler {
	return func(ctx context.Context, s *Stream) error {
		var in In
		if err := s.Receive(&in); err != nil {
			return err
		}
		out, err := f(ctx, in)
		if err != nil {
			return err
		}
		return s.Send(out)
	}
}

// AnswerNone returns the handler of a method without a result.
func AnswerNone[In any](f func(ctx context.Context, in In) error) Handler {
	return Answer(func(ctx context.Context, in In) (none, error) { return none{}, f(ctx, in) })
}

// CallNone calls a method without a result.
func CallNone(ctx context.Context, p *Peer, method string, in any) error {
	_, err := Call[none](ctx, p, method, in)
	return err
}
