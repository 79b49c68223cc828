package remote_test

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/remote"
)

var signsOfLife = flag.Duration("keep-alive", 50*time.Millisecond, "interval of signs of life in the test of a silent link")

// silentLink connects two ends by TCP until it starts to drop everything, like a link whose other end lost power.
type silentLink struct {
	mu     sync.Mutex
	silent bool
}

func (l *silentLink) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = true
}

// pass writes data to the other end, or drops it.
func (l *silentLink) pass(w io.Writer, p []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent {
		return nil
	}
	_, err := w.Write(p)
	return err
}

func (l *silentLink) carry(from, to net.Conn) {
	for buffer := make([]byte, 32<<10); ; {
		n, err := from.Read(buffer)
		if err != nil || l.pass(to, buffer[:n]) != nil {
			return
		}
	}
}

// tcpPair returns both ends of a TCP connection.
func tcpPair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := listener.Accept() // nil: Dial fails too
		accepted <- c
	}()
	if a, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	return a, <-accepted
}

func TestSilentConnectionEnds(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	cfg := remote.Config{Log: log, KeepAlive: *signsOfLife}
	near, far := remote.New(cfg), remote.NewServer(local.New(), cfg)
	defer far.Close()
	defer near.Close()
	hub, hubEnd := tcpPair(t)
	machineEnd, computer := tcpPair(t)
	link := &silentLink{}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer func() { hubEnd.Close(); machineEnd.Close() }()
	wg.Go(func() { link.carry(hubEnd, machineEnd) })
	wg.Go(func() { link.carry(machineEnd, hubEnd) })
	nearEnded, farEnded := make(chan error, 1), make(chan error, 1)
	go func() { nearEnded <- near.Serve(context.Background(), hub) }()
	go func() { farEnded <- far.Serve(context.Background(), computer) }()
	if err := near.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	link.silence()
	began := time.Now()
	await(t, "the hub's end", nearEnded)
	t.Logf("the hub notices after %s", time.Since(began))
	await(t, "the machine's end", farEnded)
	t.Logf("the machine notices after %s", time.Since(began))
	if near.IsOnline() {
		t.Error("the machine is still shown as online")
	}
}
