package manage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/ahphub/ahphub/hub/cluster/peers"
)

// socketFile is in the node's directory, which only its owner may enter.
const socketFile = "control.sock"

// mostSocketPath is the longest socket path that every system supports.
const mostSocketPath = 103

// openSocketDir returns an address of the socket in a data directory that systems accept, whatever
// the length of the directory's path. Call release once the address is no longer used.
func openSocketDir(data string) (address string, release func(), err error) {
	path, err := filepath.Abs(SocketPath(data))
	if err != nil || len(path) <= mostSocketPath {
		return path, func() {}, err
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("the path of the data directory %s is %d characters too long for a node of a cluster. "+
			"Use a shorter one with --data", data, len(path)-mostSocketPath)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketFile), func() { dir.Close() }, nil
}

// SocketPath returns the path of the socket on which a node accepts commands.
func SocketPath(data string) string { return filepath.Join(peers.Dir(data), socketFile) }

// Serve accepts the owner's commands on a socket in the data directory, until ctx is canceled. One
// node at a time uses a directory, so an existing socket is stale.
func (m *Manager) Serve(ctx context.Context, data string) error {
	path := SocketPath(data)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	address, release, err := openSocketDir(data)
	if err != nil {
		return err
	}
	defer release()
	l, err := net.Listen("unix", address) // only the owner may enter its directory
	if err != nil {
		return fmt.Errorf("cannot open the socket for ahphub cluster: %w", err)
	}
	defer l.Close()
	if err := os.Chmod(path, 0o600); err != nil {
		return err
	}
	serve := func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, m.self(), false) }
	s := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(serve)}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	err = s.Serve(l)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Call makes a call to the node that uses a data directory. in and out are JSON.
func Call(ctx context.Context, data, what string, in, out any) error {
	if !peers.IsNode(data) {
		return fmt.Errorf("%w: %s", peers.ErrNoCluster, data)
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	address, release, err := openSocketDir(data)
	if err != nil {
		return err
	}
	defer release()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", address)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial},
		Timeout: callTime + time.Second}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://node"+prefix+what, bytes.NewReader(body))
	if err != nil {
		return err
	}
	b, err := send(client, r)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("the node that uses %s is not running. Start it with ahphub serve --cluster", data)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(b, out)
}
