package loopback_test

import (
	"net"
	"testing"

	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
)

func listenAt(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestReserved(t *testing.T) {
	address := loopbacktest.Address(t)
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("a port that is only reserved accepts connections")
	}
	listenAt(t, address).Close()
	l := listenAt(t, address)
	go func() {
		if c, err := l.Accept(); err == nil {
			c.Close()
		}
	}()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatalf("a program that listens again is not reached: %v", err)
	}
	c.Close()
	if second, err := net.Listen("tcp", address); err == nil {
		second.Close()
		t.Error("two programs listen at one address")
	}
}

// The system chooses among about 28,000 ports. With 500 reserved, 500 connections and 500 listeners
// would certainly collide with some of them.
func TestReservedPortsAreGivenToNobodyElse(t *testing.T) {
	const many = 500
	reserved := map[string]bool{}
	for range many {
		address := loopbacktest.Address(t)
		if reserved[address] {
			t.Fatalf("%s is reserved twice", address)
		}
		reserved[address] = true
	}
	server := listenAt(t, loopbacktest.Address(t))
	for range many {
		if at := listenAt(t, "127.0.0.1:0").Addr().String(); reserved[at] {
			t.Errorf("a listener that asks for any port is given %s", at)
		}
		c, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if at := c.LocalAddr().String(); reserved[at] {
			t.Errorf("a connection comes from %s", at)
		}
	}
}
