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

// Handler answers one stream of the other side. What it returns is why the stream ends there.
type Handler func(ctx context.Context, s *Stream) error

// Config describes a Peer.
type Config struct {
	Dialed    bool               // this side began the connection
	Handlers  map[string]Handler // by method
	Streams   uint32             // that the other side may have open; 0 is 1024
	KeepAlive time.Duration      // between signs of life; 0: none are sent
	Log       *slog.Logger
}

// Peer is one connection.
type Peer struct {
	mux      *yamux.Session
	handlers map[string]Handler
	log      *slog.Logger
	wg       sync.WaitGroup
}

// answering is how long the other side may take to answer a sign of life, or to take what is written.
const answering = 10 * time.Second

// options bound what the other side can make this one hold.
var options = drpcmanager.Options{Reader: drpcwire.ReaderOptions{MaximumBufferSize: mostMessage}}

// New makes a Peer of a connection, which it closes. Call Run.
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

// Run answers the other side until the connection ends or ctx does, and waits for the handlers.
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

// HandleRPC answers a stream. A fault of a handler ends that stream alone.
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

// Stream is a stream of messages both ways. One goroutine sends and one receives at a time.
type Stream struct {
	inner drpc.Stream
	ctx   context.Context // of who asked: the stream's own ends with the connection, too
	close func()
}

// Open begins a stream of a method. It ends with ctx, or by Close.
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

// Receive receives a message; io.EOF when the other side has sent its last.
func (s *Stream) Receive(v any) error {
	return unpackError(s.ctx, s.inner.MsgRecv(v, encoding{}))
}

// Close ends a stream that was opened here.
func (s *Stream) Close() {
	if s.close != nil {
		s.close()
	}
}

// none is the answer of a call that returns nothing.
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
			return *new(Out), again // why the other side took nothing
		}
		return *new(Out), err
	}
	if err := s.Receive(&out); err != nil {
		return *new(Out), err
	}
	return out, nil
}

// Answer returns the handler of a method that is called.
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

// AnswerNone returns the handler of a method that returns nothing.
func AnswerNone[In any](f func(ctx context.Context, in In) error) Handler {
	return Answer(func(ctx context.Context, in In) (none, error) { return none{}, f(ctx, in) })
}

// CallNone calls a method that returns nothing.
func CallNone(ctx context.Context, p *Peer, method string, in any) error {
	_, err := Call[none](ctx, p, method, in)
	return err
}
