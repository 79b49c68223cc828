package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// canaryCommand makes the test's program try every way out of a box, and print the results.
const canaryCommand = "canary"

// targets lists what a canary tries to reach. All of them are outside of its box.
type targets struct {
	Hub                       int // process id of the hub: the test
	Own, Other, Data, Home    string
	Repo                      string // git directory of the main repository
	Secret                    string // content of every file that must not be read
	Abstract, Path, Bus       string // sockets
	TCP, TCP6, Wide, UDP      string // addresses
	Program                   string // of the hub
	Shared                    int    // key of System V shared memory
	SharedFile, TempFile, Pty string
	Memory                    int // descriptor of the hub's memfd
	Key                       string
}

// attempt is a possible way out. try returns nil if it succeeded.
type attempt struct {
	name    string
	outside expectation // where it must succeed: a canary that fails everywhere proves nothing
	try     func(targets) error
}

type expectation int

const (
	always   expectation = iota // succeeds for every user outside of a box
	asRoot                      // succeeds for root outside of a box
	inBox                       // there is no equivalent outside
	possibly                    // depends on the computer
)

var attempts = []attempt{
	// files
	{"read another session's directory", always, reads(func(p targets) string { return p.Other + "/secret" })},
	{"write another session's directory", always, writes(func(p targets) string { return p.Other + "/made" })},
	{"list another session's directory", always, lists(func(p targets) string { return p.Other })},
	{"read the data directory", always, reads(func(p targets) string { return p.Data + "/token" })},
	{"write the data directory", always, opensAt(func(p targets) string { return p.Data + "/token" })},
	{"read the data directory by a relative path", always, reads(func(p targets) string {
		rel, _ := filepath.Rel(p.Own, p.Data)
		return rel + "/token"
	})},
	{"read the data directory by a symbolic link", always, func(p targets) error {
		_ = os.Remove(p.Own + "/link")
		if err := os.Symlink(p.Data+"/token", p.Own+"/link"); err != nil {
			return err
		}
		return read(p.Own+"/link", p)
	}},
	{"read the data directory by a hard link", always, func(p targets) error {
		_ = os.Remove(p.Own + "/hard")
		if err := os.Link(p.Data+"/token", p.Own+"/hard"); err != nil {
			return err
		}
		return read(p.Own+"/hard", p)
	}},
	{"move a file into another session's directory", always, func(p targets) error {
		if err := os.WriteFile(p.Own+"/moved", nil, 0o600); err != nil {
			return err
		}
		return os.Rename(p.Own+"/moved", p.Other+"/moved")
	}},
	{"read a key in the home directory", always, reads(func(p targets) string { return p.Home + "/.ssh/id_ed25519" })},
	{"read credentials in the home directory", always,
		reads(func(p targets) string { return p.Home + "/.aws/credentials" })},
	{"change the user's shell profile", always, writes(func(p targets) string { return p.Home + "/.bashrc" })},
	{"read the password hashes", asRoot, opens("/etc/shadow", os.O_RDONLY, "root:")},
	{"write a system directory", asRoot, writes(func(targets) string { return "/usr/.ahphub-canary" })},
	{"write to /etc", asRoot, writes(func(targets) string { return "/etc/.ahphub-canary" })},
	{"learn the size of another session's file", always, func(p targets) error {
		_, err := os.Stat(p.Other + "/secret")
		return err
	}},
	{"change the mode of another session's file", always, func(p targets) error {
		return os.Chmod(p.Other+"/secret", 0o600)
	}},
	{"overwrite the hub's program", inBox, func(p targets) error {
		if err := open(inside, os.O_WRONLY); err == nil {
			return nil
		}
		return open(p.Program, os.O_WRONLY)
	}},
	{"read a temporary file of another program", always, reads(func(p targets) string { return p.TempFile })},
	{"read shared memory in a file", always, reads(func(p targets) string { return p.SharedFile })},
	{"open a file by handle", asRoot, func(p targets) error {
		h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, p.Own, 0)
		if err != nil {
			return err
		}
		dir, err := os.Open(p.Own)
		if err != nil {
			return err
		}
		defer dir.Close()
		fd, err := unix.OpenByHandleAt(int(dir.Fd()), h, unix.O_RDONLY)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{"use an inherited descriptor", inBox, func(targets) error {
		for fd := range 1000 {
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
			if fd > 2 && err == nil && flags&unix.FD_CLOEXEC == 0 {
				to, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
				fmt.Fprintln(os.Stderr, "left open:", fd, to)
				return nil
			}
		}
		return errors.New("there is none")
	}},

	// the repository of a worktree
	{"change git's configuration of the main repository", always,
		opensAt(func(p targets) string { return p.Repo + "/config" })},
	{"replace git's configuration of the main repository", always, func(p targets) error {
		if err := os.WriteFile(p.Repo+"/other", []byte("[core]\n"), 0o600); err != nil {
			return err
		}
		return os.Rename(p.Repo+"/other", p.Repo+"/config")
	}},
	{"add a hook to the main repository", always,
		writes(func(p targets) string { return p.Repo + "/hooks/pre-commit" })},
	{"replace the hooks of the main repository", always, func(p targets) error {
		return os.Rename(p.Repo+"/hooks", p.Repo+"/hooks-before")
	}},

	// processes
	{"signal the hub", always, func(p targets) error { return unix.Kill(p.Hub, 0) }},
	{"open a pidfd of the hub", always, func(p targets) error {
		fd, err := unix.PidfdOpen(p.Hub, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{"trace the hub", possibly, func(p targets) error { return trace(p.Hub) }},
	{"read the hub's memory", possibly, opensAt2(func(p targets) string { return proc(p.Hub, "mem") }, os.O_RDONLY)},
	{"write the hub's memory", possibly, opensAt2(func(p targets) string { return proc(p.Hub, "mem") }, os.O_WRONLY)},
	{"read the hub's environment", possibly, opensAt2(func(p targets) string { return proc(p.Hub, "environ") },
		os.O_RDONLY)},
	{"read the hub's arguments", always,
		opensAt2(func(p targets) string { return proc(p.Hub, "cmdline") }, os.O_RDONLY)},
	{"list the hub's descriptors", possibly, lists(func(p targets) string { return proc(p.Hub, "fd") })},
	{"read the hub's anonymous memory", possibly,
		reads(func(p targets) string { return proc(p.Hub, fmt.Sprint("fd/", p.Memory)) })},
	{"read files through the hub's root directory", possibly, reads(func(p targets) string {
		return proc(p.Hub, "root"+p.Data+"/token")
	})},
	{"read files through any process's root directory", possibly, func(p targets) error {
		return eachProcess(func(dir string) error { return read(dir+"/root"+p.Data+"/token", p) })
	}},
	{"read files through any process's descriptors", possibly, func(p targets) error {
		return eachProcess(func(dir string) error {
			fds, err := os.ReadDir(dir + "/fd")
			for _, fd := range fds {
				if read(dir+"/fd/"+fd.Name()+p.Data+"/token", p) == nil ||
					read(dir+"/fd/"+fd.Name()+"/token", p) == nil {
					return nil
				}
			}
			return errors.Join(err, errors.New("none leads there"))
		})
	}},
	{"take over the sandbox's first process", inBox, func(targets) error {
		if _, err := os.Readlink("/proc/1/fd/0"); err == nil {
			return nil
		}
		if open("/proc/1/mem", os.O_RDWR) == nil {
			return nil
		}
		return trace(1)
	}},
	{"lower the hub's priority", always,
		func(p targets) error { return unix.Setpriority(unix.PRIO_PROCESS, p.Hub, 1) }},
	{"change the hub's resource limits", possibly, func(p targets) error {
		return unix.Prlimit(p.Hub, unix.RLIMIT_CORE, nil,
			&unix.Rlimit{})
	}},
	{"use another program's System V shared memory", always, func(p targets) error {
		_, err := unix.SysvShmGet(p.Shared, 0, 0)
		return err
	}},
	{"read a key in the hub's keyring", possibly, func(p targets) error {
		_, err := unix.KeyctlSearch(unix.KEY_SPEC_SESSION_KEYRING, "user", p.Key, 0)
		return err
	}},

	// rights
	{"hold a capability", asRoot, func(targets) error { return status("CapEff", "0000000000000000") }},
	{"gain a capability by running a program", asRoot, func(targets) error {
		out, err := exec.Command("cat", "/proc/self/status").Output()
		if err == nil && strings.Contains(string(out), "CapPrm:\t0000000000000000") {
			return errors.New("it has none")
		}
		return err
	}},
	{"gain rights by a setuid program", always, func(targets) error { return status("NoNewPrivs", "1") }},
	{"create a user namespace", always, func(targets) error { return runs("unshare", "--user", "true") }},
	{"start a program in a user namespace", always, func(targets) error {
		cmd := exec.Command("true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		return cmd.Run()
	}},
	{"create a mount namespace", asRoot, func(targets) error { return runs("unshare", "--mount", "true") }},
	{"create a network namespace", asRoot, func(targets) error { return runs("unshare", "--net", "true") }},
	{"enter the namespaces of another process", possibly, func(targets) error {
		return runs("nsenter", "-t", "1", "-m",
			"true")
	}},
	{"mount a file system", asRoot, func(p targets) error {
		err := unix.Mount("none", p.Own, "tmpfs", 0, "")
		if err == nil {
			_ = unix.Unmount(p.Own, unix.MNT_DETACH)
		}
		return err
	}},
	{"unmount a masked file", inBox, func(targets) error { return unix.Unmount("/etc/shadow", unix.MNT_DETACH) }},
	{"make a system directory writable", inBox, func(targets) error {
		return unix.Mount("none", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "")
	}},
	{"change the root directory", asRoot, func(targets) error { return runs("chroot", "/", "true") }},
	{"replace the root directory", inBox, func(p targets) error { return unix.PivotRoot(p.Own, p.Own) }},
	{"create a device node", asRoot, func(p targets) error {
		_ = os.Remove(p.Own + "/disk")
		return unix.Mknod(p.Own+"/disk", unix.S_IFBLK|0o600, int(unix.Mkdev(7, 200)))
	}},
	{"open physical memory", possibly, opens("/dev/mem", os.O_RDONLY, "")},
	{"open /dev/kvm", possibly, opens("/dev/kvm", os.O_RDWR, "")},
	{"open a disk", possibly, func(targets) error {
		disks, _ := filepath.Glob("/dev/[svx][dv]*")
		more, _ := filepath.Glob("/dev/nvme*")
		for _, disk := range append(disks, more...) {
			if open(disk, os.O_RDONLY) == nil {
				return nil
			}
		}
		return errors.New("there is none")
	}},
	{"read the kernel log", asRoot, func(targets) error { _, err := unix.Klogctl(10, nil); return err }},
	{"read the kernel's memory", possibly, opens("/proc/kcore", os.O_RDONLY, "")},
	{"change the kernel's core pattern", asRoot, opens("/proc/sys/kernel/core_pattern", os.O_WRONLY, "")},
	{"change a kernel setting", asRoot, opens("/proc/sys/vm/swappiness", os.O_WRONLY, "")},
	{"trigger SysRq", possibly, opens("/proc/sysrq-trigger", os.O_WRONLY, "")},
	{"change a setting in /sys", possibly, opens("/sys/kernel/mm/transparent_hugepage/enabled", os.O_WRONLY, "")},
	{"create a control group", possibly, func(targets) error {
		for _, dir := range []string{"/sys/fs/cgroup/ahphub-canary", "/sys/fs/cgroup/memory/ahphub-canary"} {
			if os.Mkdir(dir, 0o700) == nil {
				return os.Remove(dir)
			}
		}
		return errors.New("none can be made")
	}},
	{"leave its control group", inBox, opensGroup("cgroup.procs")},
	{"raise its memory limit", inBox, opensGroup("memory.limit_in_bytes", "memory.max")},
	{"raise its process limit", inBox, opensGroup("pids.max")},
	{"rename the computer", asRoot, func(targets) error {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		return unix.Sethostname([]byte(name))
	}},
	{"load a kernel module", possibly, func(p targets) error {
		if err := unix.InitModule([]byte{0}, ""); errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			return err
		}
		return nil // the module was read
	}},

	// sockets and terminals
	{"connect to an abstract socket", always, dials("unix", func(p targets) string { return "@" + p.Abstract })},
	{"connect to another program's socket", always, dials("unix", func(p targets) string { return p.Path })},
	{"connect to the session bus", always, dials("unix", func(p targets) string { return p.Bus })},
	{"connect to the system bus", possibly,
		dials("unix", func(targets) string { return "/run/dbus/system_bus_socket" })},
	{"connect to a container engine", possibly,
		dials("unix", func(targets) string { return "/var/run/docker.sock" })},
	{"connect to a port of the host's loopback", always, dials("tcp", func(p targets) string { return p.TCP })},
	{"connect to a port of the host's loopback over IPv6", possibly,
		dials("tcp", func(p targets) string { return p.TCP6 })},
	{"connect to the hub's port at another address", possibly, dials("tcp", func(p targets) string { return p.Wide })},
	{"exchange datagrams with the host's loopback", always, func(p targets) error {
		conn, err := net.Dial("udp", p.UDP)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("canary")); err != nil {
			return err
		}
		_ = conn.SetReadDeadline(time.Now().Add(2 * time.Second))
		_, err = conn.Read(make([]byte, 16))
		return err
	}},
	{"connect to the host's loopback through the proxy", inBox, tunnels(func(p targets) string { return p.TCP })},
	{"connect to the host's loopback by a listed name", inBox, tunnels(func(p targets) string {
		_, port, _ := net.SplitHostPort(p.TCP)
		return net.JoinHostPort("localhost", port)
	})},
	{"connect to the hub's port through the proxy", inBox, tunnels(func(p targets) string { return p.Wide })},
	{"connect to a metadata service through the proxy", inBox,
		tunnels(func(targets) string { return "169.254.169.254:80" })},
	{"connect to an unlisted host through the proxy", inBox,
		tunnels(func(targets) string { return "example.com:443" })},
	{"capture network packets", asRoot, func(targets) error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{"use the SSH agent", always, func(targets) error {
		if os.Getenv("SSH_AUTH_SOCK") == "" {
			return errors.New("it is not known")
		}
		return nil
	}},
	{"open another session's terminal", possibly, opensAt2(func(p targets) string { return p.Pty },
		os.O_RDWR|unix.O_NOCTTY)},
	{"type into the hub's terminal", possibly, func(targets) error {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer tty.Close()
		c := byte(0)
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, tty.Fd(), unix.TIOCSTI,
			uintptr(unsafe.Pointer(&c))); errno != 0 {
			return errno
		}
		return nil
	}},
}

// runCanary prints the result of each attempt, as JSON: "" is a way out.
func runCanary() {
	var p targets
	if err := json.Unmarshal([]byte(os.Getenv("TARGETS")), &p); err != nil {
		panic(err)
	}
	ends := map[string]string{}
	for _, a := range attempts {
		if err := a.try(p); err != nil {
			ends[a.name] = err.Error()
		} else {
			ends[a.name] = ""
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(ends)
}
