package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/ahphub/ahphub/hub/access"
)

// listen opens the listener.
func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the address %s is in use. Stop the program that uses it, or choose another with "+
			"--listen (ahphub doctor reports whether it is an ahphub)", address)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w. Choose another address with --listen", address, err)
	}
	return l, nil
}

// addresses is the address of a server.
type addresses struct {
	URL    string `json:"url"`
	Public bool   `json:"public"` // named by --public-url
}

func addressesOf(l net.Listener, public *url.URL) addresses {
	if public != nil {
		return addresses{URL: public.String(), Public: true}
	}
	return addresses{URL: localURL(l)}
}

// localURL returns the server's URL for programs on this machine, whatever its public name.
func localURL(l net.Listener) string {
	host, port, _ := net.SplitHostPort(l.Addr().String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

func (a addresses) signIn(token string) string { return a.URL + "/signin#" + token }

// ahp returns the protocol's endpoint: http becomes ws, https wss.
func (a addresses) ahp() string { return "ws" + strings.TrimPrefix(a.URL, "http") + "/ahp" }

const addressFile = "address.json"

// write stores the addresses for `ahphub link`.
func (a addresses) write(dir string) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return access.WriteSecret(filepath.Join(dir, addressFile), append(b, '\n'))
}

func readAddresses(dir string) (a addresses, err error) {
	b, err := os.ReadFile(filepath.Join(dir, addressFile))
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(b, &a)
}

func signInDir(data string) string { return filepath.Join(data, "signin") }

// printLine writes one key=value line for scripts and people.
func printLine(w io.Writer, key, value string) {
	if strings.ContainsAny(value, "\r\n") {
		value = strconv.Quote(value)
	}
	fmt.Fprintf(w, "%s=%s\n", key, value)
}
