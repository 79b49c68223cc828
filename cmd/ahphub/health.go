package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"
)

// healthCommand is run by container engines and monitors to check a server.
type healthCommand struct {
	Listen string `default:"127.0.0.1:8137" placeholder:"HOST:PORT" help:"Address that the server listens on. Default: ${default}."`
}

const healthTimeout = 4 * time.Second

// Run fails unless the server at the address reports that it works.
func (c healthCommand) Run(e *environment) error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("--listen is %q: use host:port, as in 127.0.0.1:8137", c.Listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(e.ctx, healthTimeout)
	defer cancel()
	status, err := askHealth(ctx, "http", net.JoinHostPort(host, port))
	if err == nil && status == http.StatusBadRequest { // it speaks TLS
		status, err = askHealth(ctx, "https", net.JoinHostPort(host, port))
	}
	if err != nil {
		return fmt.Errorf("no ahphub answers at %s: %w", c.Listen, err)
	}
	if status != http.StatusOK {
		return fmt.Errorf("the server at %s is not well: it answers %d", c.Listen, status)
	}
	printLine(e.stdout, "health", "ok")
	return nil
}

// askHealth requests /healthz. It sends no secret, so the certificate's name need not match the
// address.
func askHealth(ctx context.Context, scheme, address string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+"/healthz", nil)
	if err != nil {
		return 0, err
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
