package pipe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// mostCalls bounds the concurrent calls of the other side in one Talk.
const mostCalls = 1024

// TalkHandler answers a method of a Talk.
type TalkHandler struct {
	do     func(ctx context.Context, body cbor.RawMessage) (any, error)
	inline bool
}

// Do returns a handler that runs in its own goroutine.
func Do[In, Out any](f func(context.Context, In) (Out, error)) TalkHandler {
	return TalkHandler{do: func(ctx context.Context, body cbor.RawMessage) (any, error) {
		var in In
		if err := Unmarshal(body, &in); err != nil {
			return nil, err
		}
		return f(ctx, in)
	}}
}

// InOrder returns a handler that finishes before the next message is read.
func InOrder[In, Out any](f func(context.Context, In) (Out, error)) TalkHandler {
	h := Do(f)
	h.inline = true
	return h
}

// Take returns an in-order handler without a result.
func Take[In any](f func(context.Context, In) error) TalkHandler {
	return InOrder(func(ctx context.Context, in In) (none, error) { return none{}, f(ctx, in) })
}

// message is a message of a Talk.
type message struct {
	Call   uint64          `cbor:"c,omitempty"` // requests an answer with this number
	Method string          `cbor:"m,omitempty"`
	Body   cbor.RawMessage `cbor:"b,omitempty"`
	Answer uint64          `cbor:"r,omitempty"`
	Err    *Error          `cbor:"e,omitempty"`
	Cancel uint64          `cbor:"x,omitempty"` // cancels the call with this number, because of Err
}

// Talk makes calls over a Conduit, in both directions.
type Talk struct {
	*Conduit
	log *slog.Logger

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan message
	running map[uint64]context.CancelCauseFunc
	err     error
}

// NewTalk returns a Talk over a conduit. Call Run.
func NewTalk(c *Conduit, log *slog.Logger) *Talk {
	return &Talk{Conduit: c, log: log, waiting: map[uint64]chan message{},
		running: map[uint64]context.CancelCauseFunc{}}
}

// Run answers the other side's calls until the conduit or ctx ends. It then waits for running calls, and returns the
// reason.
func (t *Talk) Run(ctx context.Context, handlers map[string]TalkHandler) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		var m message
		err := t.Receive(ctx, &m)
		if err == nil {
			err = t.take(ctx, m, handlers, &wg)
		}
		if err != nil {
			t.giveUp(err)
			cancel(err)
			return err
		}
	}
}

func (t *Talk) giveUp(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
	for n, answer := range t.waiting {
		answer <- message{Err: EncodeError(err)}
		delete(t.waiting, n)
	}
}

func (t *Talk) take(ctx context.Context, m message, handlers map[string]TalkHandler, wg *sync.WaitGroup) error {
	switch {
	case m.Answer != 0:
		t.mu.Lock()
		answer := t.waiting[m.Answer]
		delete(t.waiting, m.Answer)
		t.mu.Unlock()
		if answer != nil {
			answer <- m
		}
		return nil
	case m.Cancel != 0:
		t.mu.Lock()
		cancel := t.running[m.Cancel]
		t.mu.Unlock()
		if cancel != nil {
			cancel(m.Err.Decode())
		}
		return nil
	}
	h, ok := handlers[m.Method]
	if !ok {
		return t.answer(ctx, m, nil, fmt.Errorf("%.80q is not known here: update ahphub on both computers", m.Method))
	}
	if h.inline {
		return t.serve(ctx, m, h)
	}
	call, cancel := context.WithCancelCause(ctx)
	t.mu.Lock()
	if len(t.running) >= mostCalls {
		t.mu.Unlock()
		cancel(nil)
		return errors.New("the other side makes too many calls at once")
	}
	t.running[m.Call] = cancel
	t.mu.Unlock()
	wg.Go(func() {
		defer func() {
			t.mu.Lock()
			delete(t.running, m.Call)
			t.mu.Unlock()
			cancel(nil)
		}()
		_ = t.serve(call, m, h) // the conduit has ended
	})
	return nil
}

// serve answers a call. A panic of a handler ends only its call.
func (t *Talk) serve(ctx context.Context, m message, h TalkHandler) error {
	out, err := func() (out any, err error) {
		defer func() {
			if fault := recover(); fault != nil {
				t.log.Error("a call of another computer failed", "method", m.Method, "fault", fault, "stack",
					string(debug.Stack()))
				err = errors.New("an internal error")
			}
		}()
		return h.do(ctx, m.Body)
	}()
	return t.answer(context.WithoutCancel(ctx), m, out, err)
}

func (t *Talk) answer(ctx context.Context, m message, out any, err error) error {
	if m.Call == 0 {
		return nil
	}
	reply := message{Answer: m.Call, Err: EncodeError(err)}
	if err == nil {
		if reply.Body, err = Marshal(out); err != nil {
			reply.Err = EncodeError(err)
		}
	}
	return t.Send(ctx, reply)
}

// Tell sends a message without an answer.
func (t *Talk) Tell(ctx context.Context, method string, in any) error {
	body, err := Marshal(in)
	if err != nil {
		return err
	}
	return t.Send(ctx, message{Method: method, Body: body})
}

// ask calls a method and waits for the answer. When ctx ends, it cancels the call on the other side, and waits for its
// answer while there is a connection. Without one, the other side is notified later.
func (t *Talk) ask(ctx context.Context, method string, in any) (cbor.RawMessage, error) {
	body, err := Marshal(in)
	if err != nil {
		return nil, err
	}
	answer := make(chan message, 1)
	t.mu.Lock()
	if t.err != nil {
		defer t.mu.Unlock()
		return nil, t.err
	}
	t.next++
	n := t.next
	t.waiting[n] = answer
	t.mu.Unlock()
	if err := t.Send(ctx, message{Call: n, Method: method, Body: body}); err != nil {
		t.mu.Lock()
		delete(t.waiting, n)
		t.mu.Unlock()
		return nil, err
	}
	select {
	case m := <-answer:
		return m.Body, m.Err.Decode()
	case <-ctx.Done():
	}
	t.cancelCall(n, context.Cause(ctx))
	attached, stop := t.WhileAttached(context.Background())
	defer stop()
	select {
	case m := <-answer:
		return m.Body, m.Err.Decode()
	case <-attached.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, n)
	return nil, context.Cause(ctx)
}

// cancelCall cancels a call on the other side. It does not wait.
func (t *Talk) cancelCall(n uint64, cause error) {
	m := message{Cancel: n, Err: EncodeError(cause)}
	if err := t.sendNow(m); errors.Is(err, errBehind) {
		go func() { _ = t.Send(context.Background(), m) }() // until the other side takes it, or the conduit ends
	}
}

// Ask calls a method of the other side.
func Ask[Out any](ctx context.Context, t *Talk, method string, in any) (out Out, err error) {
	body, err := t.ask(ctx, method, in)
	if err != nil {
		return out, err
	}
	return out, Unmarshal(body, &out)
}

// AskAttached is Ask for a caller that does not wait for a connection: without one it returns machine.ErrOffline, and
// the other side gets the call later.
func AskAttached[Out any](ctx context.Context, t *Talk, method string, in any) (out Out, err error) {
	ctx, stop := t.WhileAttached(ctx)
	defer stop()
	return Ask[Out](ctx, t, method, in)
}

// AskNone calls a method without a result.
func AskNone(ctx context.Context, t *Talk, method string, in any) error {
	_, err := Ask[none](ctx, t, method, in)
	return err
}

// TellNow is Tell for a caller that must not block: it fails instead.
func (t *Talk) TellNow(method string, in any) error {
	body, err := Marshal(in)
	if err != nil {
		return err
	}
	return t.sendNow(message{Method: method, Body: body})
}

func (t *Talk) sendNow(m message) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errBehind)
	return t.Send(ctx, m)
}

var errBehind = errors.New("the other computer is behind. Try again when it is back")
