package contain

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/ahphub/ahphub/hub/sandbox/box/enter"
)

// oPath is O_PATH, which package syscall lacks.
const oPath = 0x200000

// mostRequest bounds a request of the hub, which has a path at most.
const mostRequest = 8 << 10

// mostWaits is how many system calls may block before the runtime must detect that, which takes up to 10 ms.
const mostWaits = 32

// server is the first process of a container. It starts the session's programs, so that they inherit the engine's
// confinement: seccomp's filter, no capabilities, its control group and labels.
type server struct {
	control, relay int
	image          string

	mu    sync.Mutex
	ended map[int]chan syscall.WaitStatus // by process id, of running programs
	begun chan struct{}                   // has a value if a process was started since the last wait
}

// init runs the command before most of the program is initialized.
func init() {
	if len(os.Args) > 3 && os.Args[1] == enter.ServeCommand {
		enter.Exit(serve(os.Args[2], os.Args[3], os.Args[4:]), 1)
	}
}

// serve implements ServeCommand.
func serve(socket, image string, ports []string) error {
	// The engine gave this process the program's environment: programs must not read it.
	if err := errors.Join(enter.Hide(), enter.IgnoreEnd(), closeNamespaces()); err != nil {
		return err
	}
	runtime.GOMAXPROCS(mostWaits)
	s := &server{image: image, ended: map[int]chan syscall.WaitStatus{}, begun: make(chan struct{}, 1)}
	var err error
	for _, fd := range []*int{&s.control, &s.relay} {
		if *fd, err = connect(socket); err != nil {
			return errors.New("cannot reach ahphub: " + err.Error())
		}
	}
	go s.reap()
	if err := enter.RelayPorts(s.control, s.relay, ports); err != nil {
		return err
	}
	for {
		text, fds, err := receive(s.control, mostRequest)
		if err != nil || text == "" {
			return nil // the hub is gone; the container ends with its first process
		}
		if err := s.answer(text, fds); err != nil {
			return err
		}
	}
}

// connect connects to the socket at a path.
func connect(path string) (int, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// receive reads one message with its file descriptors, or "" at the end.
func receive(fd, most int) (text string, fds []int, err error) {
	buf, oob := make([]byte, most), make([]byte, syscall.CmsgSpace(4*(enter.MostFDs+3)))
	n, got := 0, 0
	for {
		n, got, _, _, err = syscall.Recvmsg(fd, buf, oob, syscall.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return "", nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:got])
	for _, m := range messages {
		if more, wrong := syscall.ParseUnixRights(&m); wrong == nil {
			fds = append(fds, more...)
		}
	}
	return string(buf[:n]), fds, err
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = syscall.Close(fd)
	}
}

// answer answers a request of the hub.
func (s *server) answer(text string, fds []int) error {
	path, looks := strings.CutPrefix(text, enter.AskLook)
	switch {
	case text == enter.AskRun && len(fds) == 1:
		go s.run(fds[0])
		return nil
	case text == enter.AskPty:
		return enter.AnswerPty(s.control)
	case text == enter.AskNet:
		return s.sendOpen(enter.AskNet, syscall.O_RDONLY, "/proc/self/ns/net", "/proc/self/ns/user")
	case looks:
		return s.sendOpen(enter.AskLook, oPath|syscall.O_NOFOLLOW, path)
	}
	closeAll(fds)
	return nil
}

// sendOpen opens paths and sends them.
func (s *server) sendOpen(word string, flags int, paths ...string) error {
	var fds []int
	defer func() { closeAll(fds) }()
	for _, path := range paths {
		fd, err := syscall.Open(path, flags|syscall.O_CLOEXEC, 0)
		if err != nil {
			return enter.Send(s.control, enter.SayFailure+path+": "+err.Error())
		}
		fds = append(fds, fd)
	}
	return enter.Send(s.control, word, fds...)
}

// run starts the program that the other end of a socket describes, passes signals to it, and reports how it ended.
func (s *server) run(conn int) {
	defer syscall.Close(conn)
	_, fds, err := receive(conn, len(enter.SayStart)+1)
	if err != nil || len(fds) < 4 {
		closeAll(fds)
		return
	}
	o, err := enter.ReadOrder(fds[0]) // also closes it
	var pid int
	var ended chan syscall.WaitStatus
	if err == nil {
		pid, ended, err = s.start(o, fds[1:])
	}
	closeAll(fds[1:])
	if err != nil {
		_ = enter.Send(conn, enter.SayFailure+err.Error())
		return
	}
	left := make(chan struct{})
	go func() { defer close(left); s.pass(conn, pid) }()
	status := <-ended
	if o.Terminal == 0 {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // the wrapper outside cannot do this
	}
	if status.Signaled() {
		err = enter.Send(conn, enter.SaySignal+strconv.Itoa(int(status.Signal())))
	} else {
		err = enter.Send(conn, enter.SayExit+strconv.Itoa(status.ExitStatus()))
	}
	if err == nil {
		<-left // the other end closes after reading it
	}
}

// start starts a program in its own session.
func (s *server) start(o enter.Order, fds []int) (pid int, ended chan syscall.WaitStatus, err error) {
	path, err := s.find(o)
	if err != nil {
		return 0, nil, err
	}
	var dir syscall.Stat_t
	if err := syscall.Stat(o.Dir, &dir); err != nil {
		return 0, nil, errors.New("the directory " + o.Dir + " is not in this session's container: " + err.Error())
	}
	attributes := &syscall.ProcAttr{Dir: o.Dir, Env: o.Env, Sys: &syscall.SysProcAttr{Setsid: true}}
	for _, fd := range fds {
		attributes.Files = append(attributes.Files, uintptr(fd))
	}
	if o.Terminal > 0 && o.Terminal <= len(fds) {
		attributes.Sys.Setctty, attributes.Sys.Ctty = true, o.Terminal-1
	}
	s.mu.Lock() // registers the program before reap sees its end
	defer s.mu.Unlock()
	if pid, err = syscall.ForkExec(path, o.Argv, attributes); err != nil {
		return 0, nil, errors.New("cannot run " + path + " in this session's container: " + s.explain(err))
	}
	ended = make(chan syscall.WaitStatus, 1)
	s.ended[pid] = ended
	select {
	case s.begun <- struct{}{}:
	default:
	}
	return pid, ended, nil
}

// reap waits for processes: those started here, and orphans.
func (s *server) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.ECHILD) {
			<-s.begun
			continue
		}
		if err != nil {
			continue
		}
		s.mu.Lock()
		ended := s.ended[pid]
		delete(s.ended, pid)
		s.mu.Unlock()
		if ended != nil {
			ended <- status
		}
	}
}

// pass sends a program the signals that its wrapper gets, and kills it once the wrapper has ended.
func (s *server) pass(conn, pid int) {
	for {
		text, fds, err := receive(conn, 64)
		closeAll(fds)
		s.mu.Lock()
		running := s.ended[pid] != nil // otherwise the id may be reused
		if err != nil || text == "" {
			if running {
				killSession(pid)
			}
			s.mu.Unlock()
			return
		}
		if number, ok := strings.CutPrefix(text, enter.SaySignal); ok && running {
			if n, wrong := strconv.Atoi(number); wrong == nil && n > 0 && n < 65 {
				_ = syscall.Kill(-pid, syscall.Signal(n))
			}
		}
		s.mu.Unlock()
	}
}

// killSession kills a program, its process group and every process of its terminal session.
func killSession(leader int) {
	_ = syscall.Kill(-leader, syscall.SIGKILL)
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 1 && sessionOf(pid) == leader {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// sessionOf returns the terminal session of a process, or 0 if it has ended.
func sessionOf(pid int) int {
	sid, _, errno := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	if errno != 0 {
		return 0
	}
	return int(sid)
}
