package web

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// listening serves a site on a socket of its own, with short timeouts.
func listening(t *testing.T, change func(*Config)) string {
	t.Helper()
	x := newSite(t, func(c *Config) {
		c.Limits.Read, c.Limits.Idle = 100*time.Millisecond, 100*time.Millisecond
		if change != nil {
			change(c)
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// said returns all bytes a server sends until it closes the connection.
func said(t *testing.T, address, bytes string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, bytes); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatalf("the connection stays open: %v", err)
	}
	return string(answer)
}

// Slow and silent senders are disconnected.
func TestSlowSendersAreCutOff(t *testing.T) {
	address := listening(t, nil)
	for name, test := range map[string]struct{ sent, never string }{
		"nothing":       {"", "200 OK"},
		"half a header": {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: ", "200 OK"},
		"half a form": {"POST /signin HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
			"application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ntoken=", "303"},
		"one more request": {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "303"},
		"an endless chunk": {"POST /signin HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: " +
			"chunked\r\n\r\nfff\r\ntoken=",
			"303"},
		"two lengths": {"POST /signin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: " +
			"6\r\n\r\ntoken", "303"},
		"another's request": {"POST /signin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", "ok\n"},
		"two names": {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", "200 OK"},
		"no name":   {"GET /healthz HTTP/1.1\r\n\r\n", "200 OK"},
	} {
		if answer := said(t, address, test.sent); strings.Contains(answer, test.never) {
			t.Errorf("%s was answered %q", name, answer)
		}
	}
}

// Headers are bounded.
func TestHeadersAreBounded(t *testing.T) {
	address := listening(t, nil)
	if answer := said(t, address, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: "+strings.Repeat("a", 80<<10)+
		"\r\n\r\n"); !strings.Contains(answer, "431") {
		t.Errorf("80 KiB of header were answered %.60q", answer)
	}
}

// A stalled handshake is aborted too.
func TestSlowHandshakesAreCutOff(t *testing.T) {
	cert, key := writeCertificate(t, t.TempDir(), "hub.example.com", 1)
	f, err := OpenCertificate(cert, key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	address := listening(t, func(c *Config) { c.TLS = f.TLS() })
	if answer := said(t, address, "\x16\x03\x01"); strings.Contains(answer, "HTTP") {
		t.Errorf("half a handshake was answered %q", answer)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /signin HTTP/1.1\r\nHost: localhost\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != 400 {
		t.Errorf("http where TLS is spoken: %v %v", res, err)
	}
}
