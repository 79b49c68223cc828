package box

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// errNoPasta says what the network of a box needs.
var errNoPasta = errors.New("the network of a sandbox needs pasta, which is not installed. Install it " +
	"(Debian and Ubuntu: apt-get install passt), or close the network of sandboxes (--sandbox-network none)")

// connect starts pasta, which connects the box to the host's networks, but not to its loopback.
func (b *box) connect(ctx context.Context, dir string) error {
	path, err := exec.LookPath("pasta")
	if err != nil {
		return errNoPasta
	}
	running := filepath.Join(dir, "network.pid")
	_ = os.Remove(running)
	args := []string{"--config-net", "--foreground", "--quiet", "--no-map-gw", "-t", "none", "-u", "none", "-T", "none",
		"-U", "none", "--pid", running, "--netns", "/proc/self/fd/3"}
	if os.Getuid() == 0 {
		args = append(args, "--runas", "0:0", "--netns-only")
	} else {
		args = append(args, "--userns", "/proc/self/fd/4")
	}
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Dir = []string{"PATH=/usr/bin:/bin"}, "/"
	cmd.ExtraFiles = []*os.File{b.entries[3], b.entries[0]}
	complaint := &bytes.Buffer{}
	cmd.Stderr, cmd.WaitDelay = &capped{w: complaint, left: 4 << 10}, time.Second
	if err := spawn(cmd); err != nil {
		return err
	}
	b.network = cmd
	over := make(chan struct{})
	go func() { _ = cmd.Wait(); close(over) }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if isThere(running) {
				return nil
			}
		case <-over:
			return fmt.Errorf("the network of a sandbox cannot be opened: pasta says: %s", lastLine(complaint.String()))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// takeConns serves connections to relayed ports until the box ends.
func (b *box) takeConns() {
	for {
		text, fds, err := receive(b.relay, 1)
		if err != nil {
			return
		}
		if len(text) != 1 || len(fds) != 1 || int(text[0]) >= len(b.policy.Relays) {
			closeAll(fds)
			continue
		}
		if conn, err := tcpConn(fds[0]); err == nil {
			select {
			case b.conns <- struct{}{}:
				go func() {
					defer func() { <-b.conns }()
					b.serve(b.policy.Relays[text[0]].To, conn)
				}()
			default:
				conn.Close() // too many at once
			}
		}
	}
}

// tcpConn returns the connection of a file descriptor from a holder, if it is one.
func tcpConn(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "relayed")
	defer f.Close()
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	kind, wrong := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	listens, bad := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if errors.Join(err, wrong, bad) != nil || domain != unix.AF_INET && domain != unix.AF_INET6 ||
		kind != unix.SOCK_STREAM || listens != 0 {
		return nil, errors.New("not a connection")
	}
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	if _, tcp := conn.(*net.TCPConn); !tcp {
		conn.Close()
		return nil, errors.New("not a connection")
	}
	return conn, nil
}

// serve connects a relayed connection to its target, and returns once it has ended.
func (b *box) serve(to string, conn net.Conn) {
	defer conn.Close()
	if service := b.cfg.Services[to]; service != nil {
		service(b.policy, conn)
		return
	}
	there, err := net.DialTimeout("tcp", to, startTime)
	if err != nil {
		return // like a refused connection
	}
	defer there.Close()
	var both sync.WaitGroup
	both.Go(func() { copyHalf(there, conn) })
	both.Go(func() { copyHalf(conn, there) })
	both.Wait()
}

// copyHalf copies one direction of a connection, and then ends sending.
func copyHalf(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
