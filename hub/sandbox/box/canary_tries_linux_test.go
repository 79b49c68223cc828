package box

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func proc(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// read succeeds if a file contains the secret.
func read(path string, p targets) error {
	b, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(b), p.Secret) {
		return errors.New("it is another file")
	}
	return err
}

func open(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0)
	if err == nil {
		f.Close()
	}
	return err
}

func reads(path func(targets) string) func(targets) error {
	return func(p targets) error { return read(path(p), p) }
}

func lists(path func(targets) string) func(targets) error {
	return func(p targets) error { _, err := os.ReadDir(path(p)); return err }
}

func writes(path func(targets) string) func(targets) error {
	return func(p targets) error {
		if err := os.WriteFile(path(p), []byte("canary"), 0o600); err != nil {
			return err
		}
		return os.Remove(path(p))
	}
}

func opens(path string, flags int, content string) func(targets) error {
	return func(targets) error {
		err := open(path, flags)
		if err == nil && content != "" {
			if b, _ := os.ReadFile(path); !strings.Contains(string(b), content) {
				return errors.New("it is another file")
			}
		}
		return err
	}
}

func opensAt(path func(targets) string) func(targets) error {
	return opensAt2(path, os.O_WRONLY|os.O_APPEND)
}

func opensAt2(path func(targets) string, flags int) func(targets) error {
	return func(p targets) error { return open(path(p), flags) }
}

func dials(network string, address func(targets) string) func(targets) error {
	return func(p targets) error {
		conn, err := net.DialTimeout(network, address(p), 2*time.Second)
		if err == nil {
			conn.Close()
		}
		return err
	}
}

// opensGroup succeeds if a file of any control group can be opened for writing. It writes nothing: outside, the group
// is the computer's.
func opensGroup(names ...string) func(targets) error {
	return func(targets) error {
		err := errors.New("there is none")
		_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, _ error) error {
			if err != nil && d != nil && slices.Contains(names, d.Name()) {
				err = open(path, os.O_WRONLY)
			}
			return nil
		})
		return err
	}
}

// tunnels succeeds if the proxy does anything but refuse.
func tunnels(address func(targets) string) func(targets) error {
	return func(p targets) error {
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(os.Getenv("HTTP_PROXY"), "http://"), 2*time.Second)
		if err != nil {
			return err
		}
		defer conn.Close()
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address(p), address(p))
		line, err := bufio.NewReader(conn).ReadString('\n')
		if strings.HasPrefix(line, "HTTP/1.1 403 ") {
			return errors.New(strings.TrimSpace(line))
		}
		return err
	}
}

// trace traces a process and resumes it. A process that is still traced stops at its next signal, which in the hub is
// the runtime's own.
func trace(pid int) error {
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(pid); err != nil {
		return err
	}
	var status unix.WaitStatus
	err := unix.PtraceInterrupt(pid)
	for again := err == nil; again; again = errors.Is(err, unix.EINTR) {
		_, err = unix.Wait4(pid, &status, unix.WALL, nil)
	}
	signal := status.StopSignal()
	if signal == unix.SIGTRAP {
		signal = 0 // of the interrupt
	}
	_, _, _ = unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(signal), 0, 0)
	return nil
}

func eachProcess(try func(dir string) error) error {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if try(dir) == nil {
			return nil
		}
	}
	return errors.Join(err, errors.New("none leads there"))
}

func status(field, want string) error {
	b, err := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(b)) {
		if name, value, _ := strings.Cut(line, ":"); name == field && strings.TrimSpace(value) == want {
			return errors.New("it is " + want)
		}
	}
	return err
}

func runs(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
