package upgrade

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

var errStopping = errors.New("stopping")

// serveKept serves h like the server; the channel reports what ended says.
func serveKept(t *testing.T, server context.Context, h http.HandlerFunc) (url string, ended <-chan any) {
	t.Helper()
	done := make(chan any, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Serve(server, h, w, r, func(panicked any) { done <- panicked })
	}))
	t.Cleanup(srv.Close)
	return srv.URL, done
}

func dial(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

// echo answers every message with itself.
func echo(ws *websocket.Conn) {
	ws.SetReadLimit(-1)
	for {
		kind, b, err := ws.Read(context.Background())
		if err != nil || ws.Write(context.Background(), kind, b) != nil {
			return
		}
	}
}

func accept(t *testing.T, w http.ResponseWriter, r *http.Request) (*websocket.Conn, *Conn) {
	ws, c, err := Accept(w, r, time.Minute, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		t.Error(err)
	}
	return ws, c
}

func TestSocketOutlivesItsRequest(t *testing.T) {
	returned, cause := make(chan struct{}), make(chan error, 1)
	server, stop := context.WithCancelCause(t.Context())
	deferred := make(chan struct{})
	url, ended := serveKept(t, server, func(w http.ResponseWriter, r *http.Request) {
		defer close(returned)
		defer Defer(r.Context(), func() { close(deferred) })
		ws, _ := accept(t, w, r)
		Keep(r.Context(), func() {
			go echo(ws)
			<-r.Context().Done()
			cause <- context.Cause(r.Context())
			_ = ws.CloseNow()
		})
	})
	ws := dial(t, url)
	<-returned
	for i := range 3 {
		word := fmt.Sprint("word ", i)
		if err := ws.Write(t.Context(), websocket.MessageText, []byte(word)); err != nil {
			t.Fatal(err)
		}
		if _, b, err := ws.Read(t.Context()); err != nil || string(b) != word {
			t.Fatalf("after the handler returned: %q %v", b, err)
		}
	}
	select {
	case <-deferred:
		t.Error("what is deferred to the end of the socket ran before")
	case <-ended:
		t.Error("the request ended before its socket")
	default:
	}
	stop(errStopping)
	if err := <-cause; !errors.Is(err, errStopping) {
		t.Errorf("the context ended with %v, want the server's reason", err)
	}
	<-deferred
	if panicked := <-ended; panicked != nil {
		t.Error(panicked)
	}
}

func TestSocketPanicIsReported(t *testing.T) {
	url, ended := serveKept(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		ws, _ := accept(t, w, r)
		Keep(r.Context(), func() {
			defer func() { _ = ws.CloseNow() }()
			panic("oh")
		})
	})
	dial(t, url)
	if panicked := <-ended; panicked != "oh" {
		t.Errorf("reported %v", panicked)
	}
}

func TestRefusedUpgradeEndsWithItsRequest(t *testing.T) {
	url, ended := serveKept(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		ran := false
		Defer(r.Context(), func() { ran = true })
		if !ran {
			t.Error("what was deferred waits for a socket that is not there")
		}
		http.Error(w, "no", http.StatusForbidden)
	})
	if _, res, err := websocket.Dial(t.Context(), url, nil); err == nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("%v %v", res, err)
	}
	<-ended
}

// TestFramesOfEverySizeArriveInOrder sends frames below, at and above the sizes of all buffers, many concurrently.
func TestFramesOfEverySizeArriveInOrder(t *testing.T) {
	url, _ := serveKept(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		ws, c := accept(t, w, r)
		Keep(r.Context(), func() {
			defer func() { _ = ws.CloseNow() }()
			ws.SetReadLimit(-1)
			for {
				kind, b, err := ws.Read(context.Background())
				if err != nil {
					return
				}
				c.Hold()
				if ws.Write(context.Background(), kind, b) != nil {
					return
				}
				if c.Release() != nil {
					return
				}
			}
		})
	})
	ws := dial(t, url)
	var sent []string
	for _, n := range []int{1, 3, 15, 17, 125, 127, 255, 257, readSize - 1, readSize + 1, piece - 1, piece + 1,
		3*piece + 1} {
		sent = append(sent, strings.Repeat(string(rune('a'+n%26)), n), fmt.Sprint(n*2+1))
	}
	go func() {
		for _, s := range sent {
			_ = ws.Write(context.Background(), websocket.MessageText, []byte(s))
		}
	}()
	for _, want := range sent {
		_, got, err := ws.Read(t.Context())
		if err != nil || string(got) != want {
			t.Fatalf("got %d bytes, want %d (%v)", len(got), len(want), err)
		}
	}
}

// TestFrameSentWithTheRequestArrives uses a client that does not wait for the answer to its upgrade.
func TestFrameSentWithTheRequestArrives(t *testing.T) {
	url, _ := serveKept(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		ws, _ := accept(t, w, r)
		Keep(r.Context(), func() {
			echo(ws)
			_ = ws.CloseNow()
		})
	})
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	frame := "\x81\x82\x00\x00\x00\x00hi" // "hi", masked by zeros
	_, err = io.WriteString(c,
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
			"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"+frame)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	if _, err := http.ReadResponse(in, nil); err != nil {
		t.Fatal(err)
	}
	var got [4]byte
	if _, err := io.ReadFull(in, got[:]); err != nil || string(got[:]) != "\x81\x02hi" {
		t.Errorf("%q %v", got, err)
	}
}
