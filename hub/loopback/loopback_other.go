//go:build !linux

package loopback

import "net"

// reserve returns an address that is free now.
func reserve() (string, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	return l.Addr().String(), func() {}, l.Close()
}
