package peers

import (
	"io"
	"net"
	"testing"
)

// Idle connections from strangers do not keep members out, which have not connected since the node
// started, and connections from one address do not keep other addresses out.
func TestSlowHandshakesDoNotKeepMembersOut(t *testing.T) {
	w := newWorld(t) // its member's address is 127.0.0.1
	var silent []net.Conn
	open := func(from byte) net.Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, from)}}
		c, err := d.Dial("tcp", w.node.Address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	for from := byte(2); from < 2+mostStrangers/mostOfStranger; from++ {
		for range mostOfStranger {
			silent = append(silent, open(from))
		}
		if _, err := open(from).Read(make([]byte, 1)); err == nil {
			t.Error("one address got more handshakes than its share")
		}
	}
	if _, err := open(99).Read(make([]byte, 1)); err == nil {
		t.Error("strangers got more handshakes than their share")
	}
	if got, err := get(w.node, "a"); got != "a true" {
		t.Errorf("a member is answered %q, %v", got, err)
	}
	for _, c := range silent { // closed by the server
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Log(err)
		}
	}
	w.listener.Close() // waits for their handshakes to end
	w.listener.mu.Lock()
	defer w.listener.mu.Unlock()
	if w.listener.unknown != 0 || len(w.listener.strangers) != 0 {
		t.Errorf("%d handshakes of strangers are still counted", w.listener.unknown)
	}
}
