package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

// pair connects two ends; each receives at once what the other sends.
func pair(a, b Config) (*Conn, *Conn) {
	var left, right *Conn
	a.Send = func(frame []byte) { right.Receive(frame) }
	b.Send = func(frame []byte) { left.Receive(frame) }
	left, right = NewConn(a), NewConn(b)
	return left, right
}

func TestBothEndsCall(t *testing.T) {
	var left, right *Conn
	answer := func(c **Conn) func(Message) {
		return func(m Message) {
			if m.Method == "fail" {
				(*c).cfg.Send(AppendError(nil, m.ID, &Error{Code: -32001, Message: "no such session",
					Data: []byte(`{"a":1}`)}))
				return
			}
			(*c).cfg.Send(AppendResult(nil, m.ID, m.Params))
		}
	}
	left, right = pair(Config{Handle: answer(&left)}, Config{Handle: answer(&right)})
	for name, c := range map[string]*Conn{"left": left, "right": right} {
		got, err := c.Call(t.Context(), "echo", []byte(`{"x":1}`))
		if string(got) != `{"x":1}` || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		_, err = c.Call(t.Context(), "fail", nil)
		var e *Error
		if !errors.As(err, &e) || e.Code != -32001 || string(e.Data) != `{"a":1}` {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCallsEndWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewConn(Config{Send: func([]byte) {}, Pending: 2})
		errs := make(chan error)
		for range 2 {
			go func() {
				_, err := c.Call(t.Context(), "m", nil)
				errs <- err
			}()
		}
		synctest.Wait()
		if _, err := c.Call(t.Context(), "m", nil); !errors.Is(err, ErrBusy) {
			t.Errorf("the third call: %v, want ErrBusy", err)
		}
		gone := errors.New("gone")
		c.Close(gone)
		for range 2 {
			if err := <-errs; !errors.Is(err, ErrClosed) || !errors.Is(err, gone) {
				t.Errorf("a waiting call: %v", err)
			}
		}
		if _, err := c.Call(t.Context(), "m", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("a call after Close: %v", err)
		}
	})
}

func TestCancelledCallLeavesNothing(t *testing.T) {
	c := NewConn(Config{Send: func([]byte) {}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Call(ctx, "m", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if len(c.pending) != 0 {
		t.Errorf("%d calls still wait", len(c.pending))
	}
	c.Receive(AppendResult(nil, NumberID(1), nil)) // a late answer belongs to no call
}

func TestAnswerInvalidFrames(t *testing.T) {
	for in, want := range map[string]string{
		`nonsense`:                            `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is not JSON"}}`,
		`{"jsonrpc":"2.0","id":"a","x":1}`:    `{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"a message needs a method, or an id with either a result or an error"}}`,
		`{"jsonrpc":"2.0","id":9,"result":1}`: ``,
	} {
		var got []byte
		c := NewConn(Config{Send: func(b []byte) { got = append(got, b...) },
			Handle: func(m Message) { t.Errorf("handled %v", m) }})
		c.Receive([]byte(in))
		if string(got) != want {
			t.Errorf("%s is answered by %s, want %s", in, got, want)
		}
	}
}

func ExampleAppendNotification() {
	fmt.Println(string(AppendNotification(nil, "root/sessionRemoved", []byte(`{"channel":"ahp-root://"}`))))
	// Output: {"jsonrpc":"2.0","method":"root/sessionRemoved","params":{"channel":"ahp-root://"}}
}
